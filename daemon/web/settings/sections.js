// SPDX-License-Identifier: Apache-2.0
// Why: what stands on the settings tab, in this order: a row a section. `prepare(card)` is called once, with the section's own
// card; `load()` whenever the tab is opened, or who looks at it may do more or less than before. What index.html does not have
// of a section gets a card with the heading `title` (a key of texts.js). `who`: the least role that sees it.
import {may} from "./api.js";
import {loadLists, prepareLists} from "./bird_lists.js";
import {byId, make} from "./dom.js";
import {text} from "./format.js";
import {loadBackup, prepareBackup} from "./backup.js";
import {loadModels, prepareModels} from "./models.js";
import {loadNotify, prepareNotify} from "./notify.js";
import {prepareOwner, showOwner} from "./owner.js";
import {loadPlace, preparePlace} from "./place.js";
import {loadSettings, prepareSettings} from "./settings.js";

const sections = [
  {id: "owner-box", who: "admin", prepare: prepareOwner, load: showOwner},
  {id: "models-card", title: "models_title", who: "admin", prepare: prepareModels, load: loadModels},
  {id: "place-card", title: "place_title", who: "admin", prepare: preparePlace, load: loadPlace},
  {id: "lists-card", title: "bird_lists", who: "admin", prepare: prepareLists, load: loadLists},
  {id: "notify-card", title: "notify_title", who: "admin", prepare: prepareNotify, load: loadNotify},
  {id: "settings-card", who: "read", prepare: prepareSettings, load: loadSettings},
  {id: "backup-card", who: "admin", prepare: prepareBackup, load: loadBackup},
];

function cardOf({id, title}) {
  const heading = `${id}-title`;
  return byId(id) || make("section", {id, className: "card", hidden: true, "aria-labelledby": heading},
    make("h2", {id: heading, "data-text": title, textContent: text(title)}));
}

export function prepareSections() {
  for (const section of sections) {
    const card = cardOf(section);
    byId("panel-settings").append(card);
    section.prepare(card);
  }
}

// `attempt(task)`: one that fails leaves the others alone.
export async function loadSections(attempt) {
  for (const {id, who} of sections) byId(id).hidden = !may(who);
  await Promise.all(sections.map(({load}) => attempt(load)));
}
