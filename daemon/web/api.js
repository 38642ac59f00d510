// SPDX-License-Identifier: Apache-2.0
// Why: how the page asks kingletd, and who it may be there.

// What the server refused, in its own words.
export class Problem extends Error {
  constructor(status, body) {
    super([body.detail || body.title || String(status), body.hint].filter(Boolean).join(" · "));
    this.status = status;
    this.slug = (body.type || "").split("/").pop();
  }
}

const wait = (milliseconds) => new Promise((done) => { setTimeout(done, milliseconds); });

// The answer, or a Problem; a TypeError when nobody answers. Too many requests at once are asked again.
export async function send(path, options = {}) {
  for (let turn = 0; ; ++turn) {
    const response = await fetch(path, {cache: "no-store", ...options});
    if (response.ok) return response;
    if (response.status === 429 && turn < 2 && !options.method) {
      await wait(1000 + 500 * Math.random());
      continue;
    }
    throw new Problem(response.status, await response.json().catch(() => ({})));
  }
}

// The body of a GET; null when there is none yet.
export async function ask(path) {
  const response = await send(path);
  return response.status === 204 ? null : response.json();
}

export function write(path, method, body, headers = {}) {
  return send(path, {method, headers: {...(body ? {"Content-Type": "application/json"} : {}), ...headers},
                     body: body && JSON.stringify(body)});
}

const ranks = ["open", "read", "live", "admin"];
let role = "";  // not known yet

export const may = (wanted) => ranks.indexOf(role) >= ranks.indexOf(wanted);
export function setRole(found) {
  const changed = role !== found;
  role = found;
  return changed;
}
