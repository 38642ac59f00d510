// SPDX-License-Identifier: Apache-2.0
// Why: images a second and how long an answer takes: now, and over the last day.
import {ask} from "./api.js";
import {drawLine, spanInWords} from "./chart.js";
import {byId, setText} from "./dom.js";
import {deviceNow, milliseconds, number, text} from "./format.js";

const day = 86400000;
const spanOfHistory = 300000;  // ms of a row of the history
const mostRecent = 180;        // what came since the page was opened, where there is no history yet

let history = [];
const recent = [];

const shortest = (value) => number(value, value < 10 ? 1 : 0);

function drawOne(name, points, gap, write) {
  const values = points.map((point) => point.value);
  const [low, high] = [write(Math.min(...values)), write(Math.max(...values))];
  const range = values.length > 1 && low !== high ? text("range", {low, high}) : "";
  const title = text(name);
  setText(`${name}-range`, [title, range].filter(Boolean).join(": "));
  drawLine(byId(`${name}-chart`), points, gap, [title, range, spanInWords(points)].filter(Boolean).join(", "));
}

function draw() {
  const known = history.length > 1;
  const rows = known ? [...history, ...recent.slice(-1)] : recent;
  const gap = known ? 3 * spanOfHistory : 30000;
  const line = (name) => rows.filter((row) => row[name] !== undefined).map((row) => ({at: row.at, value: row[name]}));
  drawOne("rate", line("rate"), gap, shortest);
  drawOne("latency", line("latency"), gap, milliseconds);
  setText("history-span", rows.length > 1 ? spanInWords(rows) : text("history_later"));
}

export function showFigures({stats}) {
  const rate = stats.images_per_second.now;
  const answered = stats.latency_ms.count > 0;
  setText("rate", rate === undefined ? "–" : number(rate, 1));
  setText("latency", answered ? milliseconds(stats.latency_ms.p50) : "–");
  byId("latency").title = answered ? `p99 ${milliseconds(stats.latency_ms.p99)}` : "";
  setText("inference", answered ? milliseconds(stats.stages_ms.inference.p50) : "–");
  const outcomes = stats.images.by_outcome;
  const unsure = outcomes.below_threshold + outcomes.ambiguous + outcomes.not_allowed + outcomes.blocked;
  setText("counts", text("counts", {sure: number(outcomes.accepted), unsure: number(unsure),
                                    nobody: number(outcomes.background)}));
  recent.push({at: Date.parse(stats.at), rate, latency: answered ? stats.latency_ms.p50 : undefined});
  if (recent.length > mostRecent) recent.shift();
  draw();
}

export async function loadHistory() {
  const since = new Date(deviceNow() - day).toISOString();
  const found = await ask(`/api/v1/stats/history?since=${since}&limit=300`);
  history = found.items.reverse().map((row) => ({at: Date.parse(row.at), rate: row.images_per_second, latency: row.latency_ms?.p50}));
  draw();
}
