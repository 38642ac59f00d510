// SPDX-License-Identifier: Apache-2.0
// Why: a model on its way to the device: begun with one request, watched until it has ended.
import {ask, Problem, write} from "./api.js";

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

export const pullModel = async (name) => (await write(`/api/v1/models/${name}/pull?activate=yes`, "POST")).json();
export const useModel = async (name) => (await write(`/api/v1/models/${name}/activate`, "POST")).json();

// fetch() tells nothing of what is sent so far. `show(ratio)`.
export function sendModel(name, file, show) {
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    request.open("PUT", `/api/v1/models/${encodeURIComponent(name)}?activate=yes`);
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
