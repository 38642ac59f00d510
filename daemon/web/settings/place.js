// SPDX-License-Identifier: Apache-2.0
// Why: where the feeder is, as a map says it or as this device knows it, so that it looks by day only. It is mounted where it is
// wanted: among the settings, or as a step of something else.
import {may} from "./api.js";
import {byId, freshId, make} from "./dom.js";
import {text, wordsOf} from "./format.js";
import {onSettings, setKeys, settable, sourceOf, valueOf} from "./settings.js";

const [north, east, hours] = ["gate.latitude", "gate.longitude", "gate.hours"];
const digits = 2;  // a kilometre: sunrise is the same there

const rounded = (value) => Number(value.toFixed(digits));

const twoNumbers = (point, between) => {
  const degrees = `([-+]?\\d+(?:${point}\\d+)?)\\s*°?\\s*`;
  return new RegExp(`^\\s*${degrees}([NS]?)${between}${degrees}([EW]?)\\s*$`, "i");
};
// Many languages write a comma for the point; what stands between the numbers is more than a comma then.
const ways = [twoNumbers("\\.", "[\\s,;]+"), twoNumbers(",", "(?:\\s*;\\s*|,?\\s+|(?<=[NS])\\s*)")];

// "52.52, 13.41", "52,52 13,41", "33.9° S 151.2° E": [latitude, longitude]; undefined: it is none.
function placeOf(words) {
  const [, latitude, south, longitude, west] = ways.map((way) => way.exec(words)).find(Boolean) || [];
  const place = [latitude, longitude].map((value, i) => (
    rounded(Number(value?.replace(",", "."))) * (/[SW]/i.test([south, west][i]) ? -1 : 1)));
  return Math.abs(place[0]) <= 90 && Math.abs(place[1]) <= 180 ? place : undefined;
}

const written = () => valueOf(north) || valueOf(east) ? `${valueOf(north)}, ${valueOf(east)}` : "";

// Browsers tell it over https and to this machine itself only.
const canLocate = () => window.isSecureContext && "geolocation" in navigator;

const located = () => new Promise((done, failed) => navigator.geolocation.getCurrentPosition(
  ({coords}) => done(`${rounded(coords.latitude)}, ${rounded(coords.longitude)}`),
  () => failed(new Error(text("place_unknown"))), {timeout: 20000, maximumAge: 3600000}));

async function keep(words, byDay) {
  const place = words.trim() ? placeOf(words) : [null, null];
  if (!place) throw new Error(text("place_unreadable"));
  const change = {[north]: place[0], [east]: place[1]};
  // Other hours that the owner has set stay as they are.
  if (byDay) change[hours] = "daylight";
  else if (valueOf(hours) === "daylight") change[hours] = null;
  await setKeys(Object.fromEntries(Object.entries(change).filter(([key]) => settable(key))));
}

function controls() {
  const place = make("input", {id: freshId("place"), type: "text", autocomplete: "off", spellcheck: false, placeholder: "52.52, 13.41"});
  const day = make("input", {id: freshId("place"), type: "checkbox"});
  return {place, day, save: make("button", {className: "main", textContent: text("save")}),
          locate: make("button", {type: "button", textContent: text("place_here"), hidden: !canLocate()}),
          told: make("p", {className: "soft", role: "status"}), problem: make("p", {className: "bad", role: "alert", hidden: true})};
}

// What is in force; what the owner's files say is shown, and changed there.
function fill({place, day, save, locate, told}) {
  place.value = written();
  day.checked = valueOf(hours) === "daylight" || (!written() && settable(hours));
  place.readOnly = !settable(north) || !settable(east);
  day.disabled = !settable(hours);
  locate.disabled = place.readOnly;
  save.disabled = place.readOnly && day.disabled;
  if (place.readOnly) told.textContent = text("setting_from", {source: sourceOf(north)});
}

// Builds the form into `element`; gives what ends it. Only an owner may.
export function mountPlace(element) {
  const before = element.querySelector("form[data-typed]");
  const parts = controls();
  const {place, day, save, locate, told, problem} = parts;
  const form = make("form", {className: "setting-form", noValidate: true},
    make("label", {htmlFor: place.id, textContent: text("place_where")}),
    make("p", {className: "soft", textContent: text("place_how")}), place,
    make("p", {}, day, " ", make("label", {htmlFor: day.id, textContent: text("place_day")})), told, problem,
    make("p", {className: "buttons"}, save, locate));
  // What is typed and not saved is there when the tab is opened again, or in another language.
  const note = (typed) => form.toggleAttribute("data-typed", typed);
  const attempt = async (task) => {
    problem.hidden = true;
    told.textContent = "";
    try { await task(); } catch (error) {
      problem.textContent = wordsOf(error);
      problem.hidden = false;
    }
  };
  form.addEventListener("input", () => note(true));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(async () => {
      await keep(place.value, day.checked);
      note(false);
      fill(parts);
      told.textContent = text("place_kept");
    });
  });
  locate.addEventListener("click", () => attempt(async () => {
    place.value = await located();
    note(true);
  }));
  element.replaceChildren(form);
  if (valueOf(north) !== undefined) fill(parts);
  if (before) {
    [place.value, day.checked] = [before[0].value, before[1].checked];
    note(true);
  }
  const refresh = () => { if (!form.hasAttribute("data-typed") && valueOf(north) !== undefined) fill(parts); };
  return onSettings(refresh);
}

let end = null;

export const preparePlace = (card) => card.append(make("div", {id: "settings-place"}));

export function loadPlace() {
  end?.();
  end = may("admin") ? mountPlace(byId("settings-place")) : null;
}
