// SPDX-License-Identifier: Apache-2.0
// Why: where birds come, as the device has seen it, drawn over the live picture: the owner has only that looked at with one
// tap, or sends it away. Nobody else sees it, nor does it come where the owner's files or the owner have said where to look.
import {may, Problem} from "./api.js";
import {isFirst} from "./cameras.js";
import {byId, setText, showProblem} from "./dom.js";
import {moment, number, text} from "./format.js";
import {onSettings, setKeys, settable, valueOf} from "./settings.js";

const dismissedKey = "kinglet-suggestion-dismissed";
let suggestion = null;

function dismissed() {
  try { return localStorage.getItem(dismissedKey); } catch { return null; }
}

const isWanted = () => suggestion && isFirst() && may("admin") && settable("look.propose") && settable("look.fixed") &&
  valueOf("look.propose") !== "fixed" && dismissed() !== suggestion.since && !byId("picture").hidden;

// The picture may leave bars at two sides of its frame.
function place() {
  const picture = byId("picture");
  const [width, height] = [picture.clientWidth, picture.clientHeight];
  const scale = Math.min(width / picture.naturalWidth, height / picture.naturalHeight);
  if (!(scale > 0) || !Number.isFinite(scale)) return false;
  const [wide, high] = [picture.naturalWidth * scale, picture.naturalHeight * scale];
  const {x, y, width: w, height: h} = suggestion.box_ratio;
  const style = byId("suggestion-box").style;
  style.left = `${(width - wide) / 2 + x * wide}px`;
  style.top = `${(height - high) / 2 + y * high}px`;
  style.width = `${w * wide}px`;
  style.height = `${h * high}px`;
  return true;
}

function render() {
  const shown = Boolean(isWanted() && place());
  byId("suggestion").hidden = !shown;
  byId("suggestion-box").hidden = !shown;
  if (!shown) return;
  setText("suggestion-text", text("suggestion", {count: number(suggestion.tracks), when: moment(suggestion.since)}));
}

// As the statistics come.
export function showSuggestion({stats}) {
  suggestion = stats.look?.suggestion || null;
  render();
}

// Another camera is seen, or the first again.
export const placeSuggestion = () => render();

async function take() {
  const {x, y, width, height} = suggestion.box_ratio;
  try {
    await setKeys({"look.propose": "fixed", "look.fixed": [[x, y, width, height]]});
    showProblem("suggestion-problem", null);
  } catch (error) {
    showProblem("suggestion-problem", error instanceof Problem ? error : new Error(error.message || text("lost")));
  }
}

function dismiss() {
  try { localStorage.setItem(dismissedKey, suggestion.since); } catch { /* a browser may keep nothing */ }
  suggestion = null;
  render();
  byId("now").focus();
}

export function prepareSuggestion() {
  byId("suggestion-take").addEventListener("click", take);
  byId("suggestion-dismiss").addEventListener("click", dismiss);
  byId("picture").addEventListener("load", render);
  addEventListener("resize", render);
  onSettings(render);
}
