// SPDX-License-Identifier: Apache-2.0
// Why: who this browser is to the device: the first owner, somebody with a token, or a guest of the house.
import {Problem, ask, may, setRole, write} from "./api.js";
import {byId, setText, showProblem} from "./dom.js";
import {whoAmI} from "./first.js";
import {moment, text} from "./format.js";

let session = null;
let onRole = () => {};

function show(found) {
  session = found;
  const changed = setRole(found.role);
  const ownerless = found.owned === false;
  byId("sign-in").hidden = may("live") && !ownerless;
  // Who can do nothing without it begins with it; a guest looks at birds, and is told where it is.
  const isGuest = may("read") && !may("live") && !found.claimable;
  byId("guest").hidden = !isGuest;
  setText("guest-text", text(ownerless ? "hour_over" : "guest"));
  const place = byId(isGuest ? "sign-in-for-guests" : may("live") ? "sign-in-last" : "sign-in-first");
  if (!place.contains(byId("sign-in"))) place.append(byId("sign-in"));
  document.body.classList.toggle("stranger", !may("read"));
  byId("claim").hidden = !found.claimable;
  byId("token-form").hidden = found.claimable;
  byId("sign-out").hidden = !found.token;
  setText("sign-in-text", text(found.claimable ? "nobody_owns" : ownerless ? "hour_over" : "stranger"));
  setText("owner", found.owner ? text("owned_since", {time: moment(found.owner.claimed_at), address: found.owner.claimed_from}) : "");
  if (changed) onRole();
}

export const loadSession = async () => show(await ask("/api/v1/session"));

async function become(wish) {
  try {
    show(await (await write("/api/v1/session", "POST", wish)).json());
    showProblem("sign-in-problem", null);
    byId("token").value = "";
  } catch (error) {
    showProblem("sign-in-problem", error instanceof Problem ? error : new Error(text("lost")));
    await loadSession().catch(() => {});
    // Where it is told may be on another tab by now.
    if (byId("sign-in").closest("[role=tabpanel][hidden]")) location.hash = "#sign-in";
  }
}

// The address of a token's link: used once, and gone from the address bar.
async function signInByAddress() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return;
  history.replaceState(null, "", location.pathname);
  await become({token});
}

// In the language chosen since.
export const showSession = () => { if (session) show(session); };

// `roleChanged()` is called whenever this person may do more or less than before.
export async function prepareSession(roleChanged) {
  onRole = roleChanged;
  byId("claim").addEventListener("click", () => become({claim: true}));
  byId("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    become({token: byId("token").value.trim()});
  });
  byId("sign-out").addEventListener("click", async () => {
    await write("/api/v1/session", "DELETE").catch(() => {});
    await loadSession().catch(() => {});
  });
  await signInByAddress();
  if (!session) show(await (await whoAmI).json());
}
