// SPDX-License-Identifier: Apache-2.0
// Why: where there are several cameras, which of them is seen: its picture, its answers and why it gives none. Where there
// is one, nothing of this is.
import {byId, make} from "./dom.js";

let names = [];
let chosen = "";  // empty: the first
let onChoice = () => {};

const several = () => names.length > 1;
// Aiming and settings speak of the first.
export const isFirst = () => !several() || chosen === names[0];
// The name of the first, of which a key of the settings speaks alone; empty: there is no other, or it is of all. A camera's own
// are those of its [[source]] (config/sources.cpp).
const ofPicture = ["gate.region", "look.fixed", "privacy.masks"];
export const onlyOf = (key) => several() && (/^(source|camera)\./.test(key) || ofPicture.includes(key)) ? names[0] : "";
// Behind an address; `mark`: "?" or "&".
export const ofChosen = (mark) => isFirst() ? "" : `${mark}source=${encodeURIComponent(chosen)}`;
// The same where the newest of all would come without it.
export const ofOneCamera = (mark) => several() ? `${mark}source=${encodeURIComponent(chosen)}` : "";
// What is drawn bears no camera's name.
export const isChosen = (source) => !several() || source === chosen || source === "demo";
// The figures of the one that is seen.
export const figuresOf = (stats) => stats.cameras?.find(({source}) => source === chosen) || {...stats, ...stats.camera};

function choose(name) {
  chosen = name;
  byId("camera-pick").value = name;
  onChoice();
}

// As the statistics come.
export function showCameras({stats}) {
  const found = (stats.cameras || [stats.camera]).map(({source}) => source);
  if (found.join() === names.join()) return;
  names = found;
  byId("camera-choice").hidden = !several();
  byId("camera-pick").replaceChildren(...names.map((name) => make("option", {value: name, textContent: name})));
  if (!several()) {
    chosen = names[0];
  } else {
    choose(names.includes(chosen) ? chosen : names[0]);
  }
}

export function prepareCameras(choice) {
  onChoice = choice;
  byId("camera-pick").addEventListener("change", () => choose(byId("camera-pick").value));
}
