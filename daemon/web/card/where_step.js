// SPDX-License-Identifier: Apache-2.0
// Why: where the feeder is: its place, and which birds there are. The forms are those of the settings.
import {mount} from "./bird_lists.js";
import {make} from "./dom.js";
import {text} from "./format.js";
import {mountPlace} from "./place.js";
import {loadSettings} from "./settings.js";

export function drawWhere(box) {
  const [place, region] = [make("div"), make("div")];
  box.append(make("p", {textContent: text("step_where_text")}), place, region);
  const end = mountPlace(place);
  // What the owner's files say is known with the settings; what is wrong with those stands on top of the page.
  loadSettings().catch(() => {}).then(() => mount(region, "region"));
  return end;
}
