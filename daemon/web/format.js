// SPDX-License-Identifier: Apache-2.0
// Why: the language of the page, and how it writes numbers, times and days. Days are those of the device's time zone.
import {languages, texts} from "./texts.js";

const remembered = "kinglet-language";
let column = 0;
let locale = "en";
let zone;      // of the device
let skew = 0;  // the device's clock minus ours, in ms

function remember(language) {
  try { localStorage.setItem(remembered, language); } catch { /* a browser may keep nothing */ }
}

function recall() {
  try { return localStorage.getItem(remembered); } catch { return null; }
}

// The person's choice, else the first language of the browser that the table has.
export function chooseLanguage(wish) {
  if (wish) remember(wish);
  for (const tag of [wish || recall(), ...navigator.languages].filter(Boolean)) {
    const index = languages.findIndex((language) => language.code === tag.toLowerCase().split("-")[0]);
    if (index < 0) continue;
    column = index;
    const own = navigator.languages.find((other) => other.toLowerCase().startsWith(languages[index].code));
    locale = own || languages[index].code;
    break;
  }
  document.documentElement.lang = languages[column].code;
  for (const node of document.querySelectorAll("[data-text]")) node.textContent = text(node.dataset.text);
  for (const node of document.querySelectorAll("[data-label]")) node.setAttribute("aria-label", text(node.dataset.label));
  for (const node of document.querySelectorAll("[data-hint]")) node.placeholder = text(node.dataset.hint);
  for (const node of document.querySelectorAll("[data-alt]")) node.alt = text(node.dataset.alt);
  return languages[column].code;
}

// The text of a key, with {names} replaced by values.
export function text(key, values = {}) {
  const row = texts[key];
  return row ? row[column].replace(/\{(\w+)\}/g, (_, name) => values[name]) : key;
}

// The same of a row of any table with a column a language; `otherwise`: there is no such row.
export const inOwnLanguage = (row, otherwise) => row ? row[column] : otherwise;

// Why something failed; a TypeError is fetch()'s: nobody answers.
export const wordsOf = (error) => error instanceof TypeError ? text("lost") : error.message;

export const hasText = (key) => Object.hasOwn(texts, key);

export const number = (value, digits = 0) =>
  value.toLocaleString(locale, {minimumFractionDigits: digits, maximumFractionDigits: digits});
export const percent = (ratio) => ratio.toLocaleString(locale, {style: "percent"});
export const milliseconds = (value) => `${number(value, value < 10 ? 1 : 0)} ms`;
export const mebibytes = (bytes) => `${number(bytes / 1048576)} MiB`;

export function duration(seconds) {
  const units = [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]];
  const [size, unit] = units.find(([least]) => seconds >= least) || units[3];
  return (seconds / size).toLocaleString(locale, {style: "unit", unit, unitDisplay: "long", maximumFractionDigits: 0});
}

export function setZone(name) {
  try {
    new Intl.DateTimeFormat("en", {timeZone: name});
    zone = name;
  } catch { zone = undefined; /* a name this browser does not know */ }
}
export function setDeviceTime(at) { skew = Date.parse(at) - Date.now(); }
export const deviceNow = () => Date.now() + skew;

const show = (at, options) => new Date(at).toLocaleString(locale, {timeZone: zone, ...options});
export const clock = (at) => show(at, {hour: "2-digit", minute: "2-digit"});
// Of a day that is not today with its date.
export const moment = (at) => dayOf(Date.parse(at)) === today() ? clock(at)
  : show(at, {day: "numeric", month: "short", hour: "2-digit", minute: "2-digit"});
// Of another year with that.
export const shortDate = (at) => show(at, {day: "numeric", month: "short",
                                           ...(dayOf(Date.parse(at)).slice(0, 4) === today().slice(0, 4) ? {} : {year: "2-digit"})});
export const dayName = (date) => new Date(`${date}T12:00:00Z`).toLocaleDateString(
  locale, {timeZone: "UTC", weekday: "long", day: "numeric", month: "long"});

// 0 is January.
export const monthName = (month, style = "long") =>
  new Date(Date.UTC(2024, month, 15)).toLocaleDateString(locale, {month: style, timeZone: "UTC"});

// "2026-05-04" of a moment, in the device's zone.
export const dayOf = (ms) => new Date(ms).toLocaleDateString("sv-SE", {timeZone: zone});
export const today = () => dayOf(deviceNow());
export const dayBeside = (date, days) =>
  new Date(Date.parse(`${date}T12:00:00Z`) + days * 86400000).toISOString().slice(0, 10);

// Is it a date as one is written in an address?
export function isDay(text) {
  const at = Date.parse(`${text}T12:00:00Z`);
  return at > 0 && new Date(at).toISOString().slice(0, 10) === text;
}

// How far the zone's clock is ahead of UTC then, in ms.
const ahead = (ms) => Date.parse(`${new Date(ms).toLocaleString("sv-SE", {timeZone: zone}).replace(" ", "T")}Z`) -
  Math.floor(ms / 1000) * 1000;

// The moment a day begins. Asked twice: the first guess may lie on the other side of a change of the clocks.
export function startOfDay(date) {
  const midnight = Date.parse(`${date}T00:00:00Z`);
  return new Date(midnight - ahead(midnight - ahead(midnight))).toISOString();
}
