// SPDX-License-Identifier: Apache-2.0
// Why: the newest visits, as they happen, each named right with one tap.
import {ask, may} from "./api.js";
import {byId, cropOf, fillChanged, gathered, make, setText, showProblem} from "./dom.js";
import {text, today} from "./format.js";
import {nameOf} from "./now.js";
import {review} from "./review.js";
import {whyNoVisits} from "./tracks.js";
import {awaitsPicture, openVisit, visitFacts, visitName} from "./visit_dialog.js";

const page = 8;
let visits = [];
let cursor = "";
let length = page;
const picturesSoon = gathered(() => loadVisits().catch(() => {}), 3000);

// What the next tap can say: that it is right, or the names that came next.
function wishes(visit) {
  if (visit.review.verdict !== "none") return [{label: text("undo"), key: "undo", verdict: "none"}];
  const others = visit.model_result.top.filter((entry) => entry.species_id !== visit.species_id).slice(0, 2);
  return [{label: text("right"), key: "right", verdict: "confirmed"},
          ...others.map((entry) => ({label: nameOf(entry).common, key: entry.species_id, verdict: "corrected",
                                     species: entry.species_id}))];
}

function reviewButtons(visit) {
  const buttons = wishes(visit).map((wish) => {
    const button = make("button", {type: "button", textContent: wish.label, "data-key": `${visit.id} ${wish.key}`,
                                   "aria-label": `${visitName(visit)}: ${wish.label}`});
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        put(await review(visit, wish.verdict, wish.species));
        showProblem("review-problem", null);
      } catch (error) {
        showProblem("review-problem", error);
        button.disabled = false;
        loadVisits().catch(() => {});
      }
    });
    return button;
  });
  const other = make("button", {type: "button", textContent: text("other"), "data-key": `${visit.id} other`,
                                "aria-label": `${visitName(visit)}: ${text("other")}`});
  other.addEventListener("click", () => openVisit(visit));
  return make("p", {className: "buttons"}, ...buttons, other);
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
      reviewed ? make("p", {className: "soft", textContent: text(`verdict_${visit.review.verdict}`)}) : null,
      may("admin") && !open ? reviewButtons(visit) : null));
}

export function render() {
  fillChanged(byId("visit-list"), visits.slice(0, length), row, `${may("admin")} ${today()}`);
  byId("visits-empty").hidden = visits.length > 0;
  setText("visits-empty", [text("no_visits_yet"), whyNoVisits()].filter(Boolean).join(" "));
  byId("more-visits").hidden = !cursor && visits.length <= length;
  if (visits.some(awaitsPicture)) picturesSoon();
}

// A visit as it is now, whether known or new.
function put(visit) {
  const at = visits.findIndex((known) => known.id === visit.id);
  if (at >= 0) visits[at] = visit;
  else visits.unshift(visit);
  visits.sort((one, other) => other.seq - one.seq);
  render();
}

export const showVisit = ({visit}) => put(visit);
export function forgetVisit({id}) {
  visits = visits.filter((known) => known.id !== id);
  render();
}

export async function loadVisits() {
  const found = await ask(`/api/v1/visits?limit=${Math.min(500, length)}`);
  visits = found.items;
  cursor = found.next_cursor || "";
  render();
}

export function prepareVisits(trouble) {
  byId("more-visits").addEventListener("click", async () => {
    length += page;
    try { await loadVisits(); } catch (error) { trouble(error); }
  });
}
