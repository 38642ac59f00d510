// SPDX-License-Identifier: Apache-2.0
// Why: the two drawings of the page: a line over time, and a strip of 24 hours. SVG by hand; a reader of screens gets the
// same in words.
import {makeSvg} from "./dom.js";
import {clock, number} from "./format.js";

const width = 320;
const height = 64;

// `points` are {at, value} in order of time; a pause longer than `gap` ms breaks the line. `label` says what it shows.
export function drawLine(svg, points, gap, label) {
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-label", label);
  if (points.length < 2) return svg.replaceChildren();
  const first = points[0].at;
  const span = Math.max(1, points[points.length - 1].at - first);
  const top = Math.max(...points.map((point) => point.value), Number.MIN_VALUE);
  const x = (point) => ((point.at - first) / span * width).toFixed(1);
  const y = (point) => (height - 2 - point.value / top * (height - 6)).toFixed(1);
  const line = points.map((point, i) => {
    const begins = i === 0 || point.at - points[i - 1].at > gap;
    return begins ? `M${x(point)} ${y(point)}h0` : `L${x(point)} ${y(point)}`;  // one alone is a dot
  }).join("");
  svg.replaceChildren(
    makeSvg("path", {class: "base", d: `M0 ${height - 1}H${width}`}),
    makeSvg("path", {class: "line", d: line}));
}

// One bar for each count, in the drawing of `drawLine`; `names` are told where somebody points.
export function bars(counts, names) {
  const most = Math.max(1, ...counts);
  const step = width / counts.length;
  return counts.map((count, i) => {
    const high = count === 0 ? 1 : Math.max(3, count / most * (height - 2));
    const bar = makeSvg("rect", {x: (i * step + 1).toFixed(1), y: (height - high).toFixed(1), width: (step - 2).toFixed(1),
                                 height: high.toFixed(1), class: count === 0 ? "level-0" : "level-4"}, makeSvg("title"));
    bar.firstChild.textContent = `${names[i]} · ${number(count)}`;
    return bar;
  });
}

// How often in each hour of a day: darker is more often, of `most` at once.
export function hourStrip(hours, most) {
  const cells = hours.map((count, hour) => {
    const level = count === 0 ? 0 : Math.min(4, Math.ceil(count / Math.max(1, most) * 4));
    const cell = makeSvg("rect", {x: hour * 10 + 0.5, y: 0, width: 9, height: 14, rx: 2, class: `level-${level}`});
    if (count > 0) cell.append(makeSvg("title"));
    if (count > 0) cell.firstChild.textContent = `${hour}:00 · ${number(count)}`;
    return cell;
  });
  return makeSvg("svg", {viewBox: "0 0 240 14", "aria-hidden": "true", class: "strip"}, ...cells);
}

// "7:00 (3), 8:00 (1)".
export const hoursInWords = (hours) => hours.map((count, hour) => count > 0 ? `${hour}:00 (${number(count)})` : "")
  .filter(Boolean).join(", ");

export const spanInWords = (points) => points.length < 2 ? "" :
  `${clock(points[0].at)} – ${clock(points[points.length - 1].at)}`;
