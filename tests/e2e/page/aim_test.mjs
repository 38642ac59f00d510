// SPDX-License-Identifier: Apache-2.0
// Why: the mode for aiming and focusing: full picture, grid, and a bar that is longest where the picture is sharp.
import assert from "node:assert/strict";
import {before, test} from "node:test";
import {assertFits, closeClean, openPage, picture, startDaemon, until} from "./support.mjs";

let daemon;
before(async () => { daemon = await startDaemon(); });

async function aiming() {
  const page = await openPage(daemon.url);
  await page.getByRole("button", {name: "Aim and focus"}).click();
  await page.waitForFunction(() => document.getElementById("aim-picture").naturalWidth === 1280);
  return page;
}

test("it shows the whole picture, a grid and a bar", async () => {
  const page = await aiming();
  await until(async () => /^\d+%$/.test(await page.locator("#sharpness-text").textContent()), "a sharpness");
  assert.ok(await page.locator("#sharpness").evaluate((meter) => meter.value > 0.2));
  const grid = page.getByRole("button", {name: "Grid"});
  const lines = page.locator("#aim-view path");
  assert.deepEqual([await grid.getAttribute("aria-pressed"), await lines.isVisible()], ["true", true]);
  // The grid lies on the picture, which is 16:9, and not on what is beside it.
  const box = await lines.evaluate((path) => { const {width, height} = path.getBoundingClientRect(); return width / height; });
  assert.ok(Math.abs(box - 16 / 9) < 0.02, `the grid is ${box}`);
  await picture(page, "phone-aim");
  await grid.click();
  assert.deepEqual([await grid.getAttribute("aria-pressed"), await lines.isVisible()], ["false", false]);
  await assertFits(page, "aiming");
  await closeClean(page);
});

test("the middle is magnified on wish", async () => {
  const page = await aiming();
  const width = () => page.locator("#aim-picture").evaluate((image) => image.getBoundingClientRect().width);
  const before = await width();
  await page.getByRole("button", {name: "Magnify the middle"}).click();
  assert.equal(await width(), 3 * before);
  await closeClean(page);
});

test("Escape ends it, gives the keyboard back and asks for smaller pictures again", async () => {
  const page = await aiming();
  const asked = page.waitForRequest((request) => request.url().includes("width=640"));
  await page.keyboard.press("Escape");
  await asked;
  await page.locator("#aim-dialog:not([open])").waitFor({state: "attached"});
  assert.equal(await page.evaluate(() => document.activeElement.id), "aim");
  await closeClean(page);
});

// What the page says of drawn squares. `move`: how far something with hard edges has moved since the frame before, or null.
async function judged(page, looks) {
  const address = await page.locator("script[type=module]").first().getAttribute("src");
  return page.evaluate(async ([version, wished]) => {
    const {judgeSquare} = await import(`/web/aim.js?${version}`);
    const side = 128;
    const drawn = ({blur = 0, light = 1, move = null}) => {
      const context = new OffscreenCanvas(side, side).getContext("2d");
      context.filter = blur ? `blur(${blur}px)` : "none";
      for (let y = 0; y < side; y += 8) {
        for (let x = 0; x < side; x += 8) {
          const value = (x + y) % 16 ? 250 * light : 60 * light;
          context.fillStyle = `rgb(${value} ${value} ${value})`;
          context.fillRect(x, y, 8, 8);
        }
      }
      context.filter = "none";
      for (let x = 0; move !== null && x < 48; x += 2) {
        context.fillStyle = x % 4 ? "#000" : "#fff";
        context.fillRect(x + move, 40, 2, 48);
      }
      return context.getImageData(0, 0, side, side).data;
    };
    return wished.map(([now, before]) => judgeSquare(drawn(now), side, before && judgeSquare(drawn(before), side, null).light).sharpness);
  }, [address.split("?")[1], looks]);
}

test("the less sharp, the shorter; the darker, the same", async () => {
  const page = await openPage(daemon.url);
  const still = (look) => [look, look];
  const [sharp, soft, softer, dark] = await judged(page, [{}, {blur: 1}, {blur: 3}, {light: 0.4}].map(still));
  assert.ok(sharp > 2 * soft && soft > 1.5 * softer, `${sharp}, ${soft}, ${softer}`);
  assert.ok(Math.abs(dark / sharp - 1) < 0.05, `${dark} of ${sharp}`);
  await closeClean(page);
});

test("what moves in the square is left out, and the lens being turned is not", async () => {
  const page = await openPage(daemon.url);
  const blurred = {blur: 2};
  const [alone, passing, standing, turned, nothing] = await judged(page, [
    [blurred, blurred], [{...blurred, move: 60}, blurred], [{...blurred, move: 60}, {...blurred, move: 60}], [{blur: 1.6}, blurred],
    [{}, null]]);
  assert.ok(standing > 2 * alone, "what stands there with hard edges would count");
  assert.ok(Math.abs(passing / alone - 1) < 0.15, `${passing} with somebody passing, ${alone} without`);
  assert.ok(turned > alone, `${turned} after a turn towards sharpness, ${alone} before`);
  assert.equal(nothing, null, "one frame alone does not tell what moves");
  await closeClean(page);
});
