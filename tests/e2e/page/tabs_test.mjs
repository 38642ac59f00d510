// SPDX-License-Identifier: Apache-2.0
// Why: each part of the page has an address and a tab of its own, and asks for its content when it is opened.
import assert from "node:assert/strict";
import {before, test} from "node:test";
import {closeClean, endedVisit, openPage, openTab, startDaemon} from "./support.mjs";

let daemon;
before(async () => {
  daemon = await startDaemon();
  await endedVisit(daemon);
});

const shown = (page) => page.locator("[role=tabpanel]:visible").evaluateAll((panels) => panels.map((panel) => panel.id));
const chosen = (page) => page.locator("[role=tab][aria-selected=true]").getAttribute("href");

test("the address names the tab, back goes to the one before, and the part of a tab finds its tab", async () => {
  const page = await openPage(daemon.url, {tab: "species"});
  await page.locator("#species-rows tr").first().waitFor();
  assert.deepEqual([await shown(page), await chosen(page)], [["panel-species"], "#species"]);
  await openTab(page, "device");
  await page.goBack();
  await page.locator("#panel-species").waitFor();
  await page.evaluate(() => { location.hash = "#health"; });
  await page.locator("#panel-device").waitFor();
  assert.equal(await chosen(page), "#device");
  await page.evaluate(() => { location.hash = "#no-such-part"; });
  await page.locator("#panel-birds").waitFor();
  await closeClean(page);
});

test("an address shows one visit, once", async () => {
  const {id, common_name: name} = await endedVisit(daemon);
  const page = await openPage(daemon.url, {tab: `visits/${id}`});
  await page.locator("#visit-dialog[open]").waitFor();
  assert.equal(await page.locator("#visit-dialog-title").textContent(), name);
  await page.keyboard.press("Escape");
  assert.equal(await page.evaluate(() => location.hash), "#visits");
  await page.reload();
  await page.locator("#visit-list li").first().waitFor();
  assert.equal(await page.locator("#visit-dialog").isVisible(), false);
  await closeClean(page);
});

test("arrows, Home and End go through the tabs, one of which is in the order of the keyboard", async () => {
  const page = await openPage(daemon.url);
  await page.locator("#tab-birds").focus();
  for (const [key, tab] of [["ArrowRight", "visits"], ["ArrowLeft", "birds"], ["ArrowLeft", "settings"], ["Home", "birds"], ["End", "settings"]]) {
    await page.keyboard.press(key);
    await page.locator(`#panel-${tab}`).waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.id), `tab-${tab}`);
  }
  assert.equal(await page.locator("[role=tab][tabindex='0']").count(), 1);
  await closeClean(page);
});

test("a tab asks for its content when it is opened, and the live picture is asked for where it is seen", async () => {
  const page = await openPage(daemon.url);
  const asked = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await page.reload();
  await page.locator("#visitors li").first().waitFor();
  await page.waitForTimeout(1500);
  for (const path of ["/api/v1/species", "/api/v1/tracks", "/api/v1/stats/history"]) assert.ok(!asked.includes(path), path);
  const stream = page.waitForEvent("requestfailed", (request) => request.url().includes("/stream.mjpg"));
  await openTab(page, "species");
  await page.locator("#species-rows tr").first().waitFor();
  assert.ok(asked.includes("/api/v1/species"));
  await stream;
  const again = page.waitForRequest((request) => request.url().includes("/stream.mjpg"));
  await openTab(page, "birds");
  await again;
  await closeClean(page);
});
