// SPDX-License-Identifier: Apache-2.0
// Why: every species seen, when first and when last.
import {ask} from "./api.js";
import {byId, fillChanged, make, setText} from "./dom.js";
import {number, shortDate, text} from "./format.js";

const dateCell = (at) => make("td", {}, at ? make("time", {dateTime: at, textContent: shortDate(at)}) : "–");

function row(one) {
  const name = make("th", {scope: "row"}, make("span", {textContent: one.common_name || one.species_id}));
  if (one.scientific_name && one.scientific_name !== one.common_name) {
    name.append(make("span", {className: "scientific", lang: "la", textContent: one.scientific_name}));
  }
  return make("tr", {}, name, make("td", {className: "number", textContent: number(one.visits)}),
              dateCell(one.first_seen_at), dateCell(one.last_seen_at));
}

export async function loadSpecies() {
  const {items} = await ask("/api/v1/species");
  items.sort((one, other) => (other.last_seen_at || "").localeCompare(one.last_seen_at || ""));
  byId("species-table").hidden = items.length === 0;
  byId("species-empty").hidden = items.length > 0;
  setText("species-empty", text("no_visits_yet"));
  fillChanged(byId("species-rows"), items, row);
}
