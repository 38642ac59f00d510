// SPDX-License-Identifier: Apache-2.0
// Why: a model that knows real birds, by one tap: what it is, its licence, how far it is; or a file that a person brings,
// where the device has no internet.
import {ask} from "./api.js";
import {make} from "./dom.js";
import {number, percent, text} from "./format.js";
import {pullModel, sendModel, useModel} from "./model_jobs.js";
import {ModelWork} from "./model_work.js";
import {OwnModels} from "./own_models.js";

const outside = {target: "_blank", rel: "noreferrer"};

// The catalogue's own words are English; what is said of most models is there in every language.
const termsOf = ({terms}) => terms.includes("iNaturalist") ? make("p", {textContent: text("birds_terms")})
  : make("p", {lang: "en", textContent: terms});

function aboutModel(model) {
  const [address] = model.addresses;
  return [
    make("h3", {textContent: model.name}),
    model.checked ? null : make("p", {}, make("span", {className: "tag", textContent: text("birds_unseen")})),
    make("p", {lang: "en", textContent: model.summary}),
    make("p", {className: "soft"}, `${number(model.size_bytes / 1e6, 1)} MB · `,
      make("a", {href: model.licence_address, textContent: model.licence, ...outside})),
    model.terms ? termsOf(model) : null,
    make("p", {className: "soft address"}, make("a", {href: address, textContent: address, ...outside})),
  ];
}

export function drawBirds(box) {
  const work = new ModelWork(text("step_birds"));
  const own = new OwnModels(work, () => load());
  const list = make("div", {className: "step-models"});
  work.controls.append(list, ...own.nodes);
  const drawn = make("p", {textContent: text("step_birds_drawn"), hidden: true});
  box.append(drawn, make("p", {textContent: text("step_birds_text")}), ...work.nodes);

  const filePicker = (name) => {
    const input = make("input", {type: "file", accept: ".onnx,.tflite"});
    input.addEventListener("change", () => {
      const [file] = input.files;
      if (!file) return;
      work.follow(() => sendModel(name, file, (ratio) => work.show(ratio, text("birds_sent", {percent: percent(ratio)}))), load);
      input.value = "";
    });
    return input;
  };
  const controlOf = (model, first) => {
    if (model.active) return make("p", {className: "good", textContent: text("birds_active", {name: model.name})});
    const key = model.here ? "birds_use" : "birds_fetch";
    const begin = () => model.here ? useModel(model.name) : pullModel(model.name);
    return make("p", {className: "buttons"},
      make("button", {type: "button", className: first ? "main" : "", textContent: text(key), "aria-label": `${text(key)}: ${model.name}`,
                      onclick: () => work.follow(begin, load)}));
  };
  const offline = (model) => model.here ? null
    : make("details", {}, make("summary", {textContent: text("birds_offline")}),
      make("label", {}, make("span", {textContent: text("birds_offline_how")}), filePicker(model.name)));

  async function load() {
    const [{items, can_be_kept: canBeKept, newest_job: job}, {camera}, answering] =
      await Promise.all([ask("/api/v1/models/catalogue"), ask("/api/v1/stats"), ask("/api/v1/model").catch(() => null)]);
    if (!work.goesOn) return null;
    drawn.hidden = !answering?.demonstration;
    const birds = items.filter((model) => model.birds);
    list.replaceChildren(
      ...birds.map((model, index) => make("div", {className: "step-model"}, ...aboutModel(model).filter(Boolean),
                                          controlOf(model, index === 0), ...[offline(model)].filter(Boolean))));
    own.hidden = (model) => !model.in_folder || birds.some(({name, here}) => here && name === model.name);
    await own.load();
    work.locked = work.controls.disabled = !canBeKept;
    if (!canBeKept) work.end(text("birds_no_place"));
    else if (camera.demonstration && birds.some((model) => model.active)) work.end(text("birds_drawn"));
    return job;
  }

  load().then((job) => {
    if (job && ["queued", "running"].includes(job.state)) work.follow(async () => job, load);
  }).catch((error) => work.end("", error));
  return () => { work.goesOn = false; };
}
