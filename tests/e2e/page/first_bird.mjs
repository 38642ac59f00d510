// SPDX-License-Identifier: Apache-2.0
// Why: from an installed package to the first real bird that is named, as a person with a phone has it: every tap is counted.
// Run by cross/check-package with --first-bird, where FIRST_BIRD has what it needs to know, as JSON: the page's address, the
// names of the birds before the camera, how many commands installed it, and when these began and ended (seconds since 1970).
import assert from "node:assert/strict";
import {test} from "node:test";
import {closeClean, openPage, phone, picture} from "./support.mjs";

const {address, birds, begun, installed, commands} = JSON.parse(process.env.FIRST_BIRD);
const mostCommands = 1;
const mostTaps = 6;
const slow = {timeout: 300_000};  // the emulated processor of another architecture

test("the first real bird is named after one command and a few taps", async () => {
  const page = await openPage(address, {size: phone});
  page.setDefaultTimeout(slow.timeout);
  // Whoever is quick opens the page before the camera has given its first picture: those answers say so.
  page.expected.push(/status of 503 .*\/(snapshot\.jpg|stream\.mjpg|readyz)/);
  let taps = 0;
  const tap = async (target) => {
    await target.click();
    ++taps;
  };
  const card = page.locator("#first-card");
  await tap(page.locator("#claim"));
  await tap(card.getByRole("button", {name: "Next", exact: true}));
  const fetched = Date.now();
  await tap(card.getByRole("button", {name: "Fetch and use: inat-birds"}));
  await card.getByText("inat-birds names the birds now.").first().waitFor();
  const answers = Date.now();
  await tap(card.getByRole("button", {name: "Not now"}));
  const visitor = page.locator("#visitors li").filter({hasText: new RegExp(birds)}).first();
  await visitor.waitFor();
  const named = Date.now();
  const seconds = (from, to) => `${((to - from) / 1000).toFixed(0)} s`;
  const [name] = (await visitor.textContent()).match(new RegExp(birds));
  await picture(page, "first-bird");
  console.log(`first bird: ${name} after ${commands} command(s), ${taps} taps and ${seconds(begun * 1000, named)}: `
              + `${seconds(installed * 1000, named)} with the package installed, of which the model took ${seconds(fetched, answers)}`);
  assert.ok(commands <= mostCommands, `${commands} commands`);
  assert.ok(taps <= mostTaps, `${taps} taps`);
  await closeClean(page);
});
