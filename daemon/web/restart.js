// SPDX-License-Identifier: Apache-2.0
// Why: a device that has started again may have other settings and another history: what the page knows of it is then of before.
import {write} from "./api.js";

let uptime = 0;      // s, as it was told last
let wished = null;   // ms of this page when it was asked to start again
let onRestart = () => {};

// The owner wishes it. A Problem: nobody would start it again.
export async function restart() {
  await write("/api/v1/control/restart", "POST");
  wished = performance.now();
}

// As the statistics come.
export function noteUptime({stats}) {
  const now = stats.uptime_seconds;
  const isNew = now < uptime || (wished !== null && 1000 * now < performance.now() - wished);
  uptime = now;
  if (!isNew) return;
  wished = null;
  onRestart();
}

// `started()` is called when it is back.
export function prepareRestart(started) { onRestart = started; }
