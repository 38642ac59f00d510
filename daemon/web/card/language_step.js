// SPDX-License-Identifier: Apache-2.0
// Why: the choice of a language at the page's end, a second time.
import {byId, make} from "./dom.js";
import {text} from "./format.js";
import {languages} from "./texts.js";

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
