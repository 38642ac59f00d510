// SPDX-License-Identifier: Apache-2.0
// Why: the settings in force, each with where it comes from. Only an owner may see them; nothing is changed here.
import {ask, may} from "./api.js";
import {byId, make, setText} from "./dom.js";
import {text} from "./format.js";

let keys = null;

const written = (value) => typeof value === "string" ? value : JSON.stringify(value);

function row([name, key]) {
  const facts = [text("setting_from", {source: key.source === "default" ? text("setting_default") : key.source}),
                 text(`reload_${key.reload}`),
                 key.waiting !== undefined && text("setting_waiting", {value: written(key.waiting)})].filter(Boolean);
  return make("div", {},
    make("dt", {}, make("code", {textContent: name})),
    make("dd", {}, make("code", {textContent: written(key.value)})),
    make("dd", {className: "soft", textContent: facts.join(" · ")}));
}

function render() {
  byId("settings-box").hidden = !keys;
  setText("settings-note", text(keys ? "settings_how" : "settings_owner"));
  if (!keys) return byId("settings-list").replaceChildren();
  const changed = byId("settings-changed").checked;
  const shown = Object.entries(keys).filter(([, key]) => !changed || key.source !== "default" || key.waiting !== undefined);
  byId("settings-list").replaceChildren(...shown.map(row));
  if (shown.length === 0) setText("settings-note", text("settings_all_default"));
}

export async function loadSettings() {
  keys = may("admin") ? (await ask("/api/v1/config")).keys : null;
  render();
}

export const prepareSettings = () => byId("settings-changed").addEventListener("change", render);
