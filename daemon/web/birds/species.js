// SPDX-License-Identifier: Apache-2.0
// Why: every species seen, when first and when last; each has a page of its own.
import {ask} from "./api.js";
import {byId, fillChanged, make, setText} from "./dom.js";
import {number, shortDate, text} from "./format.js";
import {nameOfBird} from "./now.js";
import {loadOneSpecies} from "./one_species.js";

let shown = "";  // the species whose page it is; "": the list

const dateCell = (at) => make("td", {}, at ? make("time", {dateTime: at, textContent: shortDate(at)}) : "–");

function row(one) {
  const link = make("a", {href: `#species/${one.species_id}`, textContent: nameOfBird(one)});
  const name = make("th", {scope: "row"}, link);
  if (one.scientific_name && one.scientific_name !== nameOfBird(one)) {
    name.append(make("span", {className: "scientific", lang: "la", textContent: one.scientific_name}));
  }
  return make("tr", {}, name, make("td", {className: "number", textContent: number(one.visits)}),
              dateCell(one.first_seen_at), dateCell(one.last_seen_at));
}

async function loadList() {
  const {items} = await ask("/api/v1/species");
  items.sort((one, other) => (other.last_seen_at || "").localeCompare(one.last_seen_at || ""));
  byId("species-table").hidden = items.length === 0;
  byId("species-empty").hidden = items.length > 0;
  setText("species-empty", text("no_visits_yet"));
  fillChanged(byId("species-rows"), items, row);
}

// `id`: of the species whose page is wished; left out, what is shown is read again.
export async function loadSpecies(id = shown) {
  shown = id;
  byId("species-card").hidden = Boolean(id);
  byId("one-species").hidden = !id;
  await (id ? loadOneSpecies(decodeURIComponent(id)) : loadList());
}
