// SPDX-License-Identifier: Apache-2.0
// Why: the settings in force, each with where it comes from, for an owner only. Those that may be set here are; what the
// owner's files say is changed there.
import {ask, may, Problem, send, write} from "./api.js";
import {onlyOf} from "./cameras.js";
import {byId, make, setText, showProblem} from "./dom.js";
import {inOwnLanguage, moment, text, wordsOf} from "./format.js";
import {showSettingsTrouble} from "./health.js";
import {sectionTitles} from "./key_texts.js";
import {restart} from "./restart.js";
import {settingForm, shown} from "./setting_form.js";

let config = null;
let tag = "";
let past = [];
let open = "";        // the key whose form is shown
const heard = new Set();

const isSet = (key) => Boolean(config.settings) && key.source.startsWith(`${config.settings.file}:`);
const canSet = (key) => Boolean(config.settings) && key.settable && (key.source === "default" || isSet(key));

// What may be set here at all: others ask before they offer it. Nothing: nobody knows, or may know.
export const settable = (name) => Boolean(config) && canSet(config.keys[name]);
export const valueOf = (name) => config?.keys[name].value;
export const sourceOf = (name) => config?.keys[name].source;
// `listener()` is called whenever the settings are known anew, until what this gives is called.
export function onSettings(listener) {
  heard.add(listener);
  return () => heard.delete(listener);
}

async function accept(response) {
  tag = response.headers.get("ETag");
  config = await response.json();
  past = config.settings?.steps_back ? (await ask("/api/v1/config/history")).items : [];
}

function told() {
  render();
  for (const listener of heard) listener();
}

// What somebody else changed meanwhile is shown, and nothing is changed.
async function request(path, method, body) {
  try {
    await accept(await write(path, method, body, {"If-Match": tag}));
  } catch (error) {
    if (!(error instanceof Problem) || error.slug !== "stale-etag") throw error;
    await accept(await send("/api/v1/config"));
    told();
    throw new Error(text("settings_changed_meanwhile"));
  }
  told();
}

// A change by names of keys, null for the default.
export const setKeys = (change) => request("/api/v1/config", "PATCH", change);

// Names that are no longer there have to be said: a patch is merged.
const patchOf = (key, value) => key.kind !== "scores" || value === null ? value
  : {...Object.fromEntries(Object.keys(key.value).map((name) => [name, null])), ...value};

function focusKey(name) {
  byId("settings-list").querySelector(`[data-key="${CSS.escape(name)}"] button`)?.focus();
}

function close(name) {
  open = "";
  render();
  focusKey(name);
}

function formOf(name, key) {
  return settingForm({...key, name}, {
    isSet: isSet(key),
    typed: byId(`setting-${name}`),
    keep: async (value) => {
      await setKeys({[name]: patchOf(key, value)});
      close(name);
    },
    leave: () => close(name),
  });
}

function change(name) {
  open = name;
  render();
  byId(`setting-${name}`).focus();
}

function row([name, key]) {
  const facts = [text("setting_from", {source: key.source === "default" ? text("setting_default") : key.source}),
                 text(`reload_${key.reload}`),
                 onlyOf(name) && text("setting_first_camera", {name: onlyOf(name)}),
                 key.waiting !== undefined && text("setting_waiting", {value: shown(name, key.kind, key.waiting)})].filter(Boolean);
  const button = () => make("button", {type: "button", textContent: text("setting_change"), onclick: () => change(name),
                                       "aria-label": `${text("setting_change")}: ${name}`});
  return make("div", {"data-key": name},
    make("dt", {}, make("code", {textContent: name})),
    make("dd", {}, make("code", {textContent: shown(name, key.kind, key.value)})),
    make("dd", {className: "soft", textContent: facts.join(" · ")}),
    canSet(key) ? make("dd", {}, open === name ? formOf(name, key) : button()) : null);
}

// Keys of one section stand together, as in the files.
function sections(shown) {
  const names = [...new Set(shown.map(([key]) => key.split(".")[0]))];
  return names.map((name) => make("section", {},
    make("h3", {textContent: inOwnLanguage(sectionTitles[name], name)}),
    make("dl", {className: "settings-list"}, ...shown.filter(([key]) => key.startsWith(`${name}.`)).map(row))));
}

function renderPast() {
  const [newest] = past;
  byId("settings-undo").hidden = !newest;
  if (!newest) return;
  const words = (key, value) => value === undefined ? text("setting_default") : shown(key, config.keys[key]?.kind, value);
  const changes = newest.changes.map(({key, before, after}) => `${key} ${words(key, before)} → ${words(key, after)}`);
  setText("settings-newest", text("settings_newest", {what: changes.join(", "), who: newest.by, when: moment(newest.at)}));
}

function render() {
  byId("settings-box").hidden = !config;
  setText("settings-note", text(config ? "settings_how" : "settings_owner"));
  showSettingsTrouble(config?.trouble || "");
  if (!config) return byId("settings-list").replaceChildren();
  const held = byId("settings-list").querySelector("form")?.contains(document.activeElement);
  const changed = byId("settings-changed").checked;
  const shown = Object.entries(config.keys).filter(
    ([name, key]) => !changed || key.source !== "default" || key.waiting !== undefined || name === open);
  byId("settings-list").replaceChildren(...sections(shown));
  if (held) byId(`setting-${open}`)?.focus();
  if (shown.length === 0) setText("settings-note", text("settings_all_default"));
  byId("settings-restart").hidden = !Object.values(config.keys).some((key) => key.waiting !== undefined);
  renderPast();
}

async function attempt(task) {
  try {
    await task();
    showProblem("settings-problem", null);
  } catch (error) {
    showProblem("settings-problem", new Error(wordsOf(error)));
  }
}

const undo = () => attempt(() => request("/api/v1/config/undo", "POST"));

const restartNow = () => attempt(async () => {
  await restart();
  setText("settings-note", text("restarting"));
  byId("settings-restart").hidden = true;
});

export async function loadSettings() {
  if (may("admin")) await accept(await send("/api/v1/config"));
  else config = null;
  told();
}

// Services of messages were set anew, which may have been the trouble.
export async function noteMessages() {
  if (config?.trouble) await loadSettings();
}

// Which cameras there are is known anew, perhaps later than the settings. What is being typed stays.
export function noteCameras() {
  if (!open) render();
}

export function prepareSettings() {
  byId("settings-changed").addEventListener("change", render);
  byId("undo-setting").addEventListener("click", undo);
  byId("restart").addEventListener("click", restartNow);
}
