// SPDX-License-Identifier: Apache-2.0
// Why: is the camera right? What it sees now, and the way to aim and focus it; or a restart, which takes one that was connected.
import {ask, send} from "./api.js";
import {byId, make} from "./dom.js";
import {text, wordsOf} from "./format.js";
import {isAwaited, restart} from "./restart.js";

const pause = 2000;  // ms between two pictures

export function drawCamera(box) {
  const words = make("p", {textContent: text("step_camera_text")});
  const image = make("img", {className: "step-picture", alt: text("picture_alt"), hidden: true});
  const aim = make("button", {type: "button", textContent: text("aim"), hidden: true, onclick: () => byId("aim").click()});
  const told = make("p", {className: "soft", role: "status"});
  const problem = make("p", {className: "bad", role: "alert", hidden: true});
  const again = make("button", {type: "button", textContent: text("restart"), hidden: true, onclick: async () => {
    try {
      problem.hidden = true;
      await restart();
      told.textContent = text("restarting");
    } catch (error) {
      problem.textContent = wordsOf(error);
      problem.hidden = false;
    }
  }});
  box.append(words, image, told, problem, make("p", {className: "buttons"}, aim, again));
  let url = "";
  const show = async () => {
    if (document.hidden) return;
    const picture = await (await send("/snapshot.jpg?width=640")).blob();
    const old = url;
    url = URL.createObjectURL(picture);
    image.src = url;
    image.hidden = aim.hidden = false;
    if (old) URL.revokeObjectURL(old);
  };
  const tell = async () => {
    if (document.hidden) return;
    const {camera} = await ask("/api/v1/stats");
    if (!isAwaited()) told.textContent = "";
    again.hidden = !camera.demonstration;
    words.textContent = camera.demonstration ? text("step_camera_drawn")
      : camera.detail && camera.state !== "streaming" ? camera.detail : text("step_camera_text");
  };
  const quietly = (task) => task().catch(() => {});  // what is wrong stands on top of the page
  const look = () => {
    quietly(tell);
    quietly(show);
  };
  look();
  const timer = setInterval(look, pause);
  return () => {
    clearInterval(timer);
    if (url) URL.revokeObjectURL(url);
  };
}
