// SPDX-License-Identifier: Apache-2.0
// Why: puts the parts of the page together: what each shows first, and what happens later. A part that fails says so and
// leaves the others alone.
import {prepareAim} from "./aim.js";
import {ask, may, Problem} from "./api.js";
import {prepareCameras, showCameras} from "./cameras.js";
import {onNames} from "./bird_lists.js";
import {learnZone, loadDay, prepareDay} from "./day.js";
import {byId, gathered, make, setText} from "./dom.js";
import {loadHistory, showFigures} from "./figures.js";
import {prepareFirstCard, showFirstCard} from "./first_card.js";
import {chooseLanguage} from "./format.js";
import {forgetRestore} from "./backup.js";
import {prepareApp} from "./install.js";
import {loadReadiness, loadRegion, showCamera, showLost, showModel, showStats, showUpdate} from "./health.js";
import * as live from "./live.js";
import {prepareMenus} from "./menu.js";
import {announce, beginAnew, endWhenPaused, explainSilence, forgetLabels, loadLabels, showNoModel, showPrediction} from "./now.js";
import {showPaused} from "./owner.js";
import {changePicture, preparePicture, startPicture, wishPicture} from "./picture.js";
import {noteUptime, prepareRestart} from "./restart.js";
import {loadSections, prepareSections} from "./sections.js";
import {loadSession, prepareSession, showSession} from "./session.js";
import {loadSettings, noteCameras} from "./settings.js";
import {loadSpecies} from "./species.js";
import {placeSuggestion, prepareSuggestion, showSuggestion} from "./suggestion.js";
import {isOpen, onOpen, prepareTabs, showTab} from "./tabs.js";
import {languages} from "./texts.js";
import {countOutcomes, loadTracks, prepareTracks} from "./tracks.js";
import {prepareVisitDialog} from "./visit_dialog.js";
import {forgetVisit, loadVisits, prepareVisits, render as showVisits, showVisit} from "./visits.js";

// What a tab shows, read when it is opened.
const contents = {
  birds: [loadDay],
  visits: [loadVisits, () => loadTracks()],
  species: [loadSpecies],
  device: [() => loadHistory(), () => loadReadiness()],
  settings: [() => loadSections(attempt)],
};

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
    showFirstCard(model);
  } catch (error) {
    if (error instanceof Problem) showNoModel(error);
    if (error instanceof Problem) showFirstCard(null);
    throw error;
  }
}

async function loadModelAndRegion() {
  await loadModel();
  await loadRegion();
}

const readers = (task) => () => attempt(async () => { if (may("read")) await task(); });
// Only as long as it is seen: opened again, it is read anyway.
const whileOpen = (tab, task) => (event) => { if (isOpen(tab)) return task(event); };
const daySoon = gathered(whileOpen("birds", readers(loadDay)), 1500);
const speciesSoon = gathered(whileOpen("species", readers(loadSpecies)), 2500);
const visitsSoon = gathered(whileOpen("visits", readers(loadVisits)), 300);
const readinessSoon = gathered(() => attempt(loadReadiness), 300);

function hear() {
  live.on("prediction", showPrediction);
  live.on("stats", noteUptime);
  live.on("stats", showCameras);
  live.on("stats", showStats);
  live.on("stats", showFigures);
  live.on("stats", explainSilence);
  live.on("stats", countOutcomes);
  live.on("stats", whileOpen("visits", () => showVisits()));
  live.on("stats", showSuggestion);
  live.on("camera", showCamera);
  for (const show of [showPaused, endWhenPaused]) {
    live.on("camera", show);
    live.on("stats", show);
  }
  live.on("camera", readinessSoon);
  live.on("model", () => { forgetLabels(); attempt(loadModelAndRegion); });
  live.on("visit.start", announce);
  for (const kind of ["visit.start", "visit.picture", "visit.update", "visit.end", "visit.reviewed"]) live.on(kind, whileOpen("visits", showVisit));
  live.on("visit.deleted", whileOpen("visits", ({visit}) => forgetVisit(visit)));
  for (const kind of ["visit.start", "visit.picture", "visit.end", "visit.reviewed", "visit.deleted", "resync"]) {
    live.on(kind, daySoon);
    live.on(kind, speciesSoon);
  }
  live.on("resync", visitsSoon);
  live.on("resync", readers(learnZone));
}

function prepareContents() {
  for (const [name, tasks] of Object.entries(contents)) {
    onOpen(name, (rest) => {
      wishPicture(name === "birds");
      for (const task of tasks) readers(() => task(rest))();
    });
  }
  prepareTabs();
  wishPicture(isOpen("birds"));
}

// All that a person may see, again: another role, another language, or the beginning. What is on a phone's first screen
// comes first.
async function showAll() {
  startPicture();
  live.restart();
  await attempt(async () => { if (may("read")) showEverythingOf(await ask("/api/v1/stats")); });
  await Promise.all([readers(learnZone)(), attempt(loadModelAndRegion)]);
  showTab();
  await attempt(loadReadiness);
  // Whether they count, and where to look, concerns an owner everywhere.
  if (!isOpen("settings")) await attempt(loadSettings);
}

// Names of birds are on every part of the page.
async function showNames() {
  forgetLabels();
  await loadModel();
  if (!isOpen("settings")) showTab();  // its forms have what somebody types, and tell of these names
}

// Everything of before is of another start.
function showAnew() {
  forgetRestore();
  forgetLabels();
  showAll();
  attempt(showVersion);
}

function showEverythingOf(stats) {
  for (const show of [noteUptime, showCameras, showStats, showFigures, countOutcomes, showPaused, endWhenPaused, showSuggestion]) show({stats});
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
  showUpdate(version.update);
}

async function start() {
  prepareLanguages();
  preparePicture();
  prepareAim();
  prepareDay();
  prepareVisits(trouble);
  prepareVisitDialog();
  prepareMenus();
  prepareTracks();
  prepareSections();
  onNames(gathered(readers(showNames), 1000));  // they count from the next frame on
  prepareSuggestion();
  prepareCameras(() => { beginAnew(); changePicture(); placeSuggestion(); noteCameras(); });
  prepareFirstCard();
  prepareContents();
  prepareRestart(showAnew);
  prepareApp();
  hear();
  live.start(trouble);
  await attempt(() => prepareSession(showAll));
  repeat(loadSession, 10000);
  repeat(loadReadiness, 10000);
  repeat(whileOpen("visits", readers(loadTracks)), 15000);
  repeat(whileOpen("device", readers(loadHistory)), 300000);
  repeat(readers(loadModel), 60000);
  await attempt(showVersion);
}

document.title = `kinglet · ${location.hostname}`;
start();
