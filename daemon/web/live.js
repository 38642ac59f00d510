// SPDX-License-Identifier: Apache-2.0
// Why: what happens reaches the page by server-sent events; where none come, it asks a few times a second.
import {ask, may} from "./api.js";
import {ofOneCamera} from "./cameras.js";

const kinds = ["visit.start", "visit.picture", "visit.update", "visit.end", "visit.reviewed", "visit.deleted", "camera",
               "model", "prediction", "stats", "resync"];
const address = "/api/v1/events?types=visit,camera,model,prediction,stats";
const handlers = new Map(kinds.map((kind) => [kind, []]));
let source = null;
let polling = 0;  // turns of this chain of questions; 0: none
let chain = 0;
let reopening = 0;
let fresh = true;  // who began anew reads the lists anyway
let onTrouble = () => {};
const tooOld = 5000;  // ms: what was answered before is not what is seen now
let asked = "";  // the prediction that the last question was answered with

export const on = (kind, handler) => handlers.get(kind).push(handler);
function tell(kind, data) {
  for (const handler of handlers.get(kind)) handler(data);
}

async function poll() {
  try {
    const [prediction, stats] = await Promise.all([ask(`/api/v1/predictions/latest${ofOneCamera("?")}`), ask("/api/v1/stats")]);
    if (prediction && prediction.id !== asked && Date.parse(stats.at) - Date.parse(prediction.at) < tooOld) {
      tell("prediction", {prediction});
    }
    asked = prediction?.id || "";
    tell("stats", {stats});
    if (polling % 5 === 0) tell("resync", {});
    onTrouble(null);
  } catch (error) { onTrouble(error); }
}

function startPolling() {
  if (polling) return;
  const mine = ++chain;
  const turn = async () => {
    await poll();
    if (!polling || mine !== chain) return;
    ++polling;
    setTimeout(turn, 1000);
  };
  polling = 1;
  turn();
}

function open() {
  close();
  if (!may("read")) return;
  source = new EventSource(address);
  for (const kind of kinds) source.addEventListener(kind, (event) => tell(kind, JSON.parse(event.data)));
  source.addEventListener("stats", () => onTrouble(null));  // also after a question of something else that failed
  source.addEventListener("gap", () => tell("resync", {}));  // events were left out
  source.addEventListener("open", () => {
    polling = 0;
    onTrouble(null);
    if (!fresh) tell("resync", {});
    fresh = false;
  });
  source.addEventListener("error", () => {
    startPolling();
    // Refused (all places taken, signed out): the browser does not try again by itself.
    if (source?.readyState === EventSource.CLOSED) reopening = setTimeout(open, 15000);
  });
}

function close() {
  clearTimeout(reopening);
  source?.close();
  source = null;
  polling = 0;
}

// A page nobody sees takes no place from others.
export function start(trouble) {
  onTrouble = trouble;
  document.addEventListener("visibilitychange", () => { if (document.hidden) close(); else open(); });
  if (!document.hidden) open();
}

// After signing in or out: another role may hear more. All else is read anew by who calls this.
export function restart() {
  fresh = true;
  open();
}
