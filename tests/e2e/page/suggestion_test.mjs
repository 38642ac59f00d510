// SPDX-License-Identifier: Apache-2.0
// Why: the owner is shown where birds come, has it looked at with one tap, or sends it away; nobody else sees it.
import assert from "node:assert/strict";
import {before, test} from "node:test";
import {assertAccessible, assertFits, claim, closeClean, desk, openPage, openTab, phone, picture, startDaemon} from "./support.mjs";

// A feeder takes hours to show where birds come, and the drawn scene has them everywhere: statistics as a device tells them
// then. tests/unit/gate/suggestion_test.cpp has when.
const suggestion = {box_ratio: {x: 0.25, y: 0.3, width: 0.4, height: 0.35}, tracks: 12, since: "2026-05-01T06:12:00.000Z"};

let daemon;
let headers;
before(async () => {
  daemon = await startDaemon();
  headers = await claim(daemon);
  await set({"look.propose": "motion"});
});

const config = async () => (await daemon.ask("/api/v1/config", {headers})).keys;

async function set(change) {
  const reply = await fetch(`${daemon.url}/api/v1/config`, {
    method: "PATCH", body: JSON.stringify(change), headers: {...headers, "If-Match": "*", "Content-Type": "application/merge-patch+json"}});
  assert.equal(reply.status, 200);
}

// No events, so that the page asks for the statistics.
async function suggest(page) {
  await page.route("**/api/v1/events?*", (route) => route.fulfill({status: 503}));
  await page.route("**/api/v1/stats", async (route) => {
    const response = await route.fetch();
    await route.fulfill({response, json: {...await response.json(), look: {suggestion}}});
  });
  await page.reload();
}

async function ownersPage(options) {
  const page = await openPage(daemon.url, {...options, expected: [/503/], headers, wait: null});
  await suggest(page);
  await page.locator("#suggestion:not([hidden])").waitFor();
  return page;
}

test("nobody but the owner sees it", async () => {
  const page = await openPage(daemon.url);
  page.expected.push(/503/);
  await suggest(page);
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
  const {box_ratio: box} = suggestion;
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
  await page.locator("#settings-newest", {hasText: /look\.propose .*\(motion\) → .*\(fixed\)/}).waitFor();
  await closeClean(page);
});
