// SPDX-License-Identifier: Apache-2.0
// Why: one setting as a small form: what edits a value of its kind, what it means, and the difference before it is kept.
import {byId, make} from "./dom.js";
import {inOwnLanguage, text, wordsOf} from "./format.js";
import {choices, meanings, units} from "./key_texts.js";
import {languages} from "./texts.js";

const written = (value) => typeof value === "string" ? value : JSON.stringify(value);

const languageOf = (word) => languages.find(({code}) => code === word)?.name;

// A value of the key `name`, for people: of a word what it means, with the word as files have it.
export function shown(name, kind, value) {
  if (kind === "flag") return text(value ? "setting_on" : "setting_off");
  const words = kind === "choice" && (name === "node.language" ? languageOf(value) : inOwnLanguage(choices[`${name} ${value}`]));
  return words && words !== value ? `${words} (${value})` : written(value);
}

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
const textBox = (id, value) => make("input", {id, type: "text", value, autocomplete: "off", spellcheck: false});
function readNumber({value}) {
  if (!value) throw new Error("no number");  // empty, or what a browser does not take for one
  return Number(value);
}

const inJson = (id, value) => ({node: textBox(id, JSON.stringify(value)), read: (node) => JSON.parse(node.value)});

function numberBox(id, value, {kind, range}) {
  const {least, most} = range || {};
  return {node: make("input", {id, type: "number", min: least, max: most, step: kind === "count" ? 1 : "any", value}),
          read: readNumber};
}

// By kind: a control that shows a value, and how the value is read from it; that may throw.
const editors = {
  flag: (id, value) => ({node: make("input", {id, type: "checkbox", checked: value}), read: (node) => node.checked}),
  choice: (id, value, key) => ({
    node: make("select", {id}, ...key.choices.map(
      (word) => make("option", {value: word, textContent: shown(key.name, key.kind, word), selected: word === value}))),
    read: (node) => node.value}),
  count: numberBox,
  number: numberBox,
  threads: (id, value) => ({node: textBox(id, written(value)),
                            read: (node) => /^\d+$/.test(node.value) ? Number(node.value) : node.value}),
  text_list: (id, value) => ({node: make("textarea", {id, rows: 4, value: value.join("\n"), spellcheck: false}),
                              read: (node) => node.value.split("\n").map((line) => line.trim()).filter(Boolean)}),
  scores: inJson,
  part: inJson,
  parts: inJson,
};
const inText = (id, value) => ({node: textBox(id, value), read: (node) => node.value});

// As such values are typed: the largest unit that leaves no rest.
function typed(count, units) {
  const [size, unit] = units.find(([least]) => count >= least && count % least === 0) ?? units.at(-1);
  return `${count / size}${unit}`;
}
const durations = [[31536e6, "y"], [864e5, "d"], [36e5, "h"], [6e4, "m"], [1e3, "s"], [1, "ms"]];
const sizes = [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];
const bounds = {duration: (seconds) => typed(Math.round(seconds * 1000), durations), byte_count: (bytes) => typed(bytes, sizes)};

function facts(key) {
  const bound = bounds[key.kind] ?? ((value) => value);
  const range = key.range && text("setting_range", {least: bound(key.range.least), most: bound(key.range.most)});
  return [range, inOwnLanguage(units[key.unit], key.unit), key.kind === "text_list" && text("setting_lines"),
          text("setting_default_is", {value: shown(key.name, key.kind, key.default)}), text(`reload_${key.reload}`)].filter(Boolean).join(" · ");
}

// A form for `key`, which has its `name`. `keep(value)` is asked to keep a value, null for the default; its error stays in the
// form. `leave()`: nothing is to be changed. `typed`: the control of the form in whose place this one comes, if any.
export function settingForm(key, {isSet, keep, leave, typed}) {
  const {name, kind} = key;
  const now = key.waiting ?? key.value;
  const id = `setting-${name}`;
  const {node, read} = (editors[key.kind] || inText)(id, now, key);
  const difference = make("output", {className: "difference", htmlFor: id});
  const problem = make("p", {id: `${id}-problem`, className: "bad", role: "alert", hidden: true});
  const save = make("button", {className: "main", textContent: text("save"), disabled: true});
  const tell = (words, place = problem) => { place.textContent = words; place.hidden = !words; };
  const compare = () => {
    let value;
    try { value = read(node); } catch { value = undefined; }
    save.disabled = value === undefined || same(value, now);
    difference.textContent = save.disabled ? "" : `${shown(name, kind, now)} → ${shown(name, kind, value)}`;
    tell(value === undefined && (node.value || node.validity.badInput) ? text("setting_unreadable") : "");
  };
  const attempt = async (value) => {
    // Another form may have come in place of this one meanwhile.
    try { await keep(value); } catch (error) { tell(wordsOf(error), byId(problem.id) ?? problem); }
  };
  node.addEventListener("input", () => { node.dataset.typed = "yes"; compare(); });
  if (typed?.dataset.typed) {
    node.value = typed.value;
    node.checked = typed.checked;
    node.dispatchEvent(new Event("input"));
  }
  const form = make("form", {className: "setting-form", noValidate: true},
    make("label", {htmlFor: id, textContent: inOwnLanguage(meanings[name], key.help)}), node,
    make("p", {className: "soft", textContent: facts(key)}), difference, problem,
    make("p", {className: "buttons"}, save,
      isSet ? make("button", {type: "button", textContent: text("setting_take_back"), onclick: () => attempt(null)}) : null,
      make("button", {type: "button", textContent: text("cancel"), onclick: leave})));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!save.disabled) attempt(read(node));
  });
  return form;
}
