// SPDX-License-Identifier: Apache-2.0
// Why: how camera, model, disk and board are, and where something is wrong: why, and what helps.
import {ask, may, Problem} from "./api.js";
import {byId, make, setText} from "./dom.js";
import {duration, hasText, mebibytes, number, percent, setDeviceTime, text} from "./format.js";

const hot = 80;  // °C: where boards begin to slow down
const well = ["streaming", "paused"];
const places = {"models-card": "models_title", "backup-card": "backup", "settings-card": "settings_all", "lists-card": "bird_lists"};  // cards of the settings, and their titles

let stats = null;
let readiness = null;
let model = null;
let region = null;  // its list and what of it the model knows, if one may see that
let lost = null;
let update = null;  // a newer kinglet that apt knows of
let settings = "";  // why those of this page do not count

const stateText = (state) => hasText(`camera_${state}`) ? text(`camera_${state}`) : state;

// What the daemon says in a sentence is English.
const sentence = (said) => document.documentElement.lang === "en" && said;

const camerasOf = (found) => found?.cameras || (found ? [found.camera] : []);
const nameOfCamera = (found, camera) => found.cameras ? `${text("camera")} ${camera.source}` : text("camera");

// What is wrong: a title, why, what helps, and the id of what does on the page, if it does.
export function troublesOf(found, ready, answering, listed) {
  const troubles = [];
  const add = (title, reason, cure, place) => troubles.push({title, reason, cure, place});
  for (const camera of camerasOf(found)) {
    if (well.includes(camera.state)) continue;
    if (/\bcamera\.[a-z]/.test(camera.detail)) {
      add(`${nameOfCamera(found, camera)}: ${stateText(camera.state)}`, camera.detail, text("cure_setting"), "settings-card");
      continue;
    }
    // A cable to be seated is that of a camera on this board.
    const gone = ["absent", "failed", "stalled"].includes(camera.state);
    const elsewhere = camera.kind === "network" ? "cure_camera_network" : "cure_camera_other";
    const cure = gone && camera.kind !== "attached" ? elsewhere : `cure_camera_${camera.state}`;
    add(`${nameOfCamera(found, camera)}: ${stateText(camera.state)}`, camera.detail, text(cure));
  }
  const checks = ready?.checks || {};
  if (checks.model?.status === "fail") add(text("no_model"), checks.model.detail, text("cure_model"), "models-card");
  // It answers all the same, plausibly and wrongly, or with numbers.
  if (answering && !answering.preprocess_found) add(text("no_recipe"), answering.name, text("cure_recipe"), "models-card");
  if (answering && !answering.labels.named) add(text("no_labels"), answering.name, text("cure_labels"), "models-card");
  if (listed?.missing_count && !listed.found_count) add(text("no_region"), answering?.name, text("cure_region"), "lists-card");
  if (checks.store && checks.store.status !== "pass") add(text("store_trouble"), checks.store.detail, text("cure_store"));
  if (checks.restore) add(text("restore_trouble"), "", text("cure_restore"), "backup-card");
  for (const name of found?.board.throttling?.now || []) {
    add(hasText(`throttling_${name}`) ? text(`throttling_${name}`) : name, "",
        text(name === "under_voltage" ? "cure_power" : "cure_heat"));
  }
  if (found?.board.temperature_celsius >= hot && !found.board.throttling?.now.length) {
    add(text("hot"), `${number(found.board.temperature_celsius)} °C`, text("cure_heat"));
  }
  return troubles;
}

function showTroubles() {
  const troubles = lost ? [{title: text("lost"), reason: lost instanceof Problem ? lost.message : "", cure: text("cure_lost")}]
    : troublesOf(stats, readiness, model, region);
  if (settings && !lost) troubles.push({title: text("settings_trouble"), reason: settings, cure: text("cure_settings")});
  byId("troubles").hidden = troubles.length === 0;
  const words = JSON.stringify(troubles);
  if (byId("trouble-list").dataset.words === words) return;  // a screen reader is not interrupted for nothing
  byId("trouble-list").dataset.words = words;
  byId("trouble-list").replaceChildren(...troubles.map((trouble) => make("li", {},
    make("b", {textContent: trouble.title}),
    trouble.reason ? make("span", {className: "reason", textContent: trouble.reason}) : null,
    make("span", {className: "cure", textContent: trouble.cure}),
    trouble.place ? make("a", {href: `#${trouble.place}`, textContent: `${text("settings")} › ${text(places[trouble.place])}`}) : null)));
}

