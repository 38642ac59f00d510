// SPDX-License-Identifier: Apache-2.0
// Why: one day: who was here, with the best picture of each, and who came when.
import {ask} from "./api.js";
import {hoursInWords, hourStrip} from "./chart.js";
import {byId, cropOf, fillChanged, gathered, make, setText} from "./dom.js";
import {clock, dayBeside, dayName, isDay, number, setZone, startOfDay, text, today} from "./format.js";
import {nameOfBird} from "./now.js";
import {awaitsPicture, openVisit} from "./visit_dialog.js";

const picturesSoon = gathered(() => loadDay().catch(() => {}), 3000);
let chosen = null;  // a date; null: today, whatever day it is by then

const total = (species) => species.hours.reduce((sum, count) => sum + count, 0);

const better = (one, other) => Boolean(one.links.crop) !== Boolean(other.links.crop) ? Boolean(one.links.crop)
  : one.model_result.score > other.model_result.score;

// Of each species the visit with the best picture, and the newest one. A busy day has more visits than one answer: who is
// missing there is asked for.
async function visitsOf(species, date) {
  const within = `since=${startOfDay(date)}&until=${startOfDay(dayBeside(date, 1))}`;
  const found = new Map();
  const look = (visits) => {
    for (const visit of visits) {
      const {best, newest} = found.get(visit.species_id) || {best: visit, newest: visit};
      found.set(visit.species_id, {best: better(visit, best) ? visit : best, newest: visit.seq > newest.seq ? visit : newest});
    }
  };
  const {items, has_more: busy} = await ask(`/api/v1/visits?${within}&limit=100`);
  look(items);
  const missing = busy ? species.filter((one) => !found.get(one.species_id)?.best.links.crop) : [];
  for (const one of missing.slice(0, 12)) {
    look((await ask(`/api/v1/visits?${within}&limit=10&species=${encodeURIComponent(one.species_id)}`)).items);
  }
  return found;
}

function visitorCard(one, {best, newest} = {}) {
  const count = total(one);
  const words = [text("times", {count: number(count)}), newest && clock(newest.started_at), best?.first_ever && text("first_ever")];
  const name = make("span", {className: "visitor-name", textContent: nameOfBird(one)});
  const facts = make("span", {className: "soft", textContent: words.filter(Boolean).join(" · ")});
  const button = make("button", {type: "button", disabled: !best, "data-key": one.species_id}, cropOf(best, 160, 160), name, facts);
  if (best) button.addEventListener("click", () => openVisit(best));
  return make("li", {}, button);
}

function hourRow(one, most) {
  return make("li", {},
    make("span", {className: "hour-name"}, nameOfBird(one)),
    make("b", {textContent: number(total(one))}),
    hourStrip(one.hours, most),
    make("span", {className: "unseen", textContent: hoursInWords(one.hours)}));
}

function hourAxis() {
  return make("li", {className: "axis", "aria-hidden": "true"}, ...["0", "6", "12", "18", "24"].map((hour) => make("span", {textContent: hour})));
}

// Days and times are those of the device; nothing but its zone is asked for.
export async function learnZone() { setZone((await ask("/api/v1/days?from=9999-12-31")).zone); }

// `wished`: the day that the address names, "" for today; left out, what is shown is read again.
export async function loadDay(wished) {
  if (wished !== undefined) chosen = isDay(wished) && wished < today() ? wished : null;
  const date = chosen || today();
  const {species} = await ask(`/api/v1/days/${date}`);
  species.sort((one, other) => total(other) - total(one));
  const visits = species.length ? await visitsOf(species, date) : new Map();
  if (date !== (chosen || today())) return;  // another day was wished meanwhile
  byId("day-pick").value = date;
  byId("day-pick").max = today();
  setText("day-title", chosen ? dayName(date) : text("today"));
  byId("day-after").disabled = !chosen;
  byId("day-empty").hidden = species.length > 0;
  setText("day-empty", text(chosen ? "nobody_that_day" : "nobody_today"));
  fillChanged(byId("visitors"), species.map((one) => [one, visits.get(one.species_id)]), ([one, seen]) => visitorCard(one, seen));
  if ([...visits.values()].some(({best}) => awaitsPicture(best))) picturesSoon();
  const most = Math.max(0, ...species.flatMap((one) => one.hours));
  byId("hours-title").hidden = species.length === 0;
  fillChanged(byId("hours"), species.length ? [...species, null] : [], (one) => one ? hourRow(one, most) : hourAxis(), most);
}

export function prepareDay() {
  const go = (date) => location.replace(date && date < today() ? `#birds/${date}` : "#birds");
  byId("day-before").addEventListener("click", () => go(dayBeside(chosen || today(), -1)));
  byId("day-after").addEventListener("click", () => go(dayBeside(chosen || today(), 1)));
  byId("day-pick").addEventListener("change", () => go(byId("day-pick").value));
}
