// SPDX-License-Identifier: Apache-2.0
// Why: a service of messages as a form: whose fields are few, and which messages it gets.
import {freshId, make} from "./dom.js";
import {text, wordsOf} from "./format.js";

// What is asked for each; no `to`: the secret says where to. `how`: where one finds it.
const kinds = {
  ntfy: {wish: {service: "ntfy"}, label: "ntfy", to: "notify_topic", secret: "notify_token"},
  telegram: {wish: {service: "telegram"}, label: "Telegram", to: "notify_chat", how: "notify_chat_how", secret: "notify_bot"},
  pushover: {wish: {service: "template", preset: "pushover"}, label: "Pushover", to: "notify_user", secret: "notify_app"},
  discord: {wish: {service: "template", preset: "discord"}, label: "Discord", secret: "notify_webhook"},
};
const conditions = {first_today: "notify_first_today", first_season: "notify_first_season", first_ever: "notify_first_ever",
                    unusual: "notify_unusual"};

export const kindOf = ({service, preset}) => preset === "none" ? service : preset;

function field(name, key, properties, tag = "input") {
  const node = make(tag, {id: freshId("notify"), name, autocomplete: "off", spellcheck: false, ...properties});
  const label = make("label", {htmlFor: node.id, textContent: text(key)});
  return properties.type === "checkbox" ? make("p", {}, node, " ", label) : make("p", {}, label, node);
}

// What the form asks of together; where that is not changed, and of all other events, what the service has stays.
const troubles = ["camera", "disk"];
const isTrouble = (event) => troubles.includes(event);
const troublesOf = (before, wished) => wished === before.some(isTrouble) ? before.filter(isTrouble) : wished ? troubles : [];

function whichMessages({only = [], events = ["visit.start"], species = [], quiet, at_most: atMost, digest, picture}, brief) {
  return make("details", {open: !brief}, make("summary", {textContent: text("notify_which")}),
    field("visits", "notify_visits", {type: "checkbox", checked: events.includes("visit.start")}),
    make("fieldset", {}, make("legend", {textContent: text("notify_only")}), ...Object.entries(conditions).map(
      ([word, key]) => field(word, key, {type: "checkbox", checked: only.includes(word)}))),
    field("species", "notify_species", {rows: 2, value: species.join("\n")}, "textarea"),
    field("quiet", "notify_quiet", {type: "text", value: quiet || ""}),
    field("at_most", "notify_at_most", {type: "number", min: 1, max: 1000, value: atMost || 12}),
    field("digest", "notify_digest", {type: "time", value: digest || ""}),
    field("picture", "notify_picture", {type: "checkbox", checked: picture !== false}),
    field("trouble", "notify_trouble", {type: "checkbox", checked: events.some(isTrouble)}));
}

function wishOf(kind, {events: before = []}, {elements}) {
  const value = (name) => elements[name].value.trim();
  const checked = (name) => elements[name].checked;
  const secret = value("secret");
  return {...kinds[kind].wish, ...(kinds[kind].to ? {to: value("to")} : {}), ...(secret ? {secret} : {}),
          events: [...(checked("visits") ? ["visit.start"] : []), ...before.filter((event) => event !== "visit.start" && !isTrouble(event)),
                   ...troublesOf(before, checked("trouble"))],
          species: value("species").split("\n").map((line) => line.trim()).filter(Boolean),
          only: Object.keys(conditions).filter(checked), quiet: value("quiet"), at_most: Number(value("at_most")),
          picture: checked("picture"), digest: value("digest")};
}

function chooser(kind, service, choose) {
  const choice = make("select", {id: freshId("notify"), name: "kind", disabled: Boolean(service.name)}, ...Object.entries(kinds).map(
    ([word, {label}]) => make("option", {value: word, textContent: label, selected: word === kind})));
  choice.addEventListener("change", () => choose(choice.value));
  return [make("label", {htmlFor: choice.id, textContent: text("notify_service")}), choice];
}

// A form for `service`, a new one if it has no name. `brief`: which messages, is folded away. `keep(kind, wish)` is asked to keep
// it; its error stays in the form. `choose(kind)`: another one is wanted. `leave()`: none; without it there is no way to.
export function notifyForm(service, {brief, keep, choose, leave}) {
  const kind = service.service ? kindOf(service) : service.kind || "ntfy";
  const {to, how, secret} = kinds[kind];
  const problem = make("p", {className: "bad", role: "alert", hidden: true});
  const form = make("form", {className: "setting-form", noValidate: true}, ...chooser(kind, service, choose),
    to ? field("to", to, {type: "text", value: service.to || ""}) : null,
    how ? make("p", {className: "soft", textContent: text(how)}) : null,
    field("secret", secret, {type: "password", autocomplete: "new-password", placeholder: service.secret ? text("notify_kept") : ""}),
    whichMessages(service, brief), problem,
    make("p", {className: "buttons"}, make("button", {className: "main", textContent: text("save")}),
      leave ? make("button", {type: "button", textContent: text("cancel"), onclick: leave}) : null));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try { await keep(kind, wishOf(kind, service, form)); } catch (error) {
      problem.textContent = wordsOf(error);
      problem.hidden = false;
    }
  });
  return form;
}
