// SPDX-License-Identifier: Apache-2.0
// Why: a clip plays where the visit is shown: in its own size, in the time it took, and can be held and gone through.
import assert from "node:assert/strict";
import {before, test} from "node:test";
import {assertAccessible, assertFits, closeClean, openPage, phone, picture, quick, startDaemon, until} from "./support.mjs";

let daemon;
let visit;
before(async () => {
  daemon = await startDaemon({sets: [...quick, "store.clips=2s"]});
  visit = await withClip(daemon);
});

const withClip = (device) => until(async () => (await device.ask("/api/v1/visits")).items.find((one) => one.links.clip_file), "a clip");

async function opened(size, device = daemon, {id} = visit) {
  const page = await openPage(device.url, {tab: "visits", size});
  await page.locator(`[data-key="${id} picture"]`).click();
  await page.getByRole("button", {name: "Play the clip"}).click();
  await page.locator("#clip").waitFor();
  return page;
}
const at = (page) => page.locator("#clip-at").evaluate((bar) => Number(bar.value));
const drawn = (page) => page.locator("#clip-picture").evaluate((canvas) => canvas.toDataURL());

test("it plays to its end in the time it took", async () => {
  const page = await opened(phone);
  const end = await page.locator("#clip-at").evaluate((bar) => Number(bar.max));
  assert.ok(end > 2, `${end + 1} pictures`);
  await until(async () => await at(page) === end, "the end");
  await page.getByRole("button", {name: "Play", exact: true}).waitFor();
  // Once more, by the page's own clock: no picture before its time, and in the later half one that is not late by much. A busy
  // machine shows some late; what is played too slowly has them all late there.
  const {first, shown} = await page.locator("#clip-at").evaluate((bar) => new Promise((done) => {
    const found = {first: null, shown: []};
    const began = performance.now();
    new MutationObserver(() => {
      const [seconds, whole] = bar.getAttribute("aria-valuetext").match(/[\d.]+/g).map(Number);
      found.first ??= document.getElementById("clip-picture").toDataURL();
      found.shown.push({seconds, whole, late: (performance.now() - began) / 1000 - seconds});
      if (bar.value === bar.max) done(found);
    }).observe(bar, {attributeFilter: ["aria-valuetext"]});
    document.getElementById("clip-play").click();
  }));
  const later = shown.filter(({seconds, whole}) => seconds >= whole / 2);
  assert.ok(shown.every(({late}) => late > -0.1), JSON.stringify(shown));  // seconds have one decimal
  assert.ok(later.some(({late, whole}) => late < whole / 4), JSON.stringify(shown));
  assert.notEqual(await drawn(page), first);
  await page.getByRole("button", {name: "Play", exact: true}).waitFor();
  await assertFits(page, "a clip");
  await picture(page, "phone-clip");
  await closeClean(page);
});

// The file with its first pictures spoilt.
async function spoilt(page, count) {
  await page.route(`**${visit.links.clip_file}`, async (route) => {
    const body = Buffer.from(await (await fetch(daemon.url + visit.links.clip_file)).arrayBuffer());
    for (let at = body.indexOf("movi") + 4, done = 0; done < count && body.toString("latin1", at, at + 4) === "00dc";) {
      const size = body.readUInt32LE(at + 4);
      if (size > 0) ++done;
      body.fill(0, at + 8, at + 8 + size);
      at += 8 + size + size % 2;
    }
    await route.fulfill({body, contentType: "video/x-msvideo"});
  });
}
async function openedSpoilt(count) {
  const page = await openPage(daemon.url, {tab: "visits", size: phone});
  await spoilt(page, count);
  await page.locator(`[data-key="${visit.id} picture"]`).click();
  // What was drawn before, of another visit.
  await page.locator("#clip-picture").evaluate((canvas) => {
    canvas.getContext("2d").fillRect(0, 0, 300, 150);
    const clip = document.getElementById("clip");
    new MutationObserver(() => {
      window.atFirst ??= {width: canvas.width, at: document.getElementById("clip-at").value};
    }).observe(clip, {attributeFilter: ["hidden"]});
  });
  await page.getByRole("button", {name: "Play the clip"}).click();
  return page;
}

test("it begins with the first picture that can be drawn", async () => {
  const page = await openedSpoilt(1);
  await page.locator("#clip").waitFor();
  assert.deepEqual(await page.evaluate(() => window.atFirst), {width: 1280, at: "1"});
  await closeClean(page);
});

