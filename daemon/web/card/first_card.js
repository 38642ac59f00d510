// SPDX-License-Identifier: Apache-2.0
// Why: leads a new owner through what a feeder needs, a step at a time. It comes by itself while no real model answers, and again
// at the step that is next where it was begun, until the owner has done it or sent it away in this browser; each step can be
// opened again from the settings.
import {may} from "./api.js";
import {byId, make} from "./dom.js";
import {number, text} from "./format.js";
import {steps} from "./steps.js";

const placeKey = "kinglet-first-steps";
const over = "1";
let place = null;  // over, or the name of the step that the owner is at
try { place = localStorage.getItem(placeKey); } catch { /* a browser may keep nothing: it comes again */ }
let shown = -1;    // the step; -1: none
let drawn = "";    // step and language of what stands there
let end = null;    // of the step that is drawn
let alone = false; // one step was asked for, not the way through all
let answers = null; // the model

// What another tab has ended stays so.
function keep(now) {
  place = now;
  try { if (localStorage.getItem(placeKey) !== over) localStorage.setItem(placeKey, place); } catch { /* as above */ }
}

// The step that is next; -1: all was done or sent away, or the card has never come and is not wanted.
function next() {
  if (place === over || !may("admin")) return -1;
  let step = steps.findIndex(({name}) => name === place);
  if (step < 0) return !answers || answers.demonstration ? 0 : -1;
  while (steps[step].isDone?.(answers)) ++step;
  return step;
}

// The keyboard goes back to where the step was asked for, or on to what the page is about. One step alone leaves the way
// through all where it was.
function close() {
  const asked = alone ? byId("steps-again").querySelectorAll("button")[shown] : null;
  if (!alone) keep(over);
  alone = false;
  go(next());
  (asked ?? byId("content")).focus();
}

function buttons() {
  const last = alone || shown === steps.length - 1;
  const onward = (step) => { keep(steps[step].name); go(step); };
  const press = () => last ? close() : onward(shown + 1);
  return make("p", {className: "buttons"},
    make("button", {type: "button", className: "main", textContent: text(last ? "steps_done" : "steps_next"), onclick: press}),
    alone || shown === 0 ? null : make("button", {type: "button", textContent: text("steps_back"), onclick: () => onward(shown - 1)}),
    last ? null : make("button", {type: "button", textContent: text("steps_later"), onclick: close}));
}

function render() {
  const card = byId("first-card");
  const wanted = shown < 0 || !may("admin") ? "" : `${document.documentElement.lang} ${shown} ${alone}`;
  card.hidden = !wanted;
  if (wanted === drawn) return false;
  drawn = wanted;
  end?.();
  end = null;
  if (!wanted) {
    card.replaceChildren();
    return true;
  }
  const step = steps[shown];
  const box = make("div", {className: "step"});
  const count = alone ? "" : text("steps_count", {n: number(shown + 1), all: number(steps.length)});
  card.replaceChildren(
    make("p", {className: "soft", textContent: [text("steps_title"), count].filter(Boolean).join(" · ")}),
    make("h2", {id: "first-card-title", tabIndex: -1, textContent: text(step.title)}), box, buttons());
  end = step.draw(box) || null;
  return true;
}

function go(step) {
  shown = step;
  if (render() && shown >= 0) byId("first-card-title").focus();
}

function openAlone(step) {
  alone = true;
  go(step);
  byId("first-card").scrollIntoView({block: "nearest"});
}

function drawAgain() {
  const links = steps.map((step, index) =>
    make("button", {type: "button", textContent: text(step.title), onclick: () => openAlone(index)}));
  byId("steps-again").replaceChildren(make("span", {className: "soft", textContent: text("steps_title")}), ...links);
}

// `model`: which answers; null: none does. Called again whenever that, the person or the language may be another one.
export function showFirstCard(model) {
  answers = model;
  drawAgain();
  if (shown < 0) shown = next();
  render();
}

export function prepareFirstCard() {
  byId("owner-box").append(make("p", {id: "steps-again", className: "buttons"}));
}
