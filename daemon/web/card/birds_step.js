// SPDX-License-Identifier: Apache-2.0
// Why: a model that knows real birds, by one tap: what it is, its licence, how far it is; or a file that a person brings,
// where the device has no internet.
import {ask, Problem} from "./api.js";
import {make} from "./dom.js";
import {number, percent, text} from "./format.js";
import {modelNameOf, pullModel, sendModel, useModel, watchJob} from "./model_jobs.js";

const outside = {target: "_blank", rel: "noreferrer"};

// The catalogue's own words are English; what is said of most models is there in every language.
const termsOf = ({terms}) => terms.includes("iNaturalist") ? make("p", {textContent: text("birds_terms")})
  : make("p", {lang: "en", textContent: terms});

function aboutModel(model) {
  const [address] = model.addresses;
  return [
    make("h3", {textContent: model.name}),
    make("p", {lang: "en", textContent: model.summary}),
    make("p", {className: "soft"}, `${number(model.size_bytes / 1e6, 1)} MB · `,
      make("a", {href: model.licence_address, textContent: model.licence, ...outside})),
    model.terms ? termsOf(model) : null,
    make("p", {className: "soft address"}, make("a", {href: address, textContent: address, ...outside})),
  ];
}

// What is under way, or how it went; one thing at a time.
function makeProgress() {
  const bar = make("progress", {max: 1, value: 0, hidden: true});
  const words = make("p", {role: "status"});
  const problem = make("p", {className: "bad", role: "alert", hidden: true});
  bar.setAttribute("aria-label", text("step_birds"));
  return {
    nodes: [bar, words, problem],
    show(ratio, told) {
      bar.hidden = false;
      bar.value = ratio;
      words.textContent = told;
      problem.hidden = true;
    },
    end(told, error) {
      bar.hidden = true;
      words.textContent = told;
      problem.hidden = !error;
      problem.textContent = error ? error.message || text("lost") : "";
    },
  };
}

export function drawBirds(box) {
  let goesOn = true;
  const progress = makeProgress();
  const list = make("div", {className: "step-models"});
  const controls = [];
  box.append(make("p", {textContent: text("step_birds_text")}), list, ...progress.nodes);

  const showJob = (job) => progress.show(job.progress_ratio, text(`job_${job.step || "activate"}`));
  const follow = async (begin) => {
    for (const control of controls) control.disabled = true;
    try {
      const job = await watchJob(await begin(), showJob, () => goesOn);
      if (!goesOn) return;
      progress.end(job.activated ? text("birds_active", {name: job.model}) : "");
      await load();
    } catch (error) {
      progress.end("", error instanceof Problem ? error : new Error(text("lost")));
    }
    for (const control of controls) control.disabled = false;
  };

  const filePicker = (nameOf) => {
    const input = make("input", {type: "file", accept: ".onnx,.tflite"});
    input.addEventListener("change", () => {
      const [file] = input.files;
      if (!file) return;
      follow(() => sendModel(nameOf(file), file, (ratio) => progress.show(ratio, text("birds_sent", {percent: percent(ratio)}))));
      input.value = "";
    });
    controls.push(input);
    return input;
  };

  const controlOf = (model, first) => {
    if (model.active) return make("p", {className: "good", textContent: text("birds_active", {name: model.name})});
    const button = make("button", {type: "button", className: first ? "main" : "",
                                   textContent: text(model.here ? "birds_use" : "birds_fetch"),
                                   "aria-label": `${text(model.here ? "birds_use" : "birds_fetch")}: ${model.name}`,
                                   onclick: () => follow(() => model.here ? useModel(model.name) : pullModel(model.name))});
    controls.push(button);
    return make("p", {className: "buttons"}, button);
  };
  const offline = (model) => model.here ? null
    : make("details", {}, make("summary", {textContent: text("birds_offline")}),
      make("label", {}, make("span", {textContent: text("birds_offline_how")}), filePicker(() => model.name)));

  async function load() {
    const [{items, can_be_kept: canBeKept, newest_job: job}, {camera}] =
      await Promise.all([ask("/api/v1/models/catalogue"), ask("/api/v1/stats")]);
    if (!goesOn) return null;
    controls.length = 0;
    const birds = items.filter((model) => model.birds);
    list.replaceChildren(
      ...birds.map((model, index) => make("div", {className: "step-model"}, ...aboutModel(model).filter(Boolean),
                                          controlOf(model, index === 0), ...[offline(model)].filter(Boolean))),
      make("details", {}, make("summary", {textContent: text("birds_own")}),
        make("label", {}, make("span", {textContent: text("birds_own_how")}), filePicker(modelNameOf))));
    if (!canBeKept) {
      progress.end(text("birds_no_place"));
      for (const control of controls) control.disabled = true;
    } else if (camera.demonstration && birds.some((model) => model.active)) {
      progress.end(text("birds_drawn"));
    }
    return job;
  }

  load().then((job) => {
    if (job && ["queued", "running"].includes(job.state)) follow(async () => job);
  }).catch((error) => progress.end("", error instanceof Problem ? error : new Error(text("lost"))));
  return () => { goesOn = false; };
}
