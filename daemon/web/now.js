// SPDX-License-Identifier: Apache-2.0
// Why: what it is now, or why there is no answer.
import {ask, may} from "./api.js";
import {figuresOf, isChosen} from "./cameras.js";
import {byId, make, setText} from "./dom.js";
import {hasText, percent, text} from "./format.js";

const oldAfter = 5000;  // ms without an answer before it is said why
let labels = new Map();  // index -> label of the model
let others = [];         // birds that the model does not have, which a person may see
let birds = new Map();   // species_id -> its first label, or one of the others
let namesOf = "";        // the model and the language that they are of; empty: they are to be read again
let newest = null;
let answeredAt = 0;
let waiting = false;
let skippedBefore = null;
let paused = false;

export const allLabels = () => [...labels.values()];
export const otherBirds = () => others;

// A label of another model, or a sum (a genus, male and female), is shown as it was sent.
export function nameOf(entry) {
  const label = labels.get(entry.index);
  const own = label && label.species_id === entry.species_id;
  return {common: own ? label.name : entry.label, scientific: own ? label.scientific_name || "" : ""};
}

// Where only the id is known: that of a bird that the model does not know is its scientific name.
export function nameOfSpecies(id) {
  return birds.get(id)?.name || id.charAt(0).toUpperCase() + id.slice(1).replaceAll("-", " ");
}

// As the page's language has it: of what the API tells with its names.
export function nameOfBird(bird) {
  return birds.get(bird.species_id)?.name || bird.common_name || bird.scientific_name || nameOfSpecies(bird.species_id);
}

// Names change without the model: by their owner's word.
export const forgetLabels = () => { namesOf = ""; };

export async function loadLabels(model) {
  const language = document.documentElement.lang;
  if (namesOf === `${model.digest} ${language}`) return;
  const all = await ask(`${model.labels.href}?language=${language}`);
  namesOf = `${model.digest} ${language}`;
  labels = new Map(all.items.map((label) => [label.index, label]));
  others = all.others;
  birds = new Map([...others, ...[...all.items].reverse()].map((bird) => [bird.species_id, bird]));
  byId("scientific").hidden = !all.items.some((label) => label.scientific_name);
}

function topRow(list, index) {
  if (list.children[index]) return list.children[index];
  const row = make("li", {}, make("span"), make("b"), make("progress", {max: 1, "aria-hidden": "true"}));
  list.append(row);
  return row;
}

function render() {
  waiting = false;
  const prediction = newest;
  newest = null;
  if (!prediction) return;
  const best = prediction.top[0];
  const nobody = prediction.outcome === "background";
  byId("now").classList.toggle("unsure", prediction.outcome !== "accepted");
  const key = `outcome_${prediction.outcome}`;
  setText("reason", hasText(key) ? text(key) : prediction.outcome);
  setText("name", nobody ? text("nobody") : best ? nameOf(best).common : "\u00a0");
  setText("scientific", (!nobody && best && nameOf(best).scientific) || "\u00a0");
  const list = byId("top");
  const shown = prediction.top.slice(0, 3);
  shown.forEach((entry, index) => {
    const [name, score, bar] = topRow(list, index).children;
    name.textContent = nameOf(entry).common;
    name.title = entry.label;
    score.textContent = percent(entry.score);
    bar.value = entry.score;
  });
  while (list.children.length > shown.length) list.lastChild.remove();
}

// Many come in a second; the screen shows the newest one. The last ones of before a pause may come after it.
export function showPrediction({prediction}) {
  if (paused || !isChosen(prediction.source)) return;
  newest = prediction;
  answeredAt = Date.now();
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(render);
}

// Why nothing is answered: what became of the frames since the last look.
export function explainSilence({stats}) {
  const {frames, state} = figuresOf(stats);
  const skipped = frames.skipped_total;
  const before = skippedBefore;
  skippedBefore = skipped;
  if (!before || Date.now() - answeredAt < oldAfter || !may("read")) return;
  const [reason, count] = Object.entries(skipped).map(([name, total]) => [name, total - (before[name] || 0)])
    .reduce((most, one) => one[1] > most[1] ? one : most);
  const key = count > 0 ? `skipped_${reason}` : state === "streaming" ? "waiting" : `camera_${state}`;
  showSilence(hasText(key) ? text(key) : reason);
}

// Another camera is seen: what was said of the one before says nothing of it.
export function beginAnew() {
  newest = null;
  skippedBefore = null;
  answeredAt = 0;
  if (!paused) showSilence(text("waiting"));
}

function showSilence(why) {
  byId("now").classList.add("unsure");
  setText("reason", text("no_answer_now"));
  setText("name", why);
  setText("scientific", "\u00a0");
  byId("top").replaceChildren();
}

// What was seen before is not seen now: said at once, not after a while without an answer.
export function endWhenPaused({camera, stats}) {
  if (camera && !isChosen(camera.source)) return;
  paused = (camera || figuresOf(stats)).state === "paused";
  if (!paused) return;
  newest = null;
  showSilence(text("skipped_paused"));
}

export function showNoModel(error) {
  setText("reason", text("no_model"));
  setText("name", error.message);
  byId("top").replaceChildren();
}

// The only thing a screen reader says by itself, once a visit.
export function announce({visit}) {
  if (visit) setText("announcement", text("announcement", {name: nameOfBird(visit)}));
}
