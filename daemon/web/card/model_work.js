// SPDX-License-Identifier: Apache-2.0
// Why: one thing at a time is done with models: while it lasts nothing else can be pressed, and what it is, or how it went, stands
// there.
import {make} from "./dom.js";
import {text, wordsOf} from "./format.js";
import {watchJob} from "./model_jobs.js";

export class ModelWork {
  goesOn = true;   // false: nobody looks any more
  locked = false;  // nothing can be done here at all
  controls = make("fieldset", {className: "models"});
  bar = make("progress", {max: 1, value: 0, hidden: true});
  words = make("p", {role: "status"});
  problem = make("p", {className: "bad", role: "alert", hidden: true});

  // `label`: of the bar.
  constructor(label) { this.bar.setAttribute("aria-label", label); }

  get nodes() { return [this.controls, this.bar, this.words, this.problem]; }

  show(ratio, told) {
    this.bar.hidden = false;
    this.bar.value = ratio;
    this.words.textContent = told;
    this.problem.hidden = true;
  }

  end(told, error) {
    this.bar.hidden = true;
    this.words.textContent = told;
    this.problem.hidden = !error;
    this.problem.textContent = error ? wordsOf(error) : "";
  }

  async run(task) {
    this.controls.disabled = true;
    try { await task(); } catch (error) { this.end("", error); }
    this.controls.disabled = this.locked;
  }

  // The job that `begin()` gives, as it ended; null: nobody looks any more.
  async watch(begin) {
    const show = (job) => this.show(job.progress_ratio, text(`job_${job.step || "activate"}`));
    const job = await watchJob(await begin(), show, () => this.goesOn);
    return this.goesOn ? job : null;
  }

  // The same, told, and `load()` shows what it has changed.
  follow(begin, load) {
    return this.run(async () => {
      const job = await this.watch(begin);
      if (!job) return;
      this.end(job.activated ? text("birds_active", {name: job.model}) : "");
      await load();
    });
  }
}