test("it says so when none of its pictures can be drawn", async () => {
  const page = await openedSpoilt(Infinity);
  await page.getByText("There is no picture in this clip.").waitFor();
  assert.equal(await page.locator("#clip").isVisible(), false);
  assert.equal(await page.locator("#visit-picture").isVisible(), true);
  await closeClean(page);
});

test("it is held, gone through by keyboard, and as large as its pictures where there is room", async () => {
  const page = await opened({width: 1440, height: 1000});
  await page.getByRole("button", {name: "Pause", exact: true}).click();
  const held = await at(page);
  await page.waitForTimeout(700);
  assert.equal(await at(page), held);
  await page.locator("#clip-at").focus();
  await page.keyboard.press("Home");
  const first = await drawn(page);
  await page.keyboard.press("End");
  await until(async () => await drawn(page) !== first, "the last picture");
  assert.match(await page.locator("#clip-at").getAttribute("aria-valuetext"), /^([\d.]+) of \1 s$/);
  const {shown, own} = await page.locator("#clip-picture").evaluate((canvas) => ({shown: canvas.clientWidth, own: canvas.width}));
  assert.ok(shown >= own, `${shown} of ${own} pixels`);
  await assertAccessible(page, "a clip");
  await picture(page, "desk-clip");
  await page.keyboard.press("Escape");
  await page.locator("#visit-dialog:not([open])").waitFor({state: "attached"});
  assert.equal(await page.locator("#clip").isVisible(), false);
  await closeClean(page);
});

async function closed(page) {
  await page.keyboard.press("Escape");
  await page.locator("#visit-dialog:not([open])").waitFor({state: "attached"});
}

// The same visit once more: its picture, and nothing of the clip that was closed before it played.
async function assertAnew(page) {
  await page.locator(`[data-key="${visit.id} picture"]`).click();
  await page.locator("#visit-dialog[open]").waitFor();
  assert.equal(await page.getByRole("button", {name: "Play the clip"}).isEnabled(), true);
  for (const [id, seen] of [["visit-picture", true], ["clip", false], ["visit-problem", false]]) {
    assert.equal(await page.locator(`#${id}`).isVisible(), seen, id);
  }
  assert.equal(await page.locator("#visit-dialog").evaluate((dialog) => dialog.style.width), "");
}

test("closed while it comes, it is not fetched any more", async () => {
  const page = await openPage(daemon.url, {tab: "visits", size: phone});
  let asked = false;
  let ended = false;
  const itsEnd = () => until(() => ended, "the end of the request");
  await page.route(`**${visit.links.clip_file}`, async (route) => {
    asked = true;
    await itsEnd();
    await route.abort().catch(() => {});
  });
  page.on("requestfailed", (request) => { ended ||= request.url().endsWith(visit.links.clip_file); });
  await page.locator(`[data-key="${visit.id} picture"]`).click();
  await page.getByRole("button", {name: "Play the clip"}).click();
  await until(() => asked, "the request");
  await closed(page);
  await itsEnd();
  await assertAnew(page);
  await closeClean(page);
});

test("closed while its first picture is drawn, it does not play", async () => {
  const page = await openPage(daemon.url, {tab: "visits", size: phone});
  await page.evaluate(() => {
    const own = createImageBitmap;
    window.held = new Promise((done) => {
      window.createImageBitmap = (blob) => new Promise((drawn) => { done(() => drawn(own(blob))); });
    });
  });
  await page.locator(`[data-key="${visit.id} picture"]`).click();
  await page.getByRole("button", {name: "Play the clip"}).click();
  await page.evaluate(() => window.held.then(() => {}));
  await closed(page);
  await page.evaluate(async () => {
    (await window.held)();
    await new Promise((done) => { setTimeout(done, 300); });
  });
  await assertAnew(page);
  await closeClean(page);
});

test("it has the size the camera gave, and each picture that was kept", async () => {
  const played = Buffer.from(await (await fetch(daemon.url + visit.links.clip)).arrayBuffer());
  const page = await opened(phone);
  const {width, height} = await page.locator("#clip-picture").evaluate((canvas) => ({width: canvas.width, height: canvas.height}));
  assert.deepEqual([width, height], [1280, 720]);
  const pictures = await page.locator("#clip-at").evaluate((bar) => Number(bar.max) + 1);
  assert.equal(pictures, played.toString("latin1").split("Content-Type: image/jpeg").length - 1);
  await closeClean(page);
});
