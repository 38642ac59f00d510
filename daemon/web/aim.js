// SPDX-License-Identifier: Apache-2.0
// Why: the mode for aiming and focusing a camera: the whole picture, a grid, and how sharp its middle is.
import {byId, setText} from "./dom.js";
import {percent} from "./format.js";
import {ordinaryWidth, watch} from "./picture.js";

const side = {width: 480, height: 270};  // of the measured middle, in pixels of the picture
const canvas = document.createElement("canvas");
let best = 0;
let busy = false;
let shown = "";

// How much neighbouring pixels differ from their mean, for the brightness there is: grows with sharpness, and does not
// care how light it is. `pixels` are RGBA.
export function sharpnessOf(pixels, width, height) {
  const light = new Float32Array(width * height);
  let sum = 0;
  for (let i = 0; i < light.length; ++i) {
    light[i] = 0.299 * pixels[4 * i] + 0.587 * pixels[4 * i + 1] + 0.114 * pixels[4 * i + 2];
    sum += light[i];
  }
  let squares = 0;
  for (let y = 1; y < height - 1; ++y) {
    for (let x = 1; x < width - 1; ++x) {
      const i = y * width + x;
      const difference = 4 * light[i] - light[i - 1] - light[i + 1] - light[i - width] - light[i + width];
      squares += difference * difference;
    }
  }
  const mean = sum / light.length;
  return mean > 0 ? Math.sqrt(squares / ((width - 2) * (height - 2))) / mean : 0;
}

async function measure(blob) {
  const picture = await createImageBitmap(blob);
  byId("aim-grid").setAttribute("viewBox", `0 0 ${picture.width} ${picture.height}`);
  const width = Math.min(side.width, picture.width);
  const height = Math.min(side.height, picture.height);
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d", {willReadFrequently: true});
  context.drawImage(picture, Math.floor((picture.width - width) / 2), Math.floor((picture.height - height) / 2), width, height,
                    0, 0, width, height);
  picture.close();
  return sharpnessOf(context.getImageData(0, 0, width, height).data, width, height);
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
    dialog.showModal();
    watch(showFrame, 1280);
  });
  byId("aim-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => watch(null, ordinaryWidth()));
  byId("aim-reset").addEventListener("click", () => { best = 0; });
  prepareToggle("aim-grid-button", "grid");
  prepareToggle("aim-zoom-button", "zoomed");
}
