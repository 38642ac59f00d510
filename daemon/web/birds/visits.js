// SPDX-License-Identifier: Apache-2.0
// Why: the newest visits, as they happen, each named right in a small menu.
import {ask, may, Problem} from "./api.js";
import {byId, cropOf, fillChanged, gathered, make, setText, showProblem} from "./dom.js";
import {text, today} from "./format.js";
import {isFiltered, prepareFilters, setFilters, visitQuery} from "./filters.js";
import {menuOf} from "./menu.js";
import {nameOf} from "./now.js";
import {review} from "./review.js";
import {whyNoVisits} from "./tracks.js";
import {awaitsPicture, openVisit, visitFacts, visitName} from "./visit_dialog.js";

const page = 8;
const mostAtOnce = 500;  // of one answer
let visits = [];
let cursor = "";
let cursorOf = "";       // the query that it goes on with
let length = page;
let wishedLists = 0;     // what was asked for an earlier one is not shown
const picturesSoon = gathered(() => loadVisits().catch(() => {}), 3000);

// What a person can say: that it is right, the names that came next, or anything else.
function wishes(visit) {
  const say = (verdict, bird) => async () => {
    try {
      put(await review(visit, verdict, bird));
    } catch (error) {
      loadVisits().catch(() => {});
      throw error;
    }
  };
  const other = {label: text("other"), key: "other", act: async () => openVisit(visit)};
  if (visit.review.verdict !== "none") return [{label: text("undo"), key: "undo", act: say("none")}, other];
  const others = visit.model_result.top.filter((entry) => entry.species_id !== visit.species_id).slice(0, 2);
  return [{label: text("right"), key: "right", act: say("confirmed")},
          ...others.map((entry) => ({label: nameOf(entry).common, key: entry.species_id, act: say("corrected", {species_id: entry.species_id})})),
          {label: text("not_a_bird"), key: "no-bird", act: say("not_a_bird")}, other];
}

function badge(shown, key) {
  return shown ? make("span", {className: "tag", textContent: text(key)}) : null;
}

function row(visit) {
  const picture = make("button", {type: "button", className: "thumb", "data-key": `${visit.id} picture`,
                                  "aria-label": text("show_visit", {name: visitName(visit)})},
    cropOf(visit, 72, 72));
  picture.addEventListener("click", () => openVisit(visit));
  const reviewed = visit.review.verdict !== "none";
  const open = visit.state === "open";
  return make("li", {"data-id": visit.id}, picture,
    make("div", {},
      make("p", {className: "visit-name"}, make("b", {textContent: visitName(visit)}), " ", badge(open, "here_now"),
           badge(visit.first_ever, "first_ever"), badge(visit.unusual, "unusual")),
      make("p", {className: "soft", textContent: visitFacts(visit)}),
      reviewed ? make("p", {className: "soft", textContent: text(`verdict_${visit.review.verdict}`)}) : null),
    may("admin") && !open ? menuOf(visit.id, visitName(visit), wishes(visit), (error) => showProblem("review-problem", error)) : null);
}

export function render() {
  fillChanged(byId("visit-list"), visits.slice(0, length).map((visit) => ({...visit, shown_name: visitName(visit)})), row, `${may("admin")} ${today()}`);
  byId("visits-empty").hidden = visits.length > 0;
  setText("visits-empty", isFiltered() ? text("no_such_visits") : [text("no_visits_yet"), whyNoVisits()].filter(Boolean).join(" "));
  byId("more-visits").hidden = !cursor && visits.length <= length;
  if (visits.some(awaitsPicture)) picturesSoon();
}

// A visit as it is now, whether known or new. What lies behind the cursor comes with it.
function put(visit) {
  const at = visits.findIndex((known) => known.id === visit.id);
  if (at >= 0) visits[at] = visit;
  else if (!cursor || !(visit.seq < visits.at(-1)?.seq)) visits = [visit, ...visits].sort((one, other) => other.seq - one.seq);
  render();
}

// What happens belongs to the list as long as all is listed.
export function showVisit({visit}) {
  if (!isFiltered()) put(visit);
  else if (visits.some((known) => known.id === visit.id)) loadVisits().catch(() => {});
}

export function forgetVisit({id}) {
  visits = visits.filter((known) => known.id !== id);
  render();
}

// So many, or all that there are, from a cursor on; "": from the first on. With the cursor of what comes then.
async function readOn(from, count, query) {
  const items = [];
  let next = from;
  do {
    const limit = Math.min(mostAtOnce, count - items.length);
    const found = await ask(`/api/v1/visits?${[`limit=${limit}`, query, next && `cursor=${next}`].filter(Boolean).join("&")}`);
    items.push(...found.items);
    next = found.next_cursor || "";
  } while (next && items.length < count);
  return [items, next];
}

// `wished`: the filters, or the id of a visit, as the address of the tab has them; left out, what is listed is read again.
export async function loadVisits(wished) {
  const id = wished?.startsWith("vis_") ? wished : "";
  if (wished !== undefined) {
    setFilters(id ? "" : wished);
    length = page;
    ++wishedLists;
    showProblem("review-problem", null);
  }
  const mine = wishedLists;
  const query = await visitQuery();
  byId("filter-csv").href = `/api/v1/visits.csv${query && `?${query}`}`;
  const [first, next] = await readOn("", length, query);
  if (mine !== wishedLists) return;
  [visits, cursor, cursorOf] = [first, next, query];
  await loadOlder();  // more were wished meanwhile, or there is nothing to read
  if (!id) return;
  history.replaceState(null, "", "#visits");  // once
  try {
    openVisit(await ask(`/api/v1/visits/${encodeURIComponent(id)}`));
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 404) throw error;
    showProblem("review-problem", {message: text("visit_gone")});
  }
}

// From where the list ends, until all that is wished is there. Who finds that it was read on meanwhile looks again.
async function loadOlder() {
  while (cursor && visits.length < length) {
    const from = cursor;
    const [older, next] = await readOn(from, length - visits.length, cursorOf);
    if (cursor === from) [visits, cursor] = [[...visits, ...older], next];
  }
  render();
}

export function prepareVisits(trouble) {
  prepareFilters();
  byId("more-visits").addEventListener("click", async () => {
    length += page;
    try { await loadOlder(); } catch (error) { trouble(error); }
  });
}
