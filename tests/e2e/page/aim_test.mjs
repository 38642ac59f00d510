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

test("the less sharp, the shorter; the darker, the same", async () => {
  const page = await openPage(daemon.url);
  const address = await page.locator("script[type=module]").first().getAttribute("src");
  const measured = await page.evaluate(async (version) => {
    const {sharpnessOf} = await import(`/web/aim.js?${version}`);
    const side = 64;
    const drawn = (blur, light) => {
      const canvas = new OffscreenCanvas(side, side);
      const context = canvas.getContext("2d");
      context.filter = blur ? `blur(${blur}px)` : "none";
      for (let y = 0; y < side; y += 8) {
        for (let x = 0; x < side; x += 8) {
          const value = (x + y) % 16 ? 250 * light : 60 * light;
          context.fillStyle = `rgb(${value} ${value} ${value})`;
          context.fillRect(x, y, 8, 8);
        }
      }
      return sharpnessOf(context.getImageData(0, 0, side, side).data, side, side);
    };
    return {sharp: drawn(0, 1), soft: drawn(1, 1), softer: drawn(3, 1), dark: drawn(0, 0.4)};
  }, address.split("?")[1]);
  assert.ok(measured.sharp > 2 * measured.soft && measured.soft > 1.5 * measured.softer, JSON.stringify(measured));
  assert.ok(Math.abs(measured.dark / measured.sharp - 1) < 0.05, JSON.stringify(measured));
  await closeClean(page);
});
