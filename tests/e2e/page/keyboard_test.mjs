// SPDX-License-Identifier: Apache-2.0
// Why: a new owner who has a keyboard and no pointer gets through the first card and its forms to the end.
import assert from "node:assert/strict";
import {test} from "node:test";
import {closeClean, openPage, quick, startDaemon, until} from "./support.mjs";

const steps = 120;  // more than the page has places to stop at

const focused = (page) => page.evaluate(() => {
  const at = document.activeElement;
  const label = at.labels?.[0]?.textContent;
  return (at.getAttribute("aria-label") || label || at.textContent).trim();
});

// Goes on by `key` until what has the focus is called so.
async function go(page, name, key = "Tab") {
  const passed = [];
  for (let step = 0; step < steps; ++step) {
    const at = await focused(page);
    if (at.startsWith(name)) return;
    passed.push(at.slice(0, 30));
    await page.keyboard.press(key);
  }
  assert.fail(`${name} is not reached: ${passed.join(" | ")}`);
}

const press = async (page, name) => {
  await go(page, name);
  await page.keyboard.press("Enter");
};

const title = (page, text) => page.locator("#first-card").getByRole("heading", {name: text}).waitFor();

test("from a new device to a place, a list, a language and a service of messages without a pointer", async () => {
  const daemon = await startDaemon({sets: quick});
  const page = await openPage(daemon.url);
  await press(page, await page.locator("#claim").innerText());
  await title(page, "Is the camera right?");
  await press(page, "Next");
  await title(page, "Which birds?");
  await press(page, "Next");

  await title(page, "Where is the feeder?");
  await page.locator("#first-card").getByLabel("Birds of your region").waitFor();
  await go(page, "Latitude and longitude");
  await page.keyboard.type("52.52, 13.41");
  await press(page, "Save");
  await page.locator("#first-card").getByText("Kept.").waitFor();
  await go(page, "Birds of your region");
  await page.keyboard.type("Golden demofinch\n");
  await press(page, "Save");
  await page.locator("#first-card").getByText("1 of the model's birds").waitFor();
  await press(page, "Next");

  await title(page, "Which language?");
  await go(page, "Language");
  await page.keyboard.press("ArrowDown");
  await title(page, "Welche Sprache?");
  await go(page, "Sprache");
  await page.keyboard.press("ArrowUp");
  await title(page, "Which language?");
  await press(page, "Next");

  await title(page, "Messages to the phone?");
  await go(page, "Service");
  await page.keyboard.press("ArrowDown");
  await page.locator("#first-card").getByLabel("Id of the chat").waitFor();
  await go(page, "Id of the chat");
  await page.keyboard.type("-1234");
  await go(page, "Token of your bot");
  await page.keyboard.type("123:secret");
  await press(page, "Save");
  await until(async () => (await focused(page)) === "Send me one now: telegram", "the new service has the focus");
  await press(page, "Done");
  await page.locator("#first-card[hidden]").waitFor({state: "attached"});
  assert.equal(await page.evaluate(() => document.activeElement.id), "content", "the focus is not lost with the card");

  await go(page, "Birds", "Shift+Tab");
  await go(page, "Settings", "ArrowRight");
  await press(page, "Which language?");
  await title(page, "Which language?");
  await press(page, "Done");
  assert.equal(await focused(page), "Which language?", "the focus is where the step was asked for");
  await closeClean(page);
});
