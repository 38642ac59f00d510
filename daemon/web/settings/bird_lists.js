// SPDX-License-Identifier: Apache-2.0
// Why: lists of birds that an owner pastes: those of the region, matched to the model's, and names of one's own. Each is
// mounted where it is wanted: among the settings, or as a step of something else.
import {ask, may, send} from "./api.js";
import {byId, freshId, make} from "./dom.js";
import {number, text, wordsOf} from "./format.js";
import {loadRegion} from "./health.js";
import {nameOfSpecies} from "./now.js";
import {loadSettings, sourceOf} from "./settings.js";

const kinds = {
  region: {path: "/api/v1/region", key: "decide.region", title: "region_list", how: "region_how", found: "list_found", none: "list_none"},
  names: {path: "/api/v1/names", key: "model.names", title: "own_names", how: "own_names_how", found: "names_found", none: "names_none"},
};

let heard = () => {};  // of names that were kept

async function keep(kind, list) {
  const answer = await send(kinds[kind].path, {method: "PUT", body: list, headers: {"Content-Type": "text/plain"}});
  return answer.json();
}

// What the model does not know, with what may be meant.
function missingItem({name, near = []}) {
  const meant = near.map((bird) => nameOfSpecies(bird.species_id)).join(", ");
  return make("li", {textContent: meant ? `${name} · ${text("list_near", {names: meant})}` : name});
}

function report(match, {found: key, none}) {
  if (match.source === "none") return [make("p", {className: "soft", textContent: text(none)})];
  const found = text(key, {count: number(match.found_count)});
  const missing = match.missing_count > 0 && text("list_missing", {count: number(match.missing_count)});
  const lines = [make("p", {className: "soft", textContent: [found, missing].filter(Boolean).join(" · ")})];
  if (missing) {
    lines.push(make("details", {}, make("summary", {textContent: text("list_missing_show")}),
                    make("ul", {}, ...match.missing.slice(0, 100).map(missingItem))));
  }
  return lines;
}

// An empty list is told in the page's words, not by the server's one line.
const listOf = async (path) => (await (await send(path)).text()).replace(/^#.*\n$/, "");

// `list` is what is kept; what was `typed` over it, and not saved, stays.
function showKept(box, list, typed) {
  box.value = list;
  box.dataset.kept = box.value;
  if (typed !== undefined) box.value = typed;
}

// What somebody typed or pasted into `box` and has not saved.
const unsaved = (box) => box && "kept" in box.dataset && box.value !== box.dataset.kept ? box.value : undefined;

// Builds the list `kind` ("region" or "names") into `element`; `done()` is called after a list was kept. Only an owner may.
export async function mount(element, kind = "region", done = () => {}) {
  const {path, key, title, how} = kinds[kind];
  const before = element.querySelector("textarea");
  const id = freshId("list");
  const box = make("textarea", {id, rows: 6, spellcheck: false, autocomplete: "off"});
  if (unsaved(before) !== undefined) showKept(box, before.dataset.kept, before.value);
  const save = make("button", {className: "main", textContent: text("save")});
  const problem = make("p", {className: "bad", role: "alert", hidden: true});
  const told = make("div", {role: "status"});
  const tell = (message) => { problem.textContent = message; problem.hidden = !message; };
  const form = make("form", {className: "setting-form"}, make("label", {htmlFor: id, textContent: text(title)}),
    make("p", {className: "soft", textContent: text(how)}), box, told, problem, make("p", {className: "buttons"}, save));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    save.disabled = true;
    try {
      const match = await keep(kind, box.value);
      showKept(box, await listOf(path));
      told.replaceChildren(...report(match, kinds[kind]));
      tell("");
      if (kind === "region") await loadRegion();
      await done(match);
    } catch (error) { tell(wordsOf(error)); }
    save.disabled = false;
  });
  element.replaceChildren(form);
  try {
    showKept(box, await listOf(path), unsaved(box));
    if (kind === "region") told.replaceChildren(...report(await ask(`${path}/match`), kinds[kind]));
  } catch (error) { tell(wordsOf(error)); }
  const source = sourceOf(key);
  if (source && source !== "default") {
    box.readOnly = save.disabled = true;
    told.append(make("p", {className: "soft", textContent: text("setting_from", {source})}));
  }
}

// `listener()` is called after names were kept.
export const onNames = (listener) => { heard = listener; };

export function prepareLists(card) {
  card.append(...Object.keys(kinds).map((kind) => make("div", {id: `settings-${kind}`})));
}

export async function loadLists() {
  if (!may("admin")) return;
  if (!sourceOf(kinds.region.key)) await loadSettings();  // what a file says is not changed here
  await Promise.all([mount(byId("settings-region"), "region"), mount(byId("settings-names"), "names", () => heard())]);
}
