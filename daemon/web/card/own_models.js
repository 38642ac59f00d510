// SPDX-License-Identifier: Apache-2.0
// Why: the models that lie on the device, for an owner: one takes the place of another, gets what it lacks, or goes; and a file of
// one's own joins them.
import {ask} from "./api.js";
import {fillChanged, freshId, make} from "./dom.js";
import {moment, number, percent, text} from "./format.js";
import {judgedModel, modelNameOf, putBeside, removeModel, sendModel, useModel} from "./model_jobs.js";

const pause = 2000;  // ms until a model that is being checked is looked at again

// It answers all the same, with numbers for names, or of pictures that it was not made for.
const lacks = (model) => model.state === "valid" && !(model.labels_named && model.preprocess_found);

const whyNot = (model) => [model.reason, model.hint].filter(Boolean).join(" · ");

function facts(model) {
  const said = [`${number(model.size_bytes / 1e6, 1)} MB`, moment(model.modified_at), text(`model_${model.state}`)];
  if (model.state !== "valid") return said;
  const count = number(model.classes);
  return [...said, text(model.labels_named ? "names" : "models_unnamed", {count}),
          text(model.preprocess_found ? "models_recipe_known" : "models_recipe_unknown")];
}

function labelsBox() {
  const id = freshId("labels");
  const box = make("textarea", {id, rows: 5, spellcheck: false, autocomplete: "off"});
  const file = make("input", {type: "file", accept: ".txt,.csv,text/plain"});
  file.addEventListener("change", async () => { if (file.files[0]) box.value = await file.files[0].text(); });
  return {nodes: [make("label", {htmlFor: id, textContent: text("models_labels")}), box,
                  make("label", {}, make("span", {textContent: text("models_labels_file")}), " ", file)],
          read: () => box.value};
}

function recipeBox(presets) {
  const id = freshId("recipe");
  const own = make("textarea", {rows: 3, value: "{}", hidden: true, spellcheck: false, "aria-label": "JSON"});
  const choice = make("select", {id}, make("option", {value: "", textContent: text("models_recipe_none")}),
    ...presets.map(({name, whose}) => make("option", {value: name, lang: "en", textContent: `${name}: ${whose}`})),
    make("option", {value: "{", textContent: "JSON"}));
  choice.addEventListener("change", () => { own.hidden = choice.value !== "{"; });
  return {nodes: [make("label", {htmlFor: id, textContent: text("models_recipe")}), choice, own],
          read: () => own.hidden ? choice.value : own.value};
}

export class OwnModels {
  hidden = () => false;  // of a model: it stands elsewhere
  list = make("ul", {className: "step-models"});
  presets = [];

  // `changed()`: something was done with one of them.
  constructor(work, changed) {
    this.work = work;
    this.changed = changed;
    this.summary = make("summary", {textContent: text("birds_own")});
    this.nodes = [this.list, make("details", {}, this.summary,
      make("label", {}, make("span", {textContent: text("birds_own_how")}), this.filePicker()))];
  }

  filePicker() {
    const input = make("input", {type: "file", accept: ".onnx,.tflite"});
    input.addEventListener("change", () => {
      const [file] = input.files;
      if (file) this.bring(modelNameOf(file), file);
      input.value = "";
    });
    return input;
  }

  // One that lacks something is not used before its owner has seen that.
  bring(name, file) {
    return this.work.run(async () => {
      const sent = (ratio) => this.work.show(ratio, text("birds_sent", {percent: percent(ratio)}));
      if (!await this.work.watch(() => sendModel(name, file, sent, false))) return;
      const model = await this.judged(name);
      if (!model) return;
      if (lacks(model)) this.work.end(text("models_lacks", {name}));
      else await this.take(name);
      await this.changed();
    });
  }

  async take(name) {
    const job = await this.work.watch(() => useModel(name));
    if (job) this.work.end(text("birds_active", {name}));
  }

  // What counts when a model is taken up is taken up at once by the one that answers.
  keep(model, labels, recipe) {
    if (!labels.trim() && !recipe.trim()) return null;
    return this.work.run(async () => {
      try {
        if (labels.trim()) await putBeside(model.name, "labels", labels);
        if (recipe.trim()) await putBeside(model.name, "recipe", recipe);
        const now = await this.judged(model.name);
        if (!now) return;
        if (now.state !== "valid") throw new Error(whyNot(now) || text("model_invalid"));
        if (now.active) await this.take(model.name);
        else this.work.end(text("place_kept"));
      } finally {
        // The first of two may have been kept.
        await this.judged(model.name);
        await this.changed();
      }
    });
  }

  judged(name) { return judgedModel(name, () => this.work.goesOn); }

  remove(model) {
    if (!confirm(text("models_remove_sure", {name: model.name}))) return null;
    return this.work.run(async () => {
      await removeModel(model.name);
      this.work.end("");
      await this.changed();
      this.work.controls.disabled = false;
      this.summary.focus();
    });
  }

  formOf(model) {
    const [labels, recipe] = [labelsBox(), recipeBox(this.presets)];
    const form = make("form", {className: "setting-form"}, ...labels.nodes, ...recipe.nodes,
      make("p", {className: "buttons"}, make("button", {className: "main", textContent: text("save")})));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.keep(model, labels.read(), recipe.read());
    });
    return make("details", {open: lacks(model)}, make("summary", {textContent: text("models_beside")}), form);
  }

  row(model) {
    const button = (key, act) => make("button", {type: "button", textContent: text(key), onclick: act, "aria-label": `${text(key)}: ${model.name}`});
    const use = () => this.work.follow(() => useModel(model.name), this.changed);
    return make("li", {className: "step-model", "data-name": model.name}, make("h3", {textContent: model.name}),
      make("p", {className: "soft", textContent: facts(model).join(" · ")}),
      model.reason ? make("p", {className: "bad", textContent: whyNot(model)}) : null,
      model.active ? make("p", {className: "good", textContent: text("birds_active", {name: model.name})})
        : make("p", {className: "buttons"}, model.state === "valid" ? button("birds_use", use) : null,
               model.in_folder && !model.configured ? button("notify_remove", () => this.remove(model)) : null),
      model.in_folder ? this.formOf(model) : lacks(model) ? make("p", {className: "soft", textContent: text("models_elsewhere")}) : null);
  }

  // A row that says the same stays as it is, with what was typed into it.
  async load() {
    const {items, recipe_presets: presets} = await ask("/api/v1/models");
    if (!this.work.goesOn) return;
    this.presets = presets;
    const shown = items.filter((model) => !this.hidden(model)).map(({newest_job: _, ...model}) => model);
    fillChanged(this.list, shown, (model) => this.row(model));
    this.list.hidden = shown.length === 0;
    if (shown.some((model) => model.state === "checking")) setTimeout(() => this.load().catch(() => {}), pause);
  }
}
