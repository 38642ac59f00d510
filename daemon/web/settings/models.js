// SPDX-License-Identifier: Apache-2.0
// Why: all models that lie on the device, among the settings of an owner.
import {ask, may} from "./api.js";
import {byId, make} from "./dom.js";
import {text} from "./format.js";
import {ModelWork} from "./model_work.js";
import {OwnModels} from "./own_models.js";

let work = null;  // of what stands there

export const prepareModels = (card) => card.append(make("div", {id: "models-box"}));

export async function loadModels() {
  if (work) work.goesOn = false;
  work = null;
  if (!may("admin")) return byId("models-box").replaceChildren();
  const mine = work = new ModelWork(text("models_title"));
  const own = new OwnModels(mine, () => own.load());
  mine.controls.append(...own.nodes);
  byId("models-box").replaceChildren(make("p", {className: "soft", textContent: text("models_how")}), ...mine.nodes);
  const [{can_be_kept: canBeKept, newest_job: job}] = await Promise.all([ask("/api/v1/models/catalogue"), own.load()]);
  if (!mine.goesOn) return;
  mine.locked = mine.controls.disabled = !canBeKept;
  if (!canBeKept) mine.end(text("birds_no_place"));
  if (job && ["queued", "running"].includes(job.state)) mine.follow(async () => job, () => own.load());
}
