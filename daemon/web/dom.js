// SPDX-License-Identifier: Apache-2.0
// Why: the few things every part does with the document. Texts only ever become text nodes, never markup.

export const byId = (id) => document.getElementById(id);

export function setText(id, text) {
  const node = byId(id);
  if (node.textContent !== text) node.textContent = text;
}

let made = 0;
// An id that nothing else has, for what may stand twice on the page.
export const freshId = (stem) => `${stem}-${++made}`;

// An element with properties and children; names with a hyphen are attributes.
export function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined) continue;
    if (name.includes("-")) node.setAttribute(name, value);
    else node[name] = value;
  }
  node.append(...children.filter((child) => child !== undefined && child !== null));
  return node;
}

export function makeSvg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// A browser keeps what it was shown under an address; the first picture of a visit gives way to the best one.
export const addressOfCrop = ({state, links}) => links.crop + (state && !links.snapshot ? "?v=first" : "");

// The picture of a visit beside its name, or its place. One that was refused for now (too many at once) is asked for again.
export function cropOf(visit, width, height) {
  if (!visit?.links.crop) return make("span", {className: "no-crop", "aria-hidden": "true"});
  const src = addressOfCrop(visit);
  const image = make("img", {src, alt: "", loading: "lazy", width, height});
  image.addEventListener("error", () => setTimeout(() => { image.src = src; }, 2000), {once: true});
  return image;
}

// Shows one problem, or none.
export function showProblem(id, error) {
  byId(id).hidden = !error;
  setText(id, error ? error.message : "");
}

// Replaces what a list shows, and keeps the keyboard where it was.
function fill(list, rows) {
  const focused = list.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  list.replaceChildren(...rows);
  if (focused) list.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
}

const drawnFrom = new WeakMap();

// Draws what changed: a row whose item is as before stays the same node, so that no picture flickers. `state`: what else the
// rows depend on.
export function fillChanged(list, items, draw, state = "") {
  const known = new Map([...list.children].map((node) => [drawnFrom.get(node), node]));
  const rows = items.map((item) => {
    const words = `${document.documentElement.lang} ${state} ${JSON.stringify(item)}`;
    const node = known.get(words) || draw(item);
    drawnFrom.set(node, words);
    return node;
  });
  if (rows.length !== list.children.length || rows.some((row, i) => row !== list.children[i])) fill(list, rows);
}

// Calls made within `pause` ms become one, after it.
export function gathered(task, pause) {
  let timer;
  return () => { timer ??= setTimeout(() => { timer = undefined; task(); }, pause); };
}
