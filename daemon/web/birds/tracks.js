// SPDX-License-Identifier: Apache-2.0
// Why: what was seen and not named, with its reason: silence can be seen, and the owner can name it.
import {ask, may, write} from "./api.js";
import {byId, cropOf, fillChanged, make, setText, showProblem} from "./dom.js";
import {duration, hasText, moment, number, percent, text, today} from "./format.js";
import {menuOf} from "./menu.js";
import {nameOf, nameOfSpecies} from "./now.js";
import {openVisit} from "./visit_dialog.js";

const page = 6;
let tracks = [];
let length = page;
let counts = null;  // of images, by their outcome

const isSomebody = (track) => track.outcome !== "background";
const maybe = (track) => track.likeliest ? text("seen_maybe", {name: nameOfSpecies(track.likeliest.species_id)}) : text("nobody");

// A class of the detector; one without a text is shown as its labels have it.
function animal(label) {
  const key = `animal_${label.trim().toLowerCase()}`;
  return hasText(key) ? text(key) : label;
}

function facts(track) {
  const {likeliest, outcome} = track;
  const isUnsure = likeliest && outcome === "below_threshold" && likeliest.score < likeliest.wanted_score;
  const sure = isUnsure ? text("seen_score", {score: percent(likeliest.score), wanted: percent(likeliest.wanted_score)})
    : likeliest && percent(likeliest.score);
  const second = track.detector && text(`sees_${track.detector.sees}`, {label: animal(track.detector.label ?? "")});
  return [text(`seen_${outcome}`), second, sure, `${track.clock_synced ? "" : "≈ "}${moment(track.started_at)}`, duration(track.duration_seconds)]
    .filter(Boolean).join(" · ");
}

// Its word on it makes a visit of the track, or ends it; the visit is told as any that is reviewed.
async function judge(track, verdict, bird) {
  await write(track.links.self, "PATCH", {review: {verdict, ...bird}});
  tracks = tracks.filter((one) => one.id !== track.id);
  render();
}

function wishes(track) {
  const birds = track.top.filter((entry) => entry.species_id !== "background").slice(0, 2);
  return [...birds.map((entry) => ({label: nameOf(entry).common, key: entry.species_id, act: () => judge(track, "corrected", {species_id: entry.species_id})})),
          {label: text("not_a_bird"), key: "no-bird", act: () => judge(track, "not_a_bird")},
          {label: text("other"), key: "other", act: async () => open(track)}];
}

const open = (track) => openVisit(track, {judge, title: maybe(track), facts: facts(track)});

function row(track) {
  const picture = make("button", {type: "button", className: "thumb", "data-key": `${track.id} picture`, "aria-label": maybe(track)},
    cropOf(track, 72, 72));
  picture.addEventListener("click", () => open(track));
  return make("li", {}, picture, make("div", {},
    make("p", {className: "visit-name"}, make("b", {textContent: maybe(track)})),
    make("p", {className: "soft", textContent: facts(track)})),
    may("admin") ? menuOf(track.id, maybe(track), wishes(track), (error) => showProblem("seen-problem", error)) : null);
}

function render() {
  const seen = tracks.filter(isSomebody);
  byId("seen").hidden = tracks.length === 0;
  fillChanged(byId("seen-list"), seen.slice(0, length), row, `${may("admin")} ${today()}`);
  byId("more-seen").hidden = seen.length <= length;
  setText("seen-nobody", seen.length < tracks.length ? text("seen_nobody", {count: number(tracks.length - seen.length)}) : "");
}

export async function loadTracks() {
  tracks = (await ask("/api/v1/tracks?named=false&limit=100")).items;
  render();
}

export function countOutcomes({stats}) { counts = stats.images; }

// Why nobody has been named yet.
export function whyNoVisits() {
  if (!counts?.total) return "";
  const {accepted, background} = counts.by_outcome;
  const words = [text("visits_why", {images: number(counts.total), nobody: number(background),
                                     unsure: number(counts.total - accepted - background)})];
  const unsure = tracks.filter(({outcome, likeliest}) => outcome === "below_threshold" && likeliest?.score < likeliest?.wanted_score);
  const best = unsure.sort((one, other) => other.likeliest.score - one.likeliest.score)[0];
  if (best) {
    const {species_id: species, score, wanted_score: wanted} = best.likeliest;
    words.push(text("visits_would", {name: nameOfSpecies(species), score: number(Math.floor(score * 100) / 100, 2), wanted: number(wanted, 2)}));
  }
  return words.join(" ");
}

export const prepareTracks = () => byId("more-seen").addEventListener("click", () => {
  length += page;
  render();
});
