// SPDX-License-Identifier: Apache-2.0
// Why: is the camera right? What it sees now, and the way to aim and focus it.
import {ask, send} from "./api.js";
import {byId, make} from "./dom.js";
import {text} from "./format.js";

const pause = 2000;  // ms between two pictures

export function drawCamera(box) {
  const words = make("p", {textContent: text("step_camera_text")});
  const image = make("img", {className: "step-picture", alt: text("picture_alt"), hidden: true});
  const aim = make("button", {type: "button", textContent: text("aim"), hidden: true, onclick: () => byId("aim").click()});
  box.append(words, image, make("p", {className: "buttons"}, aim));
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
    const {camera} = await ask("/api/v1/stats");
    if (camera.demonstration) words.textContent = text("step_camera_drawn");
    else if (camera.detail && camera.state !== "streaming") words.textContent = camera.detail;
  };
  const quietly = (task) => task().catch(() => {});  // what is wrong stands on top of the page
  quietly(tell);
  quietly(show);
  const timer = setInterval(() => quietly(show), pause);
  return () => {
    clearInterval(timer);
    if (url) URL.revokeObjectURL(url);
  };
}
