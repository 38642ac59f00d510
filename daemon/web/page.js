// SPDX-License-Identifier: Apache-2.0
// Why: fills the page from the API, a few times a second, and says plainly when something does not come.
"use strict";

const byId = (id) => document.getElementById(id);
const setText = (id, text) => { if (byId(id).textContent !== text) byId(id).textContent = text; };

const reasons = {
  accepted: "Seen now",
  below_threshold: "Not sure enough to say. Closest:",
  background: "Now",
  not_allowed: "Not on your list of birds. Closest:",
  blocked: "Blocked by your settings:",
  ambiguous: "Two look alike here. Closest:",
  non_finite: "The model gave no usable numbers.",
};
const cameraStates = {
  starting: "starting", streaming: "streaming", stalled: "stalled: no frames come", restarting: "starting again",
  absent: "no camera", failed: "does not start", paused: "paused",
};

let labels = new Map();   // index -> label of the model
let modelDigest = "";
let modelIsDemonstration = false;
let sourceIsDemonstration = false;

async function fetchJson(path) {
  const response = await fetch(path, {cache: "no-store"});
  if (response.status === 204) return null;
  const body = await response.json();
  if (!response.ok) throw new Error(body.detail || body.title || String(response.status));
  return body;
}

// Runs again `pause` ms after each end, more slowly while the page is hidden: never two of a kind at once.
function repeat(task, pause) {
  const turn = async () => {
    try { if (!document.hidden) await task(); } catch (error) { showTrouble(error); }
    setTimeout(turn, pause);
  };
  turn();
}

function showTrouble(error) {
  const lost = error instanceof TypeError;
  byId("state").className = "state bad";
  setText("state", lost ? "kingletd does not answer" : error.message);
}

function labelOf(entry) {
  const found = labels.get(entry.index);
  const label = found && found.species_id === entry.species_id ? found : null;  // else a sum: a genus, male and female
  return {common: label ? label.common_name : entry.label, scientific: label ? label.scientific_name || "" : ""};
}

function topRow(list, index) {
  if (list.children[index]) return list.children[index];
  const row = document.createElement("li");
  const bar = document.createElement("progress");
  bar.max = 1;
  row.append(document.createElement("span"), document.createElement("b"), bar);
  list.append(row);
  return row;
}

function showPrediction(prediction) {
  const best = prediction.top[0];
  const sure = prediction.outcome === "accepted";
  document.querySelector(".answer").classList.toggle("unsure", !sure);
  setText("reason", reasons[prediction.outcome] || prediction.outcome);
  const nobody = prediction.outcome === "background";
  const hideName = !best || nobody;
  setText("name", nobody ? "Nobody there" : best ? labelOf(best).common : "\u00a0");
  setText("scientific", hideName ? "\u00a0" : labelOf(best).scientific || "\u00a0");
  const list = byId("top");
  prediction.top.slice(0, 3).forEach((entry, index) => {
    const [name, score, bar] = topRow(list, index).children;
    name.textContent = labelOf(entry).common;
    name.title = entry.label;
    score.textContent = `${Math.round(entry.score * 100)} %`;
    bar.value = entry.score;
  });
  while (list.children.length > Math.min(3, prediction.top.length)) list.lastChild.remove();
}

const milliseconds = (value) => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;

function showStats(stats) {
  const now = stats.images_per_second.now;
  setText("rate", now === undefined ? "–" : now.toFixed(1));
  setText("latency", stats.latency_ms.count ? milliseconds(stats.latency_ms.p50) : "–");
  setText("inference", stats.latency_ms.count ? milliseconds(stats.stages_ms.inference.p50) : "–");
  setText("memory", stats.memory.resident_bytes ? `${Math.round(stats.memory.resident_bytes / 1048576)} MiB` : "–");
  const celsius = stats.board.temperature_celsius;
  byId("temperature-box").hidden = celsius === undefined;
  if (celsius !== undefined) setText("temperature", `${celsius.toFixed(0)} °C`);

  const camera = stats.camera;
  const good = camera.state === "streaming" || camera.state === "paused";
  byId("state").className = good ? "state good" : "state bad";
  setText("state", cameraStates[camera.state] || camera.state);
  byId("camera").className = good ? "" : "bad";
  setText("camera", good ? camera.description || camera.source
                         : [cameraStates[camera.state], camera.detail].filter(Boolean).join(": "));
  sourceIsDemonstration = camera.demonstration;
  byId("demonstration").hidden = !(modelIsDemonstration || sourceIsDemonstration);

  const outcomes = stats.images.by_outcome;
  const unsure = outcomes.below_threshold + outcomes.ambiguous + outcomes.not_allowed + outcomes.blocked;
  const count = (value) => value.toLocaleString();
  setText("counts", `${count(outcomes.accepted)} sure, ${count(unsure)} unsure, ${count(outcomes.background)} nobody there`);
}

