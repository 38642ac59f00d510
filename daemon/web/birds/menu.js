// SPDX-License-Identifier: Apache-2.0
// Why: what a person can say of a visit is one small menu: the row stays a row.
import {make} from "./dom.js";
import {text} from "./format.js";

function itemOf(id, wish, details, tell) {
  const button = make("button", {type: "button", textContent: wish.label, "data-key": `${id} ${wish.key}`});
  button.addEventListener("click", async () => {
    // The row may be drawn anew: the keyboard is where the new one has it, too.
    details.firstChild.focus();
    details.open = false;
    try {
      await wish.act();
      tell(null);
    } catch (error) { tell(error); }
  });
  return button;
}

// `wishes` are {label, key, act}; `tell(error)` hears what became of one, null for well.
export function menuOf(id, name, wishes, tell) {
  const summary = make("summary", {"data-key": `${id} menu`, "aria-label": text("menu", {name}), textContent: "⋯"});
  const details = make("details", {className: "menu"}, summary);
  const list = make("div", {}, ...wishes.map((wish) => itemOf(id, wish, details, tell)));
  details.append(list);
  details.addEventListener("toggle", () => { if (details.open) list.scrollIntoView({block: "nearest"}); });
  return details;
}

export function prepareMenus() {
  const opened = () => document.querySelectorAll(".menu[open]");
  document.addEventListener("click", ({target}) => {
    for (const menu of opened()) if (!menu.contains(target)) menu.open = false;
  });
  document.addEventListener("keydown", ({key}) => {
    if (key !== "Escape") return;
    for (const menu of opened()) {
      menu.open = false;
      menu.firstChild.focus();
    }
  });
}
