// SPDX-License-Identifier: Apache-2.0
// Why: puts the parts of the page together: what each shows first, and what happens later. A part that fails says so and
// leaves the others alone.
import {prepareAim} from "./aim.js";
import {ask, may, Problem} from "./api.js";
import {loadDay, prepareDay} from "./day.js";
import {byId, gathered, make, setText} from "./dom.js";
import {loadHistory, showFigures} from "./figures.js";
import {chooseLanguage} from "./format.js";
import {loadReadiness, showCamera, showLost, showModel, showStats} from "./health.js";
import * as live from "./live.js";
import {announce, endWhenPaused, explainSilence, loadLabels, showNoModel, showPrediction} from "./now.js";
import {prepareOwner, showOwner, showPaused} from "./owner.js";
import {preparePicture, startPicture} from "./picture.js";
import {loadSession, prepareSession, showSession} from "./session.js";
import {loadSettings, prepareSettings} from "./settings.js";
import {loadSpecies} from "./species.js";
import {prepareSuggestion, showSuggestion} from "./suggestion.js";
import {languages} from "./texts.js";
import {countOutcomes, loadTracks, prepareTracks} from "./tracks.js";
import {prepareVisitDialog} from "./visit_dialog.js";
import {forgetVisit, loadVisits, prepareVisits, render as showVisits, showVisit} from "./visits.js";

// Nobody answers, or what was asked was refused: the first is for all to see.
function trouble(error) {
  showLost(error && !(error instanceof Problem) ? error : null);
  if (error instanceof Problem && error.status === 401) loadSession().catch(() => {});
}

async function attempt(task) {
  try { await task(); } catch (error) { trouble(error); }
}

function repeat(task, pause) {
  setInterval(() => { if (!document.hidden) attempt(task); }, pause);
}

async function loadModel() {
  if (!may("read")) return;
  try {
    const model = await ask("/api/v1/model");
    await loadLabels(model);
    showModel(model);
  } catch (error) {
    if (error instanceof Problem) showNoModel(error);
    throw error;
  }
}

const readers = (task) => () => attempt(async () => { if (may("read")) await task(); });
const daySoon = gathered(readers(loadDay), 1500);
const speciesSoon = gathered(readers(loadSpecies), 2500);
const visitsSoon = gathered(readers(loadVisits), 300);
const readinessSoon = gathered(() => attempt(loadReadiness), 300);

function hear() {
  live.on("prediction", showPrediction);
  live.on("stats", showStats);
  live.on("stats", showFigures);
  live.on("stats", explainSilence);
  live.on("stats", countOutcomes);
  live.on("stats", () => showVisits());
  live.on("stats", showSuggestion);
  live.on("camera", showCamera);
  for (const show of [showPaused, endWhenPaused]) {
    live.on("camera", show);
    live.on("stats", show);
  }
  live.on("camera", readinessSoon);
  live.on("model", () => attempt(loadModel));
  live.on("visit.start", announce);
  for (const kind of ["visit.start", "visit.update", "visit.end", "visit.reviewed"]) live.on(kind, showVisit);
  live.on("visit.deleted", ({visit}) => forgetVisit(visit));
  for (const kind of ["visit.start", "visit.end", "visit.reviewed", "visit.deleted", "resync"]) {
    live.on(kind, daySoon);
    live.on(kind, speciesSoon);
  }
  live.on("resync", visitsSoon);
}

// All that a person may see, again: another role, another language, or the beginning. What is on a phone's first screen
// comes first.
async function showAll() {
  startPicture();
  showOwner();
  live.restart();
  await attempt(async () => { if (may("read")) showEverythingOf(await ask("/api/v1/stats")); });
  await attempt(loadModel);
  await attempt(async () => { if (may("read")) await Promise.all([loadDay(), loadVisits()]); });
  await attempt(async () => { if (may("read")) await Promise.all([loadHistory(), loadSpecies(), loadTracks()]); });
  await attempt(loadReadiness);
  await attempt(loadSettings);
}

function showEverythingOf(stats) {
  for (const show of [showStats, showFigures, countOutcomes, showPaused, endWhenPaused, showSuggestion]) show({stats});
}

function prepareLanguages() {
  const chosen = chooseLanguage();
  byId("language").replaceChildren(...languages.map(({code, name}) => make("option", {value: code, textContent: name, lang: code})));
  byId("language").value = chosen;
  byId("language").addEventListener("change", () => {
    chooseLanguage(byId("language").value);
    showSession();
    showAll();
  });
}

async function showVersion() {
  const version = await ask("/api/v1/version");
  setText("version", `kinglet ${version.version}`);
}

async function start() {
  prepareLanguages();
  preparePicture();
  prepareAim();
  prepareDay(trouble);
  prepareVisits(trouble);
  prepareVisitDialog();
  prepareTracks();
  prepareSettings();
  prepareSuggestion();
  prepareOwner();
  hear();
  live.start(trouble);
  await attempt(() => prepareSession(showAll));
  repeat(loadSession, 10000);
  repeat(loadReadiness, 10000);
  repeat(readers(loadTracks), 15000);
  repeat(readers(loadHistory), 300000);
  repeat(readers(loadModel), 60000);
  await attempt(showVersion);
}

document.title = `kinglet · ${location.hostname}`;
start();
