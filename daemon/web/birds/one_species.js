// SPDX-License-Identifier: Apache-2.0
// Why: the page of one species: first and last, when it comes, its best pictures, and whom the model takes it for.
import {ask} from "./api.js";
import {bars} from "./chart.js";
import {byId, cropOf, fillChanged, make, setText} from "./dom.js";
import {monthName, moment, number, percent, shortDate, text} from "./format.js";
import {nameOfBird, nameOfSpecies} from "./now.js";
import {openVisit} from "./visit_dialog.js";

const rarely = 0.02;  // of the score of a second name: less is no likeness
let wished = "";      // whose page

function pictureOf(visit) {
  const facts = `${percent(visit.model_result.score)} · ${moment(visit.started_at)}`;
  const button = make("button", {type: "button", "data-key": `${visit.id} best`},
    make("span", {className: "unseen", textContent: nameOfBird(visit)}), cropOf(visit, 160, 160), make("span", {className: "soft", textContent: facts}));
  button.addEventListener("click", () => openVisit(visit));
  return make("li", {}, button);
}

// The names that came second on these visits, the most frequent first.
function seconds(visits, id) {
  const counts = new Map();
  for (const {model_result: {top}} of visits) {
    const second = top.find((entry) => entry.species_id !== id && entry.score >= rarely && entry.species_id !== "background");
    if (second) counts.set(second.species_id, (counts.get(second.species_id) || 0) + 1);
  }
  return [...counts].sort(([, one], [, other]) => other - one).slice(0, 3);
}

function likenesses(one, visits) {
  const said = one.confusions.flatMap((other) => [["taken_for", other], ["was_really", other]]
    .filter(([key]) => other[key] > 0).map(([key]) => [key, other.species_id, nameOfBird(other), other[key]]));
  return [...said, ...seconds(visits, one.species_id).map(([id, count]) => ["came_second", id, nameOfSpecies(id), count])];
}

const likeness = ([key, id, name, count]) => make("li", {}, `${text(key)} `,
  make("a", {href: `#species/${id}`, textContent: name}), ` · ${text("times", {count: number(count)})}`);

function strip(id, counts, names) {
  byId(id).replaceChildren(...bars(counts, names));
  byId(id).setAttribute("aria-label", counts.map((count, i) => count ? `${names[i]} (${number(count)})` : "").filter(Boolean).join(", ") || "–");
}

// One that came second and was never here.
function unseen(error, id) {
  if (error.status !== 404) throw error;
  return {species_id: id, visits: 0, hours: Array(24).fill(0), months: Array(12).fill(0), best_visits: [], confusions: []};
}

export async function loadOneSpecies(id) {
  wished = id;
  const path = encodeURIComponent(id);
  const [one, {items: visits}] = await Promise.all([ask(`/api/v1/species/${path}`).catch((error) => unseen(error, id)),
                                                    ask(`/api/v1/visits?species=${path}&limit=100`)]);
  if (wished !== id) return;  // another one meanwhile
  setText("one-name", nameOfBird(one));
  const other = one.scientific_name === nameOfBird(one) ? "" : one.scientific_name;
  byId("one-scientific").hidden = !other;
  setText("one-scientific", other || "");
  setText("one-facts", [text("visits_kept", {count: number(one.visits)}),
                        one.first_seen_at && `${text("first_seen")} ${shortDate(one.first_seen_at)}`,
                        one.last_seen_at && `${text("last_seen")} ${moment(one.last_seen_at)}`].filter(Boolean).join(" · "));
  byId("one-visits").href = `#visits/${new URLSearchParams({name: id})}`;
  strip("one-hours", one.hours, one.hours.map((_, hour) => `${hour}:00`));
  byId("one-month-names").replaceChildren(...one.months.map((_, month) => make("span", {textContent: monthName(month, "narrow")})));
  strip("one-months", one.months, one.months.map((_, month) => monthName(month)));
  byId("one-pictures-title").hidden = one.best_visits.length === 0;
  fillChanged(byId("one-pictures"), one.best_visits, pictureOf);
  const alike = likenesses(one, visits);
  byId("one-alike-title").hidden = alike.length === 0;
  fillChanged(byId("one-alike"), alike, likeness);
}
