// SPDX-License-Identifier: Apache-2.0
// Why: who gets messages on a phone, for an owner only: services whose address is fixed are set here, one's own in the file.
// It is mounted where it is wanted: among the settings, or as a step of something else.
import {ask, may, write} from "./api.js";
import {byId, make} from "./dom.js";
import {text, wordsOf} from "./format.js";
import {kindOf, notifyForm} from "./notify_form.js";
import {nameOfBird} from "./now.js";
import {noteMessages} from "./settings.js";

// A name on which nobody is ever told, with what may be meant.
const unknown = ({name, near: [bird]}) => bird ? `${name} (${text("list_near", {names: nameOfBird(bird)})})` : name;

class Messages {
  services = [];
  open = null;   // the service in the form; a new one has no name
  form = null;   // what was typed stays while the list is drawn anew
  told = {};     // by name: what became of the newest message sent by hand

  // `brief`: as a step, where a form stands ready while there is no service.
  constructor(element, brief) {
    this.element = element;
    this.brief = brief;
  }

  async load() {
    this.services = (await ask("/api/v1/notify")).items;
    if (this.brief && this.services.length === 0) this.open ||= {};
    this.render();
  }

  show(service) {
    this.open = service;
    this.form = null;
    this.render();
    this.form?.elements.kind.focus();
  }

  // `told`: what is said of the service meanwhile.
  async act({name}, told, request) {
    this.told[name] = "…";
    this.render();
    try {
      await request();
      this.told[name] = told;
    } catch (error) {
      this.told[name] = wordsOf(error);
    }
    await this.load().catch(() => this.render());
  }

  sendNow(service) {
    return this.act(service, text("notify_sent"), () => write("/api/v1/notify/test", "POST", {name: service.name}));
  }

  remove(service) {
    return this.act(service, "", () => write(`/api/v1/notify/${service.name}`, "DELETE"));
  }

  freeName(kind) {
    for (let i = 1; ; ++i) {
      const name = i === 1 ? kind : `${kind}_${i}`;
      if (!this.services.some((one) => one.name === name)) return name;
    }
  }

  async keep(kind, wish) {
    const name = this.open.name || this.freeName(kind);
    await write(`/api/v1/notify/${name}`, "PUT", wish);
    this.open = this.form = null;
    delete this.told[name];
    await Promise.all([this.load(), noteMessages().catch(() => {})]);
    this.element.querySelector(`[data-name="${name}"] button`)?.focus();
  }

  makeForm() {
    return notifyForm(this.open, {
      brief: this.brief,
      keep: (kind, wish) => this.keep(kind, wish),
      choose: (kind) => this.show({kind}),
      leave: this.brief && this.services.length === 0 ? null : () => this.show(null),
    });
  }

  row(service) {
    const {name, source, detail} = service;
    const counts = text("notify_counts", {sent: service.sent_total, held: service.held_back_total, dropped: service.dropped_total});
    const button = (key, act) => make("button", {type: "button", textContent: text(key), onclick: act, "aria-label": `${text(key)}: ${name}`});
    const own = source === "page";
    const strange = service.unknown_species.map(unknown).join(", ");
    return make("li", {"data-name": name},
      make("strong", {textContent: name}), ` ${kindOf(service)} ${service.to}`,
      make("p", {className: "soft", textContent: own ? counts : `${counts} · ${text("setting_from", {source})}`}),
      strange ? make("p", {className: "bad", textContent: text("notify_unknown", {names: strange})}) : null,
      detail && !this.told[name] ? make("p", {className: "bad", textContent: detail}) : null,
      make("p", {role: "status", textContent: this.told[name] || ""}),
      make("p", {className: "buttons"}, button("notify_now", () => this.sendNow(service)),
        own ? button("setting_change", () => this.show(service)) : null, own ? button("notify_remove", () => this.remove(service)) : null));
  }

  render() {
    this.element.replaceChildren(
      make("p", {className: "soft", textContent: text("notify_how")}),
      make("ul", {className: "notify-list"}, ...this.services.map((service) => this.row(service))),
      this.open ? this.form ||= this.makeForm() : make("p", {className: "buttons"},
        make("button", {type: "button", textContent: text("notify_add"), onclick: () => this.show({})})));
  }
}

// Builds the services into `element`, as a step of something else.
export const mountNotify = (element) => new Messages(element, true).load();

export const prepareNotify = (card) => card.append(make("div", {id: "notify-box"}));

export async function loadNotify() {
  if (may("admin")) await new Messages(byId("notify-box"), false).load();
  else byId("notify-box").replaceChildren();
}
