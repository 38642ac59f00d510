// SPDX-License-Identifier: Apache-2.0
// Why: steps that say in a sentence what can be set, and lead there.
import {byId, make} from "./dom.js";
import {text} from "./format.js";
import {languages} from "./texts.js";

export const settingsStep = (words) => (box) => {
  box.append(make("p", {textContent: text(words)}),
             make("p", {}, make("a", {href: "#settings", textContent: text("steps_settings")})));
};

// The choice at the page's end, a second time.
export function drawLanguage(box) {
  const choice = byId("language");
  const own = make("select", {id: "step-language"},
    ...languages.map(({code, name}) => make("option", {value: code, textContent: name, lang: code})));
  own.value = choice.value;
  own.addEventListener("change", () => {
    choice.value = own.value;
    choice.dispatchEvent(new Event("change"));
  });
  box.append(make("p", {textContent: text("step_language_text")}),
             make("p", {}, make("label", {}, make("span", {textContent: text("language")}), " ", own)));
}
