// SPDX-License-Identifier: Apache-2.0
// Why: a model on its way to the device: begun with one request, watched until it has ended.
import {ask, Problem, send, write} from "./api.js";

const pause = 700;  // ms between two looks

const wait = () => new Promise((done) => { setTimeout(done, pause); });

// The job as it ended; a Problem when it failed. `show(job)` is called whenever it got on; `goesOn()` false ends the looking.
export async function watchJob(job, show, goesOn) {
  for (;;) {
    if (job.state === "failed") throw new Problem(job.problem.status, job.problem);
    if (job.state === "succeeded" || !goesOn()) return job;
    show(job);
    await wait();
    job = await ask(`/api/v1/jobs/${job.id}`);
  }
}

const place = (name) => `/api/v1/models/${encodeURIComponent(name)}`;
export const pullModel = async (name) => (await write(`${place(name)}/pull?activate=yes`, "POST")).json();
export const useModel = async (name) => (await write(`${place(name)}/activate`, "POST")).json();
export const removeModel = (name) => write(place(name), "DELETE");

// `what`: "labels", or "recipe", which is JSON or the name of a preset.
export const putBeside = (name, what, body) => send(`${place(name)}/${what}`, {
  method: "PUT", body, headers: {"Content-Type": body.trimStart().startsWith("{") && what === "recipe" ? "application/json" : "text/plain"}});

// What is known of it, once its check has ended; null when `goesOn()` gave false before.
export async function judgedModel(name, goesOn) {
  while (goesOn()) {
    const model = (await ask("/api/v1/models")).items.find((one) => one.name === name);
    if (model?.state !== "checking") return model ?? {name, state: "gone"};
    await wait();
  }
  return null;
}

// fetch() tells nothing of what is sent so far. `show(ratio)`.
export function sendModel(name, file, show, activate = true) {
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    request.open("PUT", `${place(name)}?activate=${activate ? "yes" : "no"}`);
    request.responseType = "json";
    request.upload.onprogress = ({loaded, total}) => show(total > 0 ? loaded / total : 0);
    request.onerror = () => failed(new TypeError("nobody answers"));
    request.onload = () => request.status === 202 ? done(request.response)
      : failed(new Problem(request.status, request.response || {}));
    request.send(file);
  });
}

// A file's name as the name of a model: "Müller's Birds (2).tflite" is "muller-s-birds-2".
export function modelNameOf(file) {
  const stem = file.name.replace(/\.[^.]*$/, "").toLowerCase().normalize("NFD").replace(/\p{M}/gu, "");
  return stem.replace(/[^a-z0-9._]+/g, "-").replace(/^[-.]+|-+$/g, "").slice(0, 80) || "model";
}
