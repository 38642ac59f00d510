// SPDX-License-Identifier: Apache-2.0
// Why: what a person sees first, and in which language, by day and by night.
import assert from "node:assert/strict";
import {before, test} from "node:test";
import {assertFits, closeClean, desk, endedVisit, openPage, openTab, phone, picture, startDaemon, until} from "./support.mjs";

let daemon;
before(async () => {
  daemon = await startDaemon();
  await endedVisit(daemon);
});

const isSeen = (page, selector) => page.locator(selector).evaluate((node) => {
  const box = node.getBoundingClientRect();
  return box.width > 0 && box.top >= 0 && box.bottom <= innerHeight && box.right <= innerWidth;
});

test("a phone shows the picture, the answer and today's birds without scrolling", async () => {
  const page = await openPage(daemon.url);
  await page.locator("#visitors img").first().waitFor();
  await page.locator("#picture:not([hidden])").waitFor();
  await page.waitForFunction(() => document.getElementById("picture").naturalWidth > 0);
  for (const part of ["#picture", "#name", "#top", "#state", "#tabs", "#visitors li:first-child button"]) assert.ok(await isSeen(page, part), part);
  await assertFits(page, "phone");
  const high = await page.evaluate(() => document.documentElement.scrollHeight);
  assert.ok(high < 3 * phone.height, `${high} px are no longer a screen of birds`);
  await closeClean(page);
});

test("the first picture does not wait for the rest of the page", async () => {
  const page = await openPage("about:blank", {wait: null});
  let release;
  const held = new Promise((done) => { release = done; });
  await page.route("**/web/texts.js*", async (route) => { await held; await route.continue(); });
  await page.goto(daemon.url, {waitUntil: "commit"});
  await page.waitForFunction(() => document.getElementById("picture")?.naturalWidth === 640);
  assert.equal(await page.locator("#name").textContent(), "\u00a0");
  release();
  await page.locator("#name:not(:text-is('\u00a0'))").waitFor();
  await page.context().close();
});

// At 1 Mbit/s a second brings 125 kB. The bytes decide, the time that Chromium's emulated link took is printed.
test("over 1 Mbit/s the first picture is there within a second", async () => {
  const page = await openPage("about:blank", {wait: null});
  const link = await page.context().newCDPSession(page);
  await link.send("Network.enable");
  await link.send("Network.emulateNetworkConditions",
                  {offline: false, latency: 20, downloadThroughput: 125000, uploadThroughput: 125000});
  await page.addInitScript(() => {
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (entry.element?.id === "picture") window.pictureSeen ??= entry.renderTime;
    }).observe({type: "largest-contentful-paint", buffered: true});
  });
  await page.goto(daemon.url, {waitUntil: "commit"});
  const seen = await (await page.waitForFunction(() => window.pictureSeen)).jsonValue();
  const {kilobytes, words} = await page.evaluate((end) => {
    const loaded = performance.getEntries().filter((entry) => entry.transferSize && entry.responseEnd <= end);
    return {kilobytes: loaded.reduce((sum, entry) => sum + entry.transferSize, 0) / 1000,
            words: performance.getEntriesByName("first-contentful-paint")[0].startTime};
  }, seen);
  console.log(`first words after ${Math.round(words)} ms, the picture after ${Math.round(seen)} ms and ${kilobytes.toFixed(1)} kB`);
  assert.ok(kilobytes > 10 && kilobytes < 60, `${kilobytes} kB`);
  await page.context().close();
});

test("the picture is live", async () => {
  const page = await openPage(daemon.url);
  const seen = new Set();
  await until(async () => seen.add(await page.locator("#picture").getAttribute("src")) && seen.size > 3, "new pictures");
  await closeClean(page);
});

test("speed, visitors, hours, visits, species and health are those of the API", async () => {
  const page = await openPage(daemon.url, {size: desk});
  await page.waitForFunction(() => [...document.querySelectorAll("#visitors img")].some((image) => image.naturalWidth > 0));
  await picture(page, "desk");
  await page.waitForFunction(() => /\d/.test(document.getElementById("rate").textContent));
  assert.match(await page.locator("#latency").textContent(), /^[\d.]+ ms$/);
  assert.match(await page.locator("#health-list").textContent(), /kinglet-demo/);
  const [{common_name: seen}] = (await daemon.ask("/api/v1/species")).items;
  for (const [tab, lists] of [["birds", ["#visitors", "#hours"]], ["species", ["#species-rows"]], ["visits", ["#visit-list"]]]) {
    await openTab(page, tab);
    for (const list of lists) await until(async () => (await page.locator(list).innerText()).includes(seen), `${seen} in ${list}`);
    await picture(page, `desk-${tab}`);
  }
  assert.ok(await page.locator("#hours .strip rect").count() >= 24);
  await openTab(page, "device");
  await page.waitForFunction(() => /images a second/.test(document.getElementById("rate-chart").getAttribute("aria-label")));
  await picture(page, "desk-device");
  await closeClean(page);
});

