// SPDX-License-Identifier: Apache-2.0
// Why: what only an owner does here: let another phone in, and have the camera look away for a while.
import {Problem, may, write} from "./api.js";
import {byId, setText, showProblem} from "./dom.js";
import {text} from "./format.js";

let paused = false;
let picture = null;  // the address of the QR code on this page

const problemOf = (error) => error instanceof Problem ? error : new Error(text("lost"));

export function showOwner() {
  setText("pause", text(paused ? "resume" : "pause"));
  if (!may("admin")) forget();
}

// As the camera's state comes by itself.
export function showPaused({camera, stats}) {
  const states = camera ? [camera.state] : (stats.cameras || [stats.camera]).map(({state}) => state);
  // All pause together; one that gives no frames does not say so.
  if (states.includes("paused")) paused = true;
  else if (!camera || states.includes("streaming")) paused = false;
  showOwner();
}

// A link lets in whoever sees it: it goes when it is no longer wanted.
function forget() {
  if (picture) URL.revokeObjectURL(picture);
  picture = null;
  byId("invitation").hidden = true;
  byId("invitation-code").removeAttribute("src");
  byId("invitation-link").value = "";
}

async function invite() {
  try {
    const made = await (await write("/api/v1/invitations", "POST", {role: "live"})).json();
    forget();
    if (made.qr_svg) {
      picture = URL.createObjectURL(new Blob([made.qr_svg], {type: "image/svg+xml"}));
      byId("invitation-code").src = picture;
    }
    byId("invitation-code").hidden = !picture;
    byId("invitation-link").value = made.link;
    byId("invitation").hidden = false;
    byId("invitation-link").focus();
    showProblem("owner-problem", null);
  } catch (error) {
    showProblem("owner-problem", problemOf(error));
  }
}

async function turn() {
  try {
    const answer = await (await write(`/api/v1/control/${paused ? "resume" : "pause"}`, "POST")).json();
    paused = answer.paused;
    showProblem("owner-problem", null);
  } catch (error) {
    showProblem("owner-problem", problemOf(error));
  }
  showOwner();
}

export function prepareOwner() {
  byId("pause").addEventListener("click", turn);
  byId("invite").addEventListener("click", invite);
  byId("invitation-done").addEventListener("click", () => { forget(); byId("invite").focus(); });
}
