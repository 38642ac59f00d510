// SPDX-License-Identifier: Apache-2.0
// Why: one visit, large: its picture and clip, and every name it can be given.
import {ask, may} from "./api.js";
import {closeClip, openClip, prepareClip} from "./clip.js";
import {addressOfCrop, byId, make, setText, showProblem} from "./dom.js";
import {deviceNow, duration, moment, number, percent, text} from "./format.js";
import {allLabels, nameOfBird, otherBirds} from "./now.js";
import {remove, review} from "./review.js";

let visit = null;
let seen = [];       // the species of the history
let judge = review;  // what a person's word does
let opener = "";  // the key of the button that had the keyboard
let strange = "";  // the name that nobody knows and that was asked about

export function visitName(one) {
  const name = nameOfBird(one);
  return one.count > 1 ? text("several", {count: number(one.count), name}) : name;
}

export const visitFacts = (one) => [`${one.clock_synced ? "" : "≈ "}${moment(one.started_at)}`, duration(one.duration_seconds),
                                    percent(one.model_result.score)].join(" · ");

// The end of a visit is told before its best picture is written: a little later it is there, the whole frame with it.
export const awaitsPicture = (one) =>
  one.state === "ended" && !one.links.snapshot && deviceNow() - Date.parse(one.ended_at) < 20000;

// Of a species that the model or the program knows or that was seen here.
function idCalled(name) {
  const wished = name.toLowerCase();
  const found = [...allLabels(), ...otherBirds(), ...seen].find((one) => [one.name, one.common_name, one.scientific_name, one.label, one.species_id,
                                                         nameOfBird(one)].some((called) => called?.toLowerCase() === wished));
  return found?.species_id;
}

// The names that a box offers: of the model, of other birds of feeders, and of what was seen before, under another model
// or by a person's word.
async function offerNames() {
  seen = (await ask("/api/v1/species")).items;
  const known = [...allLabels().filter((label) => label.role !== "background"), ...otherBirds()];
  const ids = new Set(known.map((one) => one.species_id));
  byId("other-names").replaceChildren(...[...known, ...seen.filter((one) => !ids.has(one.species_id))].map((one) =>
    make("option", {value: nameOfBird(one), label: one.scientific_name})));
}

// A name that nobody here knows may be a slip of the finger: it is asked about once, then kept as it is.
function birdCalled(name) {
  const known = idCalled(name);
  if (known) return {species_id: known};
  if (name && name !== strange) {
    strange = name;
    throw new Error(text("no_such_name", {name}));
  }
  return {name};
}

// The whole frame, and where in it the visitor was.
function showPlace() {
  const box = visit.box_ratio;
  const shown = Boolean(box && visit.links.snapshot && may("live"));
  byId("visit-place").hidden = !shown;
  if (!shown) return;
  byId("visit-frame").src = visit.links.snapshot;
  const place = {left: box.x, top: box.y, width: box.width, height: box.height};
  for (const [side, share] of Object.entries(place)) byId("visit-box").style[side] = `${share * 100}%`;
}

// A visit; or what is like one and has no name yet, with another judge, title and facts.
export function openVisit(wished, like = {}) {
  visit = wished;
  judge = like.judge || review;
  opener = document.activeElement?.dataset.key || "";
  const picture = byId("visit-picture");
  picture.hidden = !visit.links.crop;
  if (visit.links.crop) picture.src = addressOfCrop(visit);
  const title = like.title || visitName(visit);
  picture.alt = title;
  showPlace();
  setText("visit-dialog-title", title);
  setText("visit-facts", (like.facts || visitFacts(visit)) + (visit.clock_synced ? "" : ` · ${text("clock_not_set")}`));
  const clip = may("live") ? visit.links.clip_file : "";
  byId("visit-clip").hidden = byId("visit-clip-file").hidden = !clip;
  if (clip) byId("visit-clip-file").href = clip;
  byId("visit-species").hidden = judge !== review;
  byId("visit-species").href = `#species/${visit.species_id}`;
  byId("visit-form").hidden = !may("admin");
  byId("visit-remove").hidden = judge !== review;
  byId("other-name").value = strange = "";
  if (may("admin")) offerNames().catch(() => {});
  showProblem("visit-problem", null);
  byId("visit-dialog").showModal();
}

async function act(task) {
  try {
    await task();
    byId("visit-dialog").close();
  } catch (error) { showProblem("visit-problem", error); }
}

// The list may have been drawn anew meanwhile: the keyboard goes back to the same button, not to the same node.
function giveBackFocus() {
  const now = opener && document.querySelector(`[data-key="${CSS.escape(opener)}"]`);
  if (now && !now.contains(document.activeElement)) now.focus();
}

export function prepareVisitDialog() {
  byId("visit-dialog").addEventListener("close", () => {
    closeClip();
    giveBackFocus();
  });
  prepareClip();
  byId("visit-clip").addEventListener("click", () => openClip(visit.links.clip_file));
  byId("visit-species").addEventListener("click", () => byId("visit-dialog").close());
  byId("other-name").addEventListener("input", () => showProblem("visit-problem", null));
  byId("visit-close").addEventListener("click", () => byId("visit-dialog").close());
  byId("visit-form").addEventListener("submit", (event) => {
    event.preventDefault();
    act(async () => judge(visit, "corrected", birdCalled(byId("other-name").value.trim())));
  });
  for (const button of byId("visit-form").querySelectorAll("[data-verdict]")) {
    button.addEventListener("click", () => act(() => judge(visit, button.dataset.verdict)));
  }
  byId("visit-remove").addEventListener("click", () => {
    if (confirm(text("remove_sure"))) act(() => remove(visit));
  });
}
