// SPDX-License-Identifier: Apache-2.0
// Why: a device that has started again may have other settings and another history: what the page knows of it is then of before.
import {write} from "./api.js";

const late = 5;      // s: answers of two connections pass each other
let last = null;     // its uptime as it was told last, when by this page's clock, and when by its own
let wished = null;   // ms of this page when it was asked to start again
let onRestart = () => {};

// The owner wishes it. A Problem: nobody would start it again.
export async function restart() {
  await write("/api/v1/control/restart", "POST");
  wished = performance.now();
}

// As the statistics come. A page that was hidden hears of it long after; one that stood still hears old news, and a clock may be
// set: only what has passed by both clocks has passed.
export function noteUptime({stats}) {
  const told = {uptime: stats.uptime_seconds, here: performance.now(), there: Date.parse(stats.at)};
  const passed = last && Math.max(0, Math.min(told.here - last.here, told.there - last.there)) / 1000;
  const isNew = (last && told.uptime + late < last.uptime + passed) || (wished !== null && 1000 * told.uptime < told.here - wished);
  last = told;
  if (!isNew) return;
  wished = null;
  onRestart();
}

// Wished, and not back yet.
export function isAwaited() { return wished !== null; }

// `started()` is called when it is back.
export function prepareRestart(started) { onRestart = started; }
