// SPDX-License-Identifier: Apache-2.0
// Why: the choice of a language at the page's end, a second time, which the device's messages to a phone follow.
import {byId, make} from "./dom.js";
import {text, wordsOf} from "./format.js";
import {setKeys, settable, sourceOf, valueOf} from "./settings.js";
import {languages} from "./texts.js";

const key = "node.language";

// What the owner's file says stays.
async function tellDevice(language) {
  if (settable(key) && valueOf(key) !== language) await setKeys({[key]: language});
}

export function drawLanguage(box) {
  const choice = byId("language");
  const own = make("select", {id: "step-language"},
    ...languages.map(({code, name}) => make("option", {value: code, textContent: name, lang: code})));
  const problem = make("p", {className: "bad", role: "alert", hidden: true});
  own.value = choice.value;
  own.addEventListener("change", async () => {
    try { await tellDevice(own.value); } catch (error) {
      problem.textContent = wordsOf(error);
      problem.hidden = false;
      return;
    }
    choice.value = own.value;
    choice.dispatchEvent(new Event("change"));
  });
  box.append(make("p", {textContent: text("step_language_text")}),
             make("p", {}, make("label", {}, make("span", {textContent: text("language")}), " ", own)), problem);
  // Who leaves it as the browser had it has chosen that, unless somebody chose before.
  return () => { if (sourceOf(key) === "default") tellDevice(own.value).catch(() => {}); };
}
