// SPDX-License-Identifier: Apache-2.0
// Why: plays a clip at the times it was seen, with play, pause and a bar to go back and forth. A browser plays no motion JPEG in
// AVI, but each picture of it is a JPEG that it can draw.
import {byId, setText, showProblem} from "./dom.js";
import {number, text} from "./format.js";
import {Problem, send} from "./api.js";

let frames = [];  // {at: ms, picture: Blob}
let shown = 0;    // index
let turn = 0;     // of playing; another one ends the one before
let playing = false;
let opening = null;  // what ends the newest try to open one

const pause = (ms) => new Promise((done) => { setTimeout(done, Math.max(0, ms)); });

function* chunksOf(view, from, to) {
  for (let at = from; at + 8 <= to;) {
    const name = String.fromCharCode(...new Uint8Array(view.buffer, at, 4));
    const size = view.getUint32(at + 4, true);
    yield {name, begin: at + 8, end: Math.min(to, at + 8 + size)};
    at += 8 + size + size % 2;
  }
}

// The pictures of an AVI file of motion JPEG: a chunk without bytes stands for the picture before it.
export function framesOf(buffer) {
  const view = new DataView(buffer);
  const found = [];
  let interval = 0;
  let count = 0;
  const read = (from, to) => {
    for (const {name, begin, end} of chunksOf(view, from, to)) {
      if (name === "LIST") read(begin + 4, end);
      else if (name === "avih") interval = view.getUint32(begin, true) / 1000;
      else if (name === "00dc") {
        if (end > begin) found.push({at: count * interval, picture: new Blob([buffer.slice(begin, end)], {type: "image/jpeg"})});
        ++count;
      }
    }
  };
  read(12, buffer.byteLength);
  return found;
}

const seconds = (ms) => number(ms / 1000, 1);

// Is there a picture? A camera spoils one now and then: the one before stays. Nothing is drawn of a clip that was closed.
async function draw(index) {
  const clip = frames;
  shown = index;
  const place = text("clip_place", {at: seconds(frames[index].at), end: seconds(frames.at(-1).at)});
  const picture = await createImageBitmap(frames[index].picture).catch(() => null);
  if (clip !== frames) return false;
  if (picture) paint(picture);
  byId("clip-at").value = index;
  byId("clip-at").setAttribute("aria-valuetext", place);
  setText("clip-time", place);
  return picture !== null;
}

// At first there is none before it but those of another clip.
async function drawFirst() {
  for (let index = 0; index < frames.length; ++index) if (await draw(index)) return;
  throw new Error(text("clip_broken"));
}

function paint(picture) {
  const canvas = byId("clip-picture");
  if (canvas.width !== picture.width || canvas.height !== picture.height) {
    canvas.width = picture.width;
    canvas.height = picture.height;
    byId("visit-dialog").style.width = `min(${picture.width + 30}px, calc(100vw - 20px))`;
  }
  canvas.getContext("2d").drawImage(picture, 0, 0);
  picture.close();
}

function stop() {
  ++turn;
  playing = false;
  setText("clip-play", text("play"));
}

// Pictures that are late are left out: what takes a second takes a second.
async function play() {
  const mine = ++turn;
  playing = true;
  setText("clip-play", text("pause"));
  if (shown === frames.length - 1) shown = 0;
  const began = performance.now() - frames[shown].at;
  while (mine === turn) {
    await draw(shown);
    if (mine !== turn) return;
    if (shown === frames.length - 1) return stop();
    await pause(frames[shown + 1].at - (performance.now() - began));
    if (mine !== turn) return;
    const now = performance.now() - began;
    do ++shown; while (shown + 1 < frames.length && frames[shown + 1].at <= now);
  }
}

export function closeClip() {
  opening?.abort();
  opening = null;
  stop();
  frames = [];
  byId("clip").hidden = true;
  byId("visit-clip").disabled = false;
  byId("visit-dialog").style.width = "";
}

// Of a dialog that is closed meanwhile nothing is seen or fetched any more.
export async function openClip(link) {
  const mine = opening = new AbortController();
  byId("visit-clip").disabled = true;
  try {
    const found = framesOf(await (await send(link, {signal: mine.signal})).arrayBuffer());
    if (mine !== opening) return;
    frames = found;
    byId("clip-at").max = frames.length - 1;
    await drawFirst();
    if (mine !== opening) return;
    byId("clip").hidden = false;
    byId("visit-picture").hidden = true;
    byId("visit-place").hidden = true;
    byId("visit-clip").hidden = true;
    byId("clip-play").focus();
    showProblem("visit-problem", null);
    play();
  } catch (error) {
    if (mine !== opening) return;
    showProblem("visit-problem", error instanceof Problem || error.message ? error : new Error(text("lost")));
  } finally {
    if (mine === opening) byId("visit-clip").disabled = false;
  }
}

export function prepareClip() {
  byId("clip-play").addEventListener("click", () => { if (playing) stop(); else play(); });
  byId("clip-at").addEventListener("input", () => {
    stop();
    draw(Number(byId("clip-at").value));
  });
}
