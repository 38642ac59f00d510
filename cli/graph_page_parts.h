// SPDX-License-Identifier: Apache-2.0
// Why: the parts of the graph page that are HTML, CSS and JavaScript. The page may load nothing: see its policy line.
#pragma once

#include <string_view>

namespace kinglet::cli {

inline constexpr char kPageHead[] = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{}</title>
<style>
{}</style>
</head>
<body>
<aside>
<h1>{}</h1>
<input id="search" type="search" placeholder="find a node or operator" aria-label="find a node or operator">
<p id="found"></p>
<dl id="facts">
)";

inline constexpr std::string_view kPageMiddle = R"(</dl>
<p class="key"><span class="fast">XNNPACK</span> <span class="slow">evaluate (slow)</span> <span class="gone">not in the plan</span></p>
<dl id="node"></dl>
</aside>
<main>
)";

inline constexpr std::string_view kPageStyle = R"(
body { margin: 0; display: flex; height: 100vh; font: 13px/1.4 system-ui, sans-serif; color: #1c2a22; }
aside { width: 22rem; padding: 1rem; overflow: auto; box-sizing: border-box; border-right: 1px solid #ccd6cf; }
h1 { font-size: 1.1rem; margin: 0 0 .6rem; overflow-wrap: anywhere; }
input { width: 100%; box-sizing: border-box; font: inherit; padding: .3rem; }
dt { color: #5a6b60; margin-top: .4rem; }
dd { margin: 0; overflow-wrap: anywhere; white-space: pre-wrap; }
main { flex: 1; overflow: hidden; cursor: grab; }
svg { width: 100%; height: 100%; display: block; }
svg text { text-anchor: middle; font: 11px ui-monospace, monospace; fill: #1c2a22; pointer-events: none; }
svg .small { font-size: 9px; fill: #5a6b60; }
rect { stroke: #5a6b60; }
.edges path { fill: none; stroke: #9aa8a0; }
.edges path:hover { stroke: #c2410c; stroke-width: 3; }
.fast rect { fill: #d7efdc; } .slow rect { fill: #fbd9c8; } .gone rect { fill: #eceeed; } .border rect { fill: #dbe7fb; }
.key span { padding: .1rem .4rem; } span.fast { background: #d7efdc; } span.slow { background: #fbd9c8; } span.gone { background: #eceeed; }
g.hit rect { stroke: #c2410c; stroke-width: 3; } g.chosen rect { stroke: #1d4ed8; stroke-width: 3; }
)";

inline constexpr std::string_view kPageScript = R"(
'use strict';
const details = JSON.parse(document.getElementById('details').textContent);
const svg = document.getElementById('drawing');
const boxes = [...svg.querySelectorAll('.nodes g')];
const whole = svg.getAttribute('viewBox').split(' ').map(Number);
let view = [...whole];
function show() { svg.setAttribute('viewBox', view.join(' ')); }
function look_at(box) {
  const r = box.querySelector('rect');
  const x = Number(r.getAttribute('x')) + Number(r.getAttribute('width')) / 2, y = Number(r.getAttribute('y'));
  view = [x - 400, y - 260, 800, 560];
  show();
}
function row(list, name, value) {
  const dt = document.createElement('dt'), dd = document.createElement('dd');
  dt.textContent = name;
  dd.textContent = Array.isArray(value) ? value.join('\n') : value;
  list.append(dt, dd);
}
function choose(box) {
  for (const other of svg.querySelectorAll('.chosen')) other.classList.remove('chosen');
  box.classList.add('chosen');
  const list = document.getElementById('node');
  list.textContent = '';
  for (const [name, value] of Object.entries(details[box.dataset.i])) row(list, name, value);
}
let hits = [], at = -1;
const search = document.getElementById('search'), found = document.getElementById('found');
search.addEventListener('input', () => {
  for (const box of hits) box.classList.remove('hit');
  const word = search.value.toLowerCase();
  hits = word ? boxes.filter(box => box.dataset.s.toLowerCase().includes(word)) : [];
  for (const box of hits) box.classList.add('hit');
  at = -1;
  found.textContent = word ? hits.length + ' found; Enter shows the next' : '';
});
search.addEventListener('keydown', event => {
  if (event.key !== 'Enter' || hits.length === 0) return;
  at = (at + 1) % hits.length;
  look_at(hits[at]);
  choose(hits[at]);
});
svg.addEventListener('click', event => {
  const box = event.target.closest('.nodes g');
  if (box) choose(box);
});
svg.addEventListener('wheel', event => {
  event.preventDefault();
  const area = svg.getBoundingClientRect(), factor = event.deltaY > 0 ? 1.2 : 1 / 1.2;
  const scale = Math.max(view[2] / area.width, view[3] / area.height);
  const x = view[0] + view[2] / 2 + (event.clientX - area.left - area.width / 2) * scale;
  const y = view[1] + view[3] / 2 + (event.clientY - area.top - area.height / 2) * scale;
  view = [x + (view[0] - x) * factor, y + (view[1] - y) * factor, view[2] * factor, view[3] * factor];
  show();
}, { passive: false });
let drag = null;
svg.addEventListener('pointerdown', event => { drag = [event.clientX, event.clientY]; });
window.addEventListener('pointerup', () => { drag = null; });
window.addEventListener('pointermove', event => {
  if (!drag) return;
  const area = svg.getBoundingClientRect(), scale = Math.max(view[2] / area.width, view[3] / area.height);
  view[0] -= (event.clientX - drag[0]) * scale;
  view[1] -= (event.clientY - drag[1]) * scale;
  drag = [event.clientX, event.clientY];
  show();
});
view = [whole[0] + whole[2] / 2 - 500, whole[1], 1000, 700];
show();
)";

}  // namespace kinglet::cli
