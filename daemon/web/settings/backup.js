// SPDX-License-Identifier: Apache-2.0
// Why: an owner takes history, pictures, models and settings away in a file, and brings such a file back. What was brought
// counts after a restart.
import {Problem, send} from "./api.js";
import {byId, setText, showProblem} from "./dom.js";
import {moment, number, text} from "./format.js";
import {restart} from "./restart.js";

let chosen = null;

function show(note) {
  setText("restore-note", note);
  byId("restore-now").hidden = !chosen;
}

async function attempt(task) {
  try {
    showProblem("restore-problem", null);
    await task();
  } catch (error) {
    show("");
    showProblem("restore-problem", error instanceof Problem ? error : new Error(text("lost")));
  }
}

function choose() {
  [chosen] = byId("restore-file").files;
  byId("restore-restart").hidden = true;
  show(chosen ? text("restore_replaces", {file: chosen.name}) : "");
}

const bring = () => attempt(async () => {
  const body = chosen;
  chosen = null;
  show(text("restore_sending"));
  const response = await send("/api/v1/restore", {method: "POST", body, headers: {"Content-Type": "application/x-tar"}})
    .catch((error) => { chosen ??= body; throw error; });  // to be tried again
  const found = await response.json();
  const leftOut = found.settings_left_out;
  show([text("restore_waits", {count: number(found.visits), when: moment(found.made_at)}),
        leftOut.length > 0 && text("restore_left_out", {what: leftOut.join(", ")})].filter(Boolean).join(" "));
  byId("restore-restart").hidden = false;
});

const restartNow = () => attempt(async () => {
  await restart();
  show(text("restarting"));
  byId("restore-restart").hidden = true;
});

export function prepareBackup() {
  byId("restore-file").addEventListener("change", choose);
  byId("restore-now").addEventListener("click", bring);
  byId("restore-restart").addEventListener("click", restartNow);
}

// What waited counts since the device started again; a file that was chosen meanwhile may still be brought.
export function forgetRestore() {
  byId("restore-restart").hidden = true;
  if (!chosen) show("");
}
