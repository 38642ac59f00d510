// SPDX-License-Identifier: Apache-2.0
// Why: the mode for aiming and focusing a camera: the whole picture, a grid, and how sharp a square in its middle is.
import {byId, setText} from "./dom.js";
import {percent} from "./format.js";
import {ordinaryWidth, watch} from "./picture.js";

const side = 288;  // of the square that is judged, in pixels of the picture
const cell = 16;   // pixels of a side
const leastStill = 0.3;  // of the cells: where more moves, this frame says nothing
const canvas = document.createElement("canvas");
let best = 0;
let before = null;  // how light each cell was a frame ago
let busy = false;
let shown = "";

// How much neighbouring pixels differ from their mean, for the brightness there is: grows with sharpness, and does not care
// how light it is. What moves (a bird, a leaf, rain) would say more than the lens: a cell that is another lightness than in
// `lightBefore` is left out, and so are those beside it. `pixels` are RGBA of a square; `sharpness` is null where hardly anything
// stands still.
export function judgeSquare(pixels, width, lightBefore) {
  const luma = new Float32Array(width * width);
  for (let i = 0; i < luma.length; ++i) luma[i] = 0.299 * pixels[4 * i] + 0.587 * pixels[4 * i + 1] + 0.114 * pixels[4 * i + 2];
  const across = Math.floor(width / cell);
  const cells = Array.from({length: across * across},
    (_, c) => judgeCell(luma, width, (c % across) * cell, Math.floor(c / across) * cell));
  const light = cells.map((one) => one.light);
  if (!lightBefore) return {sharpness: null, light};
  const moves = light.map((now, c) => Math.abs(now - lightBefore[c]) > 3 + 0.06 * lightBefore[c]);
  const still = cells.filter((_, c) => !besides(c, across).some((other) => moves[other]));
  const mean = (name) => still.reduce((sum, one) => sum + one[name], 0) / still.length;
  const isJudged = still.length >= leastStill * cells.length && mean("light") > 0;
  return {sharpness: isJudged ? Math.sqrt(mean("squares")) / mean("light") : null, light};
}

// A cell and those around it.
function besides(c, across) {
  const [column, row] = [c % across, Math.floor(c / across)];
  const near = (at) => [at - 1, at, at + 1].filter((place) => place >= 0 && place < across);
  return near(row).flatMap((y) => near(column).map((x) => y * across + x));
}

// The mean of a cell, and the mean square of how its inner pixels differ from their neighbours.
function judgeCell(luma, width, left, top) {
  let [sum, squares] = [0, 0];
  for (let y = top; y < top + cell; ++y) {
    for (let x = left; x < left + cell; ++x) {
      const i = y * width + x;
      sum += luma[i];
      if (x === left || y === top || x === left + cell - 1 || y === top + cell - 1) continue;
      const difference = 4 * luma[i] - luma[i - 1] - luma[i + 1] - luma[i - width] - luma[i + width];
      squares += difference * difference;
    }
  }
  return {light: sum / cell ** 2, squares: squares / (cell - 2) ** 2};
}

// The square in the middle, drawn where it is.
async function measure(blob) {
  const picture = await createImageBitmap(blob);
  const {width, height} = picture;
  const wide = Math.min(side, width, height);
  const [x, y] = [Math.floor((width - wide) / 2), Math.floor((height - wide) / 2)];
  byId("aim-grid").setAttribute("viewBox", `0 0 ${width} ${height}`);
  byId("aim-square").setAttribute("viewBox", `0 0 ${width} ${height}`);
  const box = {x, y, width: wide, height: wide};
  for (const [name, value] of Object.entries(box)) byId("aim-square").firstElementChild.setAttribute(name, value);
  if (canvas.width !== wide) [canvas.width, canvas.height, before] = [wide, wide, null];
  const context = canvas.getContext("2d", {willReadFrequently: true});
  context.drawImage(picture, x, y, wide, wide, 0, 0, wide, wide);
  picture.close();
  const judged = judgeSquare(context.getImageData(0, 0, wide, wide).data, wide, before);
  before = judged.light;
  return judged.sharpness;
}

async function showFrame(blob) {
  if (busy) return;
  busy = true;
  try {
    const old = shown;
    shown = URL.createObjectURL(blob);
    byId("aim-picture").src = shown;
    if (old) URL.revokeObjectURL(old);
    const sharpness = await measure(blob);
    if (sharpness === null) return;
    best = Math.max(best, sharpness);
    byId("sharpness").value = best > 0 ? sharpness / best : 0;
    setText("sharpness-text", percent(best > 0 ? sharpness / best : 0));
    byId("sharpness-text").title = sharpness.toFixed(4);
  } catch { /* half a frame: the next one comes soon */
  } finally { busy = false; }
}

// A button that stays pressed while the view has the class.
function prepareToggle(id, name) {
  byId(id).addEventListener("click", () => {
    const pressed = byId("aim-view").classList.toggle(name);
    byId(id).setAttribute("aria-pressed", String(pressed));
  });
}

export function prepareAim() {
  const dialog = byId("aim-dialog");
  byId("aim").addEventListener("click", () => {
    best = 0;
    before = null;
    dialog.showModal();
    watch(showFrame, 1280);
  });
  byId("aim-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => watch(null, ordinaryWidth()));
  byId("aim-reset").addEventListener("click", () => { best = 0; });
  prepareToggle("aim-grid-button", "grid");
  prepareToggle("aim-zoom-button", "zoomed");
}