function showState() {
  const state = byId("state");
  const cameras = camerasOf(stats);
  const bad = cameras.find((camera) => !well.includes(camera.state));
  const camera = bad || cameras[0];
  state.className = `state ${lost || camera ? lost || bad ? "bad" : "good" : ""}`;
  const name = bad && stats.cameras ? `${bad.source}: ` : "";
  setText("state", lost ? text("lost") : camera ? name + stateText(camera.state) : text("connecting"));
  byId("demonstration").hidden = !(cameras.some(({demonstration}) => demonstration) || model?.demonstration);
}

function facts() {
  const rows = [];
  const add = (key, value) => { if (value) rows.push([text(key), value]); };
  const {store, board, memory, frames} = stats;
  const cameraRow = (camera) => [stateText(camera.state), sentence(camera.description) || camera.source,
                 camera.frames_per_second && text("frames_per_second", {rate: number(camera.frames_per_second, 1)}),
                 camera.stalls_total + camera.restarts_total > 0 &&
                   text("restarts", {stalls: number(camera.stalls_total), restarts: number(camera.restarts_total)})]
    .filter(Boolean).join(" · ");
  for (const camera of camerasOf(stats)) rows.push([nameOfCamera(stats, camera), cameraRow(camera)]);
  if (model) add("model", [model.name, text("names", {count: number(model.labels.count)}), model.licence].filter(Boolean).join(" · "));
  if (model) add("scores", [model.output.name, text(`scores_${model.output.meaning}`),
                             sentence(model.output.decided_by)].filter(Boolean).join(" · "));
  add("frames", text("frames_text", {captured: number(frames.captured_total),
                                     busy: number(frames.dropped_total.busy + frames.dropped_total.camera)}));
  const full = store.quota_bytes ? percent(store.used_bytes / store.quota_bytes) : "";
  add("store", [hasText(`store_${store.state}`) ? text(`store_${store.state}`) : store.state,
                text("visits_kept", {count: number(store.visits)}), `${mebibytes(store.used_bytes)}${full && ` (${full})`}`].join(" · "));
  add("written_today", `${mebibytes(store.written_today_bytes)} / ${mebibytes(store.write_budget_bytes)}`);
  add("temperature", board.temperature_celsius !== undefined && `${number(board.temperature_celsius)} °C`);
  add("throttled", board.throttling?.since_boot.map((name) => hasText(`throttling_${name}`) ? text(`throttling_${name}`) : name).join(", "));
  add("memory", memory.resident_bytes && mebibytes(memory.resident_bytes));
  add("board", board.model);
  add("uptime", duration(stats.uptime_seconds));
  add("update", update && text("update_text", {available: update.available, installed: update.installed}));
  return rows;
}

function render() {
  showState();
  showTroubles();
  if (!stats) return;
  const list = byId("health-list");
  facts().forEach(([name, value], index) => {
    const box = list.children[index] || list.appendChild(make("div", {}, make("dt"), make("dd")));
    if (box.firstChild.textContent !== name) box.firstChild.textContent = name;
    if (box.lastChild.textContent !== value) box.lastChild.textContent = value;
  });
  while (list.children.length > facts().length) list.lastChild.remove();
}

export function showStats(event) {
  stats = event.stats;
  setDeviceTime(stats.at);
  render();
}

// Sooner than the next statistics.
export function showCamera(event) {
  const {camera} = event;
  if (stats?.camera.source === camera.source) stats.camera = camera;
  const same = stats?.cameras?.find(({source}) => source === camera.source);
  if (same) Object.assign(same, {detail: ""}, camera);
  render();
}

export function showSettingsTrouble(found) {
  if (settings === found) return;
  settings = found;
  render();
}

export function showUpdate(found) {
  update = found;
  render();
}

export function showModel(found) {
  model = found;
  render();
}

export async function loadRegion() {
  region = may("admin") ? await ask("/api/v1/region/match") : null;
  render();
}

// `error`: why nobody answers; null: somebody does.
export function showLost(error) {
  if (Boolean(lost) === Boolean(error)) return;
  lost = error;
  render();
}

// Not ready is an answer, too.
export async function loadReadiness() {
  const response = await fetch("/readyz", {cache: "no-store"});
  if (response.ok || response.status === 503) readiness = await response.json();
  render();
}
