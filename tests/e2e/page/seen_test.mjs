// SPDX-License-Identifier: Apache-2.0
// Why: silence can be seen: what was seen and not named is on the page with its reason, and the owner names it there.
import assert from "node:assert/strict";
import {writeFileSync} from "node:fs";
import {join} from "node:path";
import {before, test} from "node:test";
import {assertAccessible, assertFits, closeClean, desk, openPage, openTab, picture, quick, scratchFolder, startDaemon, until}
  from "./support.mjs";

let daemon;
before(async () => {
  // Nobody is sure enough.
  daemon = await startDaemon({sets: [...quick, "decide.min_score=1", "decide.genus_score=2"]});
  await until(async () => (await daemon.ask("/api/v1/tracks")).items.some((track) => track.outcome === "below_threshold"), "a track");
});

const row = (page) => page.locator("#seen-list li").first();

test("an empty list of visits says why, and what was seen is there with its reason", async () => {
  const page = await openPage(daemon.url, {tab: "visits"});
  await page.locator("#visits-empty", {hasText: /No visits yet\. \d[\d,]* images looked at: .* not sure enough\./}).waitFor();
  await page.locator("#visits-empty", {hasText: /would have been named with decide\.min_score = 0\.\d\d \(it is 1\.00\)\./}).waitFor();
  await row(page).waitFor();
  assert.match(await row(page).innerText(), /Maybe .*\n+not sure enough · \d+%, where 100% is wanted/);
  assert.equal(await row(page).locator("button").count(), 1, "a guest names nobody");
  await closeClean(page);
});

test("the owner names one with a tap, another by any name, and what is no bird goes", async () => {
  const page = await openPage(daemon.url, {size: desk});
  await page.locator("#claim").click();
  await openTab(page, "visits");
  await row(page).locator(".menu").waitFor();
  await page.waitForFunction(() => document.querySelector("#seen-list img")?.naturalWidth > 0);
  await assertAccessible(page, "seen, not named");
  await assertFits(page, "desk");
  await picture(page, "desk-seen");
  await row(page).locator("summary").click();
  const wished = (await row(page).locator(".menu button").first().innerText()).trim();
  await row(page).locator(".menu button").first().click();
  await page.locator("#visit-list .visit-name", {hasText: wished}).first().waitFor();
  await page.locator("#visit-list", {hasText: "Corrected by a person"}).waitFor();
  const count = async () => (await daemon.ask("/api/v1/tracks?limit=100")).items.filter((track) => track.outcome === "below_threshold").length;

  await until(async () => await count() > 0, "another track");
  await page.reload();
  await row(page).locator("summary").click();
  await row(page).getByRole("button", {name: "Other…"}).click();
  await page.locator("#visit-dialog[open]").waitFor();
  assert.equal(await page.locator("#visit-remove").isVisible(), false);
  await page.locator("#other-name").fill("Golden demofinch");
  await page.keyboard.press("Enter");
  await until(async () => (await daemon.ask("/api/v1/visits")).items.some((visit) => visit.species_id === "golden-demofinch"), "the visit");

  await until(async () => await count() > 0, "a third track");
  await page.reload();
  const visits = (await daemon.ask("/api/v1/visits")).items.length;
  await row(page).waitFor();
  const key = await row(page).locator(".thumb").getAttribute("data-key");
  await row(page).locator("summary").click();
  await row(page).getByRole("button", {name: "Not a bird"}).click();
  await page.locator(`[data-key="${key}"]`).waitFor({state: "detached"});
  assert.equal((await daemon.ask("/api/v1/visits")).items.length, visits);
  await closeClean(page);
});

test("what the detector takes it for is said in the language of the page", async () => {
  // The drawn birds' detector, which calls them otherwise.
  const labels = join(scratchFolder(), "labels.txt");
  writeFileSync(labels, "Squirrel\n");
  const detecting = await startDaemon({sets: [...quick, "decide.min_score=1", "decide.genus_score=2", "look.propose=motion", "look.budget=0",
    `detector.path=${join(process.env.SOURCE_FOLDER, "models/demo/kinglet-demo-detector.onnx")}`, `detector.labels=${labels}`]});
  await until(async () => (await detecting.ask("/api/v1/tracks?limit=100")).items
    .some(({outcome, detector}) => outcome !== "background" && detector?.label === "Squirrel"), "a track with the detector's word");
  for (const [locale, words] of [["de-DE", "Eichhörnchen, sagt der Detektor"], ["ja-JP", "検出器では リス"]]) {
    const page = await openPage(detecting.url, {tab: "visits", locale});
    await page.locator("#seen-list", {hasText: words}).waitFor();
    await closeClean(page);
  }
});
