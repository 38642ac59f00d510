// SPDX-License-Identifier: Apache-2.0
// Why: the live picture. The camera's MJPEG is taken apart here, frame by frame, so that it is known when none comes and
// why, and the frames can be measured; where no place is left for a stream, single pictures are asked for.
import {may, Problem, send} from "./api.js";
import {isFirst, ofChosen} from "./cameras.js";
import {byId, setText} from "./dom.js";
import {text} from "./format.js";

const patience = 6000;  // ms without a frame before the reason is asked for
const most = 4 << 20;   // bytes of one frame
const framesPerSecond = 5;

let url = "";
let watcher = null;  // of the newest frame, in front of the page
let wishedWidth = 640;
let wished = true;   // is it where somebody looks?
let running = null;

const pause = (milliseconds, signal) => new Promise((done) => {
  const timer = setTimeout(done, milliseconds);
  signal.addEventListener("abort", () => { clearTimeout(timer); done(); }, {once: true});
});

// The frames of multipart/x-mixed-replace: each part says its length.
export async function* partsOf(stream) {
  const reader = stream.getReader();
  let bytes = new Uint8Array(0);
  try {
    for (;;) {
      const head = endOfHead(bytes);
      const length = head < 0 ? -1 : lengthIn(bytes.subarray(0, head));
      if (head >= 0 && bytes.length >= head + length) {
        yield new Blob([bytes.subarray(head, head + length)], {type: "image/jpeg"});
        bytes = bytes.slice(head + length);
        continue;
      }
      const {done, value} = await reader.read();
      if (done) return;
      const joined = new Uint8Array(bytes.length + value.length);
      joined.set(bytes);
      joined.set(value, bytes.length);
      bytes = joined;
      if (bytes.length > most) throw new Error("a frame without an end");
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

// Where the empty line after a part's head ends, or -1.
function endOfHead(bytes) {
  for (let i = 3; i < bytes.length && i < 4096; ++i) {
    if (bytes[i] === 10 && bytes[i - 1] === 13 && bytes[i - 2] === 10 && bytes[i - 3] === 13) return i + 1;
  }
  return -1;
}

function lengthIn(head) {
  const found = /content-length: *(\d+)/i.exec(new TextDecoder().decode(head));
  if (!found) throw new Error("a part without a length");
  return Number(found[1]);
}

function show(blob) {
  if (watcher) return watcher(blob);
  const old = url;
  url = URL.createObjectURL(blob);
  const picture = byId("picture");
  picture.src = url;
  picture.hidden = false;
  byId("no-picture").hidden = true;
  byId("aim").hidden = !isFirst();
  if (old) URL.revokeObjectURL(old);
}

function showNone(reason) {
  byId("picture").hidden = true;
  byId("aim").hidden = true;
  byId("no-picture").hidden = false;
  setText("no-picture", reason);
}

// Who watches is shown the first camera, whichever the page shows.
const addressOf = (path) => `${path}width=${wishedWidth}${watcher ? "" : ofChosen("&")}`;

async function stream(signal) {
  const gone = new AbortController();
  let timer;
  const stillThere = () => { clearTimeout(timer); timer = setTimeout(() => gone.abort(), patience); };
  stillThere();
  signal.addEventListener("abort", () => gone.abort(), {once: true});
  try {
    const response = await send(addressOf(`/stream.mjpg?fps=${framesPerSecond}&`), {signal: gone.signal});
    for await (const frame of partsOf(response.body)) {
      stillThere();
      show(frame);
    }
  } finally { clearTimeout(timer); }
}

// One picture, or the reason why there is none.
async function still(signal) {
  try {
    show(await (await send(addressOf("/snapshot.jpg?"), {signal})).blob());
  } catch (error) {
    if (signal.aborted) return;
    showNone(error instanceof Problem ? error.message : text("lost"));
  }
}

async function run(signal) {
  while (!signal.aborted) {
    try { await stream(signal); } catch { /* the single picture tells why */ }
    if (signal.aborted) return;
    await still(signal);
    await pause(1000, signal);
  }
}

export function stopPicture() {
  running?.abort();
  running = null;
}

// Begins anew with what this person may see now.
export function startPicture() {
  stopPicture();
  byId("live").hidden = !may("live");
  if (!may("live")) return showNone(text("no_picture_yet"));
  if (document.hidden || (!wished && !watcher)) return;
  running = new AbortController();
  run(running.signal);
}

// Of another camera: what was seen of the one before is not shown under its name.
export function changePicture() {
  showNone(text("no_picture_yet"));
  startPicture();
}

// A stream is one of few: nobody has one that is out of sight.
export function wishPicture(wish) {
  if (wish === wished) return;
  wished = wish;
  startPicture();
}

// `frame(blob)` gets every frame of the first camera, which are `width` wide from now on, on whatever tab; null ends that.
export function watch(frame, width) {
  watcher = frame;
  wishedWidth = width;
  startPicture();
}

export const ordinaryWidth = () => innerWidth * devicePixelRatio > 900 && innerWidth > 600 ? 1280 : 640;

export function preparePicture() {
  wishedWidth = ordinaryWidth();
  document.addEventListener("visibilitychange", () => { if (document.hidden) stopPicture(); else startPicture(); });
}
