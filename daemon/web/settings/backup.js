// SPDX-License-Identifier: Apache-2.0
// Why: an owner takes history, pictures, models and settings away in a file, and brings such a file back. What was brought
// counts after a restart, and until then the device tells of it, to whoever looks.
import {ask, may, Problem, send} from "./api.js";
import {byId, setText, showProblem} from "./dom.js";
import {moment, number, text} from "./format.js";
import {loadReadiness} from "./health.js";
import {restart} from "./restart.js";

let chosen = null;
let waiting = null;  // the backup that the next start takes up; null: none
let busy = false;

function show(note) {
  setText("restore-note", note);
  byId("restore-now").hidden = !chosen;
  for (const id of ["restore-restart", "restore-discard"]) byId(id).hidden = busy || Boolean(chosen) || !waiting;
}

function showState() {
  if (chosen) return show(text("restore_replaces", {file: chosen.name}));
  if (!waiting) return show("");
  const leftOut = waiting.settings_left_out;
  show([text("restore_waits", {count: number(waiting.visits), when: waiting.made_at && moment(waiting.made_at)}),
        leftOut.length > 0 && text("restore_left_out", {what: leftOut.join(", ")})].filter(Boolean).join(" "));
}

// `task()` shows what came of it.
async function attempt(note, task) {
  try {
    busy = true;
    showProblem("restore-problem", null);
    show(note);
    await task();
  } catch (error) {
    busy = false;
    showState();
    showProblem("restore-problem", error instanceof Problem ? error : new Error(text("lost")));
  }
  busy = false;
}

function choose() {
  [chosen] = byId("restore-file").files;
  showState();
}

function bring() {
  const body = chosen;
  chosen = null;
  return attempt(text("restore_sending"), async () => {
    const response = await send("/api/v1/restore", {method: "POST", body, headers: {"Content-Type": "application/x-tar"}})
      .catch((error) => { chosen ??= body; throw error; });  // to be tried again
    waiting = await response.json();
    busy = false;
    showState();
    await loadReadiness();
  });
}

const discard = () => attempt("", async () => {
  await send("/api/v1/restore", {method: "DELETE"});
  waiting = null;
  show(text("restore_discarded"));
  await loadReadiness();
});

const restartNow = () => attempt("", async () => {
  await restart();
  show(text("restarting"));
});

export function prepareBackup() {
  byId("restore-file").addEventListener("change", choose);
  byId("restore-now").addEventListener("click", bring);
  byId("restore-restart").addEventListener("click", restartNow);
  byId("restore-discard").addEventListener("click", discard);
}

// One that waits was perhaps brought by somebody else, or days ago.
export async function loadBackup() {
  const found = may("admin") ? await ask("/api/v1/restore") : null;
  if (busy) return;
  waiting = found;
  showState();
}

// What waited counts since the device started again; a file that was chosen meanwhile may still be brought.
export function forgetRestore() {
  waiting = null;
  if (!chosen) show("");
}
