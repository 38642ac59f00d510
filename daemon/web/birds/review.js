// SPDX-License-Identifier: Apache-2.0
// Why: what a person says of a visit. What changed since it was shown is not overwritten unseen.
import {send, write} from "./api.js";
import {text} from "./format.js";

const same = (one, other) => one.verdict === other.verdict && one.species_id === other.species_id && one.note === other.note;

async function tagOf(visit) {
  const response = await send(visit.links.self);
  const now = await response.json();
  if (!same(now.review, visit.review)) throw new Error(text("changed_meanwhile"));
  return response.headers.get("ETag");
}

// The visit as it is afterwards. bird: {species_id} of one that is known, {name} as it was typed; or nothing.
export async function review(visit, verdict, bird) {
  const wish = {verdict, ...bird};
  // A merge patch: what an earlier review said of the species goes, unless this one says it anew.
  if (!bird && visit.review.species_id) wish.species_id = null;
  const response = await write(visit.links.self, "PATCH", {review: wish}, {"If-Match": await tagOf(visit)});
  return response.json();
}

export async function remove(visit) {
  await write(visit.links.self, "DELETE", undefined, {"If-Match": await tagOf(visit)});
}