test("a new visit comes to the page by itself", async () => {
  const page = await openPage(daemon.url, {tab: "visits"});
  await page.locator("#visit-list li").first().waitFor();
  const first = await page.locator("#visit-list li").first().getAttribute("data-id");
  await until(async () => await page.locator("#visit-list li").first().getAttribute("data-id") !== first, "another visit");
  await until(async () => (await page.locator("#announcement").textContent()).endsWith("is here"), "the announcement");
  const fresh = await page.locator("#visit-list li").first().getAttribute("data-id");
  await page.waitForFunction((id) => document.querySelector(`[data-id="${id}"] img`)?.naturalWidth > 0, fresh);
  await closeClean(page);
});

test("what did not change is not drawn anew", async () => {
  const page = await openPage(daemon.url, {tab: "visits"});
  await page.locator("#visit-list li").nth(1).waitFor();
  const {id} = await endedVisit(daemon);
  const row = await page.locator(`[data-id="${id}"]`).elementHandle();
  const first = await page.locator("#visit-list li").first().getAttribute("data-id");
  await until(async () => await page.locator("#visit-list li").first().getAttribute("data-id") !== first, "another visit");
  assert.ok(await row.evaluate((node) => node.isConnected));
  await closeClean(page);
});

test("where no place is left for events the page goes on by asking", async () => {
  const gone = new AbortController();
  for (let i = 0; i < 3; ++i) await fetch(`${daemon.url}/api/v1/events?types=camera`, {signal: gone.signal});
  const page = await openPage(daemon.url);
  page.expected.push(/503.*events/);
  const total = async () => (await page.locator("#counts").textContent());
  const before = await total();
  await until(async () => await total() !== before, "new counts");
  gone.abort();
  await closeClean(page);
});

test("every language has its own words and fits a phone", async () => {
  for (const [locale, code, word] of [["de-DE", "de", "Heute"], ["fr-FR", "fr", "Aujourd'hui"], ["es-MX", "es", "Hoy"],
                                      ["ja-JP", "ja", "今日"], ["zh-CN", "zh", "今天"], ["pt-BR", "en", "Today"]]) {
    const page = await openPage(daemon.url, {locale});
    assert.equal(await page.locator("html").getAttribute("lang"), code);
    await until(async () => await page.locator("#day-title").textContent() === word, `${word} for ${locale}`);
    await page.locator("#visitors li").first().waitFor();
    if (code !== "en") await picture(page, `phone-${code}`);
    for (const tab of ["visits", "species", "device", "settings", "birds"]) {
      await openTab(page, tab);
      await assertFits(page, `${tab}, ${locale}`);
    }
    const [shown, needed] = await page.locator("#tabs").evaluate((tabs) => [tabs.clientWidth, tabs.scrollWidth]);
    assert.equal(needed, shown, `the tabs, ${locale}`);
    await closeClean(page);
  }
});

test("a chosen language stays", async () => {
  const page = await openPage(daemon.url);
  await page.locator("#language").selectOption("de");
  assert.equal(await page.locator("#day-title").textContent(), "Heute");
  await page.reload();
  await page.locator("#visitors li").first().waitFor();
  assert.equal(await page.locator("html").getAttribute("lang"), "de");
  assert.equal(await page.locator("#figures-title").textContent(), "Tempo");
  await closeClean(page);
});

test("it is dark where the system is", async () => {
  const paper = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number)[0]);
  const light = await openPage(daemon.url, {size: phone});
  const dark = await openPage(daemon.url, {size: phone, scheme: "dark"});
  assert.ok(await paper(light) > 200 && await paper(dark) < 60);
  await picture(light, "phone-light");
  await picture(dark, "phone-dark");
  await closeClean(light);
  await closeClean(dark);
});

test("the day before is one press away, and so is the way back", async () => {
  const page = await openPage(daemon.url);
  await page.locator("#visitors li").first().waitFor();
  await page.locator("#day-before").click();
  await page.locator("#day-empty:not([hidden])").waitFor();
  assert.equal(await page.locator("#day-empty").textContent(), "Nobody came on this day.");
  assert.match(await page.evaluate(() => location.hash), /^#birds\/\d{4}-\d\d-\d\d$/);
  await page.locator("#day-after").click();
  await page.locator("#visitors li").first().waitFor();
  assert.equal(await page.locator("#day-title").textContent(), "Today");
  await closeClean(page);
});