async function showModel() {
  if (!may("read")) return;
  const model = await fetchJson("/api/v1/model").catch((error) => {
    byId("model").className = "bad";
    setText("model", error.message);
    setText("reason", "No model answers.");
    throw error;
  });
  byId("model").className = "";
  modelIsDemonstration = model.demonstration;
  setText("model", `${model.name}${model.demonstration ? " (demonstration)" : ""}, ${model.labels.count} names`);
  if (model.digest !== modelDigest) {
    const all = await fetchJson(model.labels.href);
    labels = new Map(all.items.map((label) => [label.index, label]));
    modelDigest = model.digest;
    byId("scientific").hidden = !all.items.some((label) => label.scientific_name);
  }
}

const ranks = ["open", "read", "live", "admin"];
let session = {role: "open"};
const may = (role) => ranks.indexOf(session.role) >= ranks.indexOf(role);

function showSession(found) {
  session = found;
  byId("sign-in").hidden = may("live") && !found.claimable;
  byId("claim").hidden = !found.claimable;
  byId("token-box").hidden = found.claimable;
  byId("sign-out").hidden = !found.token;
  setText("sign-in-text", found.claimable ? "Nobody owns this camera yet. The owner watches, corrects and lets others in."
    : may("read") ? "Without signing in you see the birds, not the picture of the camera."
    : "Sign in to see what the camera sees.");
  if (may("live")) return;
  byId("picture").hidden = true;
  byId("no-picture").hidden = false;
  setText("no-picture", "The live picture is for those who are signed in.");
}

async function askSession(method, body) {
  const headers = body ? {"Content-Type": "application/json"} : {};
  const response = await fetch("/api/v1/session", {method, headers, body: body && JSON.stringify(body), cache: "no-store"});
  const found = response.status === 204 ? null : await response.json();
  if (method !== "GET") {
    byId("sign-in-problem").hidden = response.ok;
    setText("sign-in-problem", response.ok ? "" : [found.detail, found.hint].filter(Boolean).join(" · "));
  }
  if (response.ok && found) showSession(found);
  return response.ok;
}

// The address of a token's link: used once, and gone from the address bar.
async function signInByAddress() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return;
  history.replaceState(null, "", location.pathname);
  await askSession("POST", {token});
}

byId("claim").addEventListener("click", () => askSession("POST", {claim: true}));
byId("use-token").addEventListener("click", () => askSession("POST", {token: byId("token").value.trim()}));
byId("sign-out").addEventListener("click", async () => { await askSession("DELETE"); await askSession("GET"); });

let pictureUrl = "";
async function showPicture() {
  if (!may("live")) return;
  const response = await fetch("/snapshot.jpg?width=1280", {cache: "no-store"});
  const picture = byId("picture");
  if (!response.ok) {
    const problem = await response.json();
    if (response.status === 401) await askSession("GET");
    picture.hidden = true;
    byId("no-picture").hidden = false;
    setText("no-picture", [problem.detail, problem.hint].filter(Boolean).join(" · "));
    return;
  }
  const old = pictureUrl;
  pictureUrl = URL.createObjectURL(await response.blob());
  picture.src = pictureUrl;
  picture.hidden = false;
  byId("no-picture").hidden = true;
  if (old) URL.revokeObjectURL(old);
}

async function showVersion() {
  const version = await fetchJson("/api/v1/version");
  setText("version", `kinglet ${version.version}`);
}

async function showNewest() {
  if (!may("read")) return;
  const prediction = await fetchJson("/api/v1/predictions/latest");
  if (prediction) showPrediction(prediction);
}

async function start() {
  try {
    await signInByAddress();
    await askSession("GET");
  } catch (error) { showTrouble(error); }
  repeat(showPicture, 200);
  repeat(showNewest, 300);
  repeat(async () => { if (may("read")) showStats(await fetchJson("/api/v1/stats")); }, 1000);
  repeat(() => askSession("GET"), 10000);
  repeat(showModel, 10000);
  repeat(showVersion, 60000);
}

start();
