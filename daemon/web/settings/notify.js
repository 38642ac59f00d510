// SPDX-License-Identifier: Apache-2.0
// Why: who gets messages on a phone, for an owner only: services whose address is fixed are set here, one's own in the file.
import {ask, may, Problem, write} from "./api.js";
import {byId, make} from "./dom.js";
import {text} from "./format.js";

// What is asked for each; no `to`: the secret says where to.
const kinds = {
  ntfy: {wish: {service: "ntfy"}, label: "ntfy", to: "notify_topic", secret: "notify_token"},
  telegram: {wish: {service: "telegram"}, label: "Telegram", to: "notify_chat", secret: "notify_bot"},
  pushover: {wish: {service: "template", preset: "pushover"}, label: "Pushover", to: "notify_user", secret: "notify_app"},
  discord: {wish: {service: "template", preset: "discord"}, label: "Discord", secret: "notify_webhook"},
};
const conditions = {first_today: "notify_first_today", first_season: "notify_first_season", first_ever: "notify_first_ever",
                    unusual: "notify_unusual"};

let services = [];
let open = null;      // the service in the form; a new one has no name
let shown = null;     // its form: what was typed stays while the list is drawn anew
const told = {};      // by name: what became of the newest message sent by hand

const kindOf = ({service, preset}) => preset === "none" ? service : preset;
const messageOf = (error) => error instanceof Problem ? error.message : text("lost");

async function reload() {
  services = (await ask("/api/v1/notify")).items;
  render();
}

async function sendNow({name}) {
  told[name] = "…";
  render();
  try {
    await write("/api/v1/notify/test", "POST", {name});
    told[name] = text("notify_sent");
  } catch (error) {
    told[name] = messageOf(error);
  }
  await reload().catch(render);
}

async function remove({name}) {
  try {
    await write(`/api/v1/notify/${name}`, "DELETE");
    await reload();
  } catch (error) {
    told[name] = messageOf(error);
    render();
  }
}

function show(service) {
  open = service;
  shown = null;
  render();
  byId("notify-kind")?.focus();
}

function row(service) {
  const {name, source, detail} = service;
  const counts = text("notify_counts", {sent: service.sent_total, held: service.held_back_total, dropped: service.dropped_total});
  const button = (key, act) => make("button", {type: "button", textContent: text(key), onclick: act, "aria-label": `${text(key)}: ${name}`});
  const own = source === "page";
  return make("li", {},
    make("strong", {textContent: name}), ` ${kindOf(service)} ${service.to}`,
    make("p", {className: "soft", textContent: own ? counts : `${counts} · ${text("setting_from", {source})}`}),
    detail && !told[name] ? make("p", {className: "bad", textContent: detail}) : null,
    make("p", {role: "status", textContent: told[name] || ""}),
    make("p", {className: "buttons"}, button("notify_now", () => sendNow(service)),
      own ? button("setting_change", () => show(service)) : null, own ? button("notify_remove", () => remove(service)) : null));
}

function field(id, key, properties) {
  const node = make("input", {id: `notify-${id}`, autocomplete: "off", spellcheck: false, ...properties});
  const label = make("label", {htmlFor: node.id, textContent: text(key)});
  return properties.type === "checkbox" ? make("p", {}, node, " ", label) : make("p", {}, label, node);
}

function freeName(kind) {
  for (let i = 1; ; ++i) {
    const name = i === 1 ? kind : `${kind}_${i}`;
    if (!services.some((one) => one.name === name)) return name;
  }
}

const value = (id) => byId(`notify-${id}`).value.trim();
const checked = (id) => byId(`notify-${id}`).checked;

function wishOf(kind) {
  const secret = value("secret");
  return {...kinds[kind].wish, ...(kinds[kind].to ? {to: value("to")} : {}), ...(secret ? {secret} : {}),
          events: ["visit.start", ...(checked("trouble") ? ["camera", "disk"] : [])],
          species: byId("notify-species").value.split("\n").map((line) => line.trim()).filter(Boolean),
          only: Object.keys(conditions).filter(checked), quiet: value("quiet"), at_most: Number(value("at_most")),
          picture: checked("picture"), digest: value("digest")};
}

async function keep(problem, kind) {
  try {
    await write(`/api/v1/notify/${open.name || freeName(kind)}`, "PUT", wishOf(kind));
    open = shown = null;
    await reload();
    byId("notify-add")?.focus();
  } catch (error) {
    problem.textContent = messageOf(error);
    problem.hidden = false;
  }
}

function form() {
  const kind = open.service ? kindOf(open) : open.kind || "ntfy";
  const {to, secret} = kinds[kind];
  const {only = [], events = [], species = []} = open;
  const problem = make("p", {className: "bad", role: "alert", hidden: true});
  const choice = make("select", {id: "notify-kind", disabled: Boolean(open.name)}, ...Object.entries(kinds).map(
    ([word, {label}]) => make("option", {value: word, textContent: label, selected: word === kind})));
  choice.addEventListener("change", () => show({kind: choice.value}));
  const birds = make("textarea", {id: "notify-species", rows: 2, value: species.join("\n"), spellcheck: false});
  const made = make("form", {className: "setting-form", noValidate: true},
    make("label", {htmlFor: "notify-kind", textContent: text("notify_service")}), choice,
    to ? field("to", to, {type: "text", value: open.to || ""}) : null,
    field("secret", secret, {type: "password", autocomplete: "new-password", placeholder: open.secret ? text("notify_kept") : ""}),
    make("fieldset", {}, make("legend", {textContent: text("notify_only")}), ...Object.entries(conditions).map(
      ([word, key]) => field(word, key, {type: "checkbox", checked: only.includes(word)}))),
    make("p", {}, make("label", {htmlFor: birds.id, textContent: text("notify_species")}), birds),
    field("quiet", "notify_quiet", {type: "text", value: open.quiet || ""}),
    field("at_most", "notify_at_most", {type: "number", min: 1, max: 1000, value: open.at_most || 12}),
    field("digest", "notify_digest", {type: "time", value: open.digest || ""}),
    field("picture", "notify_picture", {type: "checkbox", checked: open.picture !== false}),
    field("trouble", "notify_trouble", {type: "checkbox", checked: events.includes("camera")}), problem,
    make("p", {className: "buttons"}, make("button", {className: "main", textContent: text("save")}),
      make("button", {type: "button", textContent: text("cancel"), onclick: () => show(null)})));
  made.addEventListener("submit", (event) => {
    event.preventDefault();
    keep(problem, kind);
  });
  return made;
}

function render() {
  const box = byId("notify-box");
  box.hidden = !may("admin");
  if (box.hidden) return box.replaceChildren();
  box.replaceChildren(
    make("ul", {className: "notify-list"}, ...services.map(row)),
    services.length === 0 && !open ? make("p", {className: "soft", textContent: text("notify_how")}) : "",
    open ? shown ||= form() : make("p", {className: "buttons"},
      make("button", {id: "notify-add", type: "button", textContent: text("notify_add"), onclick: () => show({})})));
}

export const prepareNotify = (card) => card.append(make("div", {id: "notify-box", hidden: true}));

export async function loadNotify() {
  open = shown = null;
  if (may("admin")) await reload();
  else render();
}
