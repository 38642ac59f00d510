// SPDX-License-Identifier: Apache-2.0
// Why: the parts of the page are tabs with an address each (#visits, #species/turdus-merula), filled when they are opened.
import {byId} from "./dom.js";

const openers = new Map();
let open = "";

const all = () => [...byId("tabs").children];
const nameOf = (tab) => tab.id.slice("tab-".length);

export const isOpen = (name) => open === name;
// `show(rest)` fills the tab whenever it is opened; `rest` is what its address says behind the name, or "".
export const onOpen = (name, show) => openers.set(name, show);

// The tab that the address names, by itself or by something in it.
function asked() {
  const [name, ...rest] = location.hash.slice(1).split("/");
  if (byId(`tab-${name}`)) return {name, rest: rest.join("/")};
  const node = name ? byId(name) : null;
  const panel = node?.closest("[role=tabpanel]");
  return {name: panel ? panel.id.slice("panel-".length) : nameOf(all()[0]), rest: "", node: panel && node};
}

// Which tab is to be seen; who may see none is shown the first, which has the way in.
function turn() {
  const {name, rest, node} = document.body.classList.contains("stranger") ? {name: nameOf(all()[0]), rest: ""} : asked();
  open = name;
  for (const tab of all()) {
    const chosen = nameOf(tab) === name;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    byId(`panel-${nameOf(tab)}`).hidden = !chosen;
  }
  return {rest, node};
}

// Shows and fills it.
export function showTab() {
  const before = open;
  const {rest, node} = turn();
  if (open !== before || rest) scrollTo(0, 0);
  openers.get(open)?.(rest);
  node?.scrollIntoView();
}

// As the pattern for tabs has it: arrows go from one to the next, and what has the keyboard is shown.
function step(event) {
  const tabs = all();
  const at = tabs.indexOf(event.target.closest("[role=tab]"));
  const next = {ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1}[event.key];
  if (at < 0 || next === undefined) return;
  event.preventDefault();
  const tab = tabs[(next + tabs.length) % tabs.length];
  tab.focus();
  location.replace(tab.hash);
}

export function prepareTabs() {
  byId("tabs").addEventListener("keydown", step);
  // The address of what is shown stays as it is.
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    byId("content").focus();
  });
  addEventListener("hashchange", showTab);
  turn();
}
