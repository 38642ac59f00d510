// SPDX-License-Identifier: Apache-2.0
// Why: the owner is shown where birds come, has it looked at with one tap, or sends it away; nobody else sees it.
import assert from "node:assert/strict";
import {before, test} from "node:test";
import {assertAccessible, assertFits, closeClean, desk, openPage, openTab, phone, picture, startDaemon, until} from "./support.mjs";

let daemon;
let headers;
let suggested;
before(async () => {
  daemon = await startDaemon({sets: ["source=demo:5", "visits.end_after=1s", "gate.max_fps=30"]});
  const answer = await fetch(`${daemon.url}/api/v1/session`, {method: "POST", body: '{"claim": true}',
                                                              headers: {"Content-Type": "application/json"}});
  headers = {Cookie: answer.headers.get("set-cookie").split(";")[0], "Sec-Fetch-Site": "same-origin"};
  await set({"look.propose": "motion"});
  for (let minute = 0; minute < 3 && !suggested; ++minute) {
    suggested = await until(async () => (await daemon.ask("/api/v1/stats")).look?.suggestion, "a suggestion").catch(() => null);
  }
  assert.ok(suggested);
});

const config = async () => (await daemon.ask("/api/v1/config", {headers})).keys;

async function set(change) {
  const reply = await fetch(`${daemon.url}/api/v1/config`, {
    method: "PATCH", body: JSON.stringify(change), headers: {...headers, "If-Match": "*", "Content-Type": "application/merge-patch+json"}});
  assert.equal(reply.status, 200);
}

async function ownersPage(options) {
  const page = await openPage(daemon.url, {...options, wait: null});
  const [name, value] = headers.Cookie.split("=");
  await page.context().addCookies([{name, value, url: daemon.url}]);
  await page.reload();
  await page.locator("#suggestion:not([hidden])").waitFor();
  return page;
}

test("nobody but the owner sees it", async () => {
  const page = await openPage(daemon.url);
  await page.waitForTimeout(2500);
  assert.equal(await page.locator("#suggestion").isVisible(), false);
  await closeClean(page);
});

test("sent away it does not come back", async () => {
  const page = await ownersPage({size: phone});
  await page.getByRole("button", {name: "Not here"}).click();
  await page.locator("#suggestion").waitFor({state: "hidden"});
  await page.reload();
  await page.locator("#aim").waitFor();
  await page.waitForTimeout(2500);
  assert.equal(await page.locator("#suggestion").isVisible(), false);
  assert.equal(await page.locator("#suggestion-box").isVisible(), false);
  await closeClean(page);
});

test("it is drawn over the picture and taken with one tap", async () => {
  const page = await ownersPage({size: desk});
  const shown = await page.locator("#suggestion-box").boundingBox();
  const frame = await page.locator("#picture").boundingBox();
  const {box_ratio: box} = (await daemon.ask("/api/v1/stats")).look.suggestion;
  for (const [is, wanted] of [[shown.x, frame.x + box.x * frame.width], [shown.width, box.width * frame.width],
                              [shown.y, frame.y + box.y * frame.height], [shown.height, box.height * frame.height]]) {
    assert.ok(Math.abs(is - wanted) < frame.width * 0.06, `${is} is not ${wanted}`);
  }
  assert.match(await page.locator("#suggestion-text").textContent(), /\d+ times since /);
  await assertAccessible(page, "a suggestion");
  await assertFits(page, "a suggestion");
  await picture(page, "desk-suggestion");
  await page.getByRole("button", {name: "Look here"}).click();
  await page.locator("#suggestion").waitFor({state: "hidden"});
  const keys = await config();
  assert.equal(keys["look.propose"].value, "fixed");
  assert.equal(keys["look.fixed"].value.length, 1);
  await openTab(page, "settings");
  await page.locator("#settings-newest", {hasText: "look.propose motion → fixed"}).waitFor();
  await closeClean(page);
});
