// SPDX-License-Identifier: Apache-2.0
// Why: which visits are listed: by name, day, score, review, camera. The choice stands in the address, so that it can be kept
// and sent on, and means what the API's parameters of the same names do.
import {ask} from "./api.js";
import {byId, make, setText} from "./dom.js";
import {dayBeside, isDay, number, startOfDay, text} from "./format.js";
import {nameOfBird} from "./now.js";

const fields = ["name", "from", "to", "min_score", "review", "source", "order"];
const mostSpecies = 20;  // a request has few parameters
let chosen = new URLSearchParams();
let species = null;  // of the history; null: to be read

const field = (name) => byId(`filter-${name}`);

// As the address of the tab says it.
export function setFilters(rest) {
  chosen = new URLSearchParams(rest);
  species = null;
  for (const name of fields) {
    if (document.activeElement !== field(name)) field(name).value = chosen.get(name) || "";
  }
  if (fields.some((name) => name !== "name" && chosen.get(name))) byId("filter-more").open = true;
}

export const isFiltered = () => fields.some((name) => chosen.get(name));

// Every species whose names have what was typed; where none has, the list is empty.
function speciesCalled(name) {
  const wished = name.trim().toLowerCase();
  const found = species.filter((one) => [nameOfBird(one), one.species_id, one.common_name, one.scientific_name]
    .some((known) => known?.toLowerCase().includes(wished)));
  const exact = found.filter((one) => [one.species_id, one.common_name?.toLowerCase(), nameOfBird(one).toLowerCase()].includes(wished));
  return (exact.length ? exact : found).map((one) => one.species_id);
}

// What the list leaves out is said.
function tellLimit(count) {
  byId("filter-limit").hidden = count <= mostSpecies;
  setText("filter-limit", count > mostSpecies ? text("filter_limit", {count: number(count), most: number(mostSpecies)}) : "");
}

async function loadNames() {
  if (species) return;
  species = (await ask("/api/v1/species")).items;
  byId("filter-names").replaceChildren(...species.map((one) => make("option", {value: nameOfBird(one)})));
}

async function loadSources() {
  if (field("source").options.length) return;
  const {items} = await ask("/api/v1/cameras");
  field("source").replaceChildren(make("option", {value: "", textContent: text("filter_all"), "data-text": "filter_all"}),
    ...items.map(({source}) => make("option", {value: source, textContent: source})));
  field("source").value = chosen.get("source") || "";
  field("source").parentNode.hidden = items.length < 2;
}

// The API's parameters, without a limit.
export async function visitQuery() {
  await Promise.all([loadNames(), loadSources()]);
  const query = new URLSearchParams();
  const name = chosen.get("name");
  const ids = name ? speciesCalled(name) : [];
  tellLimit(ids.length);
  for (const id of name && ids.length === 0 ? [name] : ids.slice(0, mostSpecies)) query.append("species", id);
  if (isDay(chosen.get("from"))) query.set("since", startOfDay(chosen.get("from")));
  if (isDay(chosen.get("to"))) query.set("until", startOfDay(dayBeside(chosen.get("to"), 1)));
  for (const same of ["min_score", "review", "source", "order"]) if (chosen.get(same)) query.set(same, chosen.get(same));
  return query.toString();
}

function choose() {
  const wish = new URLSearchParams();
  for (const name of fields) if (field(name).value) wish.set(name, field(name).value);
  location.replace(`#visits${wish.toString() && `/${wish}`}`);
}

export function prepareFilters() {
  byId("visit-filter").addEventListener("submit", (event) => { event.preventDefault(); choose(); });
  byId("visit-filter").addEventListener("change", choose);
  byId("filter-none").addEventListener("click", () => {
    byId("visit-filter").reset();
    choose();
  });
}
