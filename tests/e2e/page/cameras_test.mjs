// SPDX-License-Identifier: Apache-2.0
// Why: of several cameras a person chooses the one to see; what is wrong says with which. Where there is one, nothing is to
// be chosen.
import assert from "node:assert/strict";
import {test} from "node:test";
import {assertAccessible, assertFits, claim, closeClean, openPage, openSettings, openTab, phone, quick, startDaemon, until} from "./support.mjs";

const sources = (...specs) => specs.map(([name, spec]) => `[[source]]\nname = "${name}"\nspec = "${spec}"\n`).join("");
const own = quick.filter((set) => !set.startsWith("source"));

test("where there is one camera, nothing is to be chosen", async () => {
  const daemon = await startDaemon();
  const page = await openPage(daemon.url);
  await page.locator("#state.good").waitFor();
  assert.equal(await page.locator("#camera-choice").isVisible(), false);
  assert.doesNotMatch(await page.locator("#state").textContent(), /:/);
  await closeClean(page);
});

test("of several each shows its own picture", async () => {
  const daemon = await startDaemon({sets: own, file: sources(["garden", "demo:1"], ["tree", "demo:2"])});
  const page = await openPage(daemon.url, {size: phone});
  await page.locator("#picture:not([hidden])").waitFor();
  assert.deepEqual(await page.locator("#camera-pick option").allTextContents(), ["garden", "tree"]);
  await assertAccessible(page, "a choice of cameras");
  await assertFits(page, "a choice of cameras");
  const other = page.waitForRequest(/stream\.mjpg.*source=tree/);
  await page.locator("#camera-pick").selectOption("tree");
  await other;
  await page.locator("#picture:not([hidden])").waitFor();
  assert.equal(await page.locator("#aim").isVisible(), false, "aiming speaks of the first");
  const first = page.waitForRequest((request) => /stream\.mjpg/.test(request.url()) && !/source=/.test(request.url()));
  await page.locator("#camera-pick").selectOption("garden");
  await first;
  await page.locator("#aim").waitFor();
  await closeClean(page);
});

test("a setting of the first camera alone says so", async () => {
  const daemon = await startDaemon({sets: own, file: sources(["garden", "demo:"], ["tree", "demo:"])});
  const headers = await claim(daemon);
  const page = await openSettings(daemon, headers, "#settings-list");
  await page.locator("#settings-changed").uncheck();
  const words = "of the camera garden alone";
  for (const key of ["gate.region", "privacy.masks", "source.fps"]) {
    await page.locator(`[data-key="${key}"]`, {hasText: words}).waitFor();
  }
  assert.equal(await page.locator('[data-key="gate.max_fps"]', {hasText: words}).count(), 0);
  await closeClean(page);
});

test("it says so, too, where the statistics come after the settings", async () => {
  const daemon = await startDaemon({sets: own, file: sources(["garden", "demo:"], ["tree", "demo:"])});
  const page = await openSettings(daemon, await claim(daemon), "#settings-list");
  await page.locator("#settings-changed").uncheck();
  let come;
  const late = new Promise((done) => { come = done; });
  await page.route(/\/api\/v1\/(stats|events)/, async (route) => { await late; await route.continue(); });
  await page.reload();
  await page.locator("#owner", {hasText: /./}).waitFor({state: "attached"});  // who asks is known
  await openTab(page, "birds");
  await openTab(page, "settings");
  await page.locator("#settings-changed").uncheck();
  const key = page.locator('[data-key="gate.region"]');
  await key.waitFor();
  const words = /of the camera garden alone/;
  assert.doesNotMatch(await key.textContent(), words);
  come();
  await until(async () => words.test(await key.textContent()), "the note");
  await closeClean(page);
});

test("what is wrong says with which camera", async () => {
  const daemon = await startDaemon({sets: own, file: sources(["garden", "demo:1"], ["tree", "images:/no/such/folder"])});
  const page = await openPage(daemon.url, {wait: "#troubles:not([hidden])"});
  page.expected.push(/503/);
  await until(async () => /Camera tree: [\s\S]*\/no\/such\/folder/.test(await page.locator("#trouble-list").innerText()), "its name");
  assert.match(await page.locator("#state").textContent(), /^tree: /);
  await page.locator("#picture:not([hidden])").waitFor();
  await page.locator("#camera-pick").selectOption("tree");
  await until(async () => /no frame/.test(await page.locator("#no-picture").textContent()), "the reason in the picture's place");
  await page.locator("#camera-pick").selectOption("garden");
  await page.locator("#picture:not([hidden])").waitFor();
  await closeClean(page);
});
