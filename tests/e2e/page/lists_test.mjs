// SPDX-License-Identifier: Apache-2.0
// Why: birds are called as in the page's language or as their owner calls them, and the list of a region is pasted, matched
// and kept on the page.
import assert from "node:assert/strict";
import {writeFileSync} from "node:fs";
import {join} from "node:path";
import {before, test} from "node:test";
import {setTimeout} from "node:timers/promises";
import {assertAccessible, assertFits, claim, closeClean, openSettings, openTab, picture, quick, scratchFolder, startDaemon, until} from "./support.mjs";

const labels = ["Passer domesticus (House Sparrow)", "Cyanistes caeruleus (Eurasian Blue Tit)", "Turdus merula (Eurasian Blackbird)",
                "Parus major (Great Tit)", "Erithacus rubecula (European Robin)", "Fringilla coelebs (Common Chaffinch)",
                "Sitta europaea (Eurasian Nuthatch)", "Pica pica (Eurasian Magpie)", "background"];
const german = /^(Haussperling|Blaumeise|Amsel|Kohlmeise|Rotkehlchen|Buchfink|Kleiber|Elster|Passer|Cyanistes|Turdus)$/;

let daemon;
let headers;
before(async () => {
  const file = join(scratchFolder(), "labels.txt");
  writeFileSync(file, `${labels.join("\n")}\n`);
  daemon = await startDaemon({sets: [...quick, `model.labels=${file}`]});
  headers = await claim(daemon);
});

const ownersPage = (options) => openSettings(daemon, headers, "#settings-names textarea", options);

test("a German page says Haussperling, and another language its own name", async () => {
  const page = await ownersPage({locale: "de-DE"});
  await openTab(page, "visits");
  const first = page.locator("#visit-list .visit-name b").first();
  await first.waitFor();
  assert.match(await first.textContent(), german);
  await openTab(page, "species");
  const seen = page.locator("#species-rows th a");
  await until(async () => (await seen.allTextContents()).some((name) => german.test(name)), "a species in German");
  await openTab(page, "visits");
  await page.locator("#language").selectOption("ja");
  await until(async () => !german.test(await first.textContent()), "another language");
  await closeClean(page);
});

test("a region's list of which another model knows nothing is told, until there is another list", async () => {
  const state = scratchFolder();
  const first = await startDaemon({sets: quick, state});
  const owner = await claim(first);
  const kept = await fetch(`${first.url}/api/v1/region`, {method: "PUT", body: "Golden demofinch\n", headers: {...owner, "content-type": "text/plain"}});
  assert.equal(kept.status, 200);
  await first.stop();
  const file = join(scratchFolder(), "labels.txt");
  writeFileSync(file, `${labels.join("\n")}\n`);
  const other = await startDaemon({sets: [...quick, `model.labels=${file}`], state});
  const page = await openSettings(other, owner, "#settings-region textarea");
  const told = page.locator("#trouble-list", {hasText: "The model knows no bird on the list of your region"});
  await told.waitFor();
  await assertFits(page, "a list of which the model knows nothing");
  await page.locator("#settings-region").getByRole("textbox").fill("Turdus merula");
  await page.locator("#settings-region").getByRole("button", {name: "Save"}).click();
  await told.waitFor({state: "detached"});
  await closeClean(page);
});

test("what is typed into lists and place, and not saved, is there when the tab is opened again", async () => {
  const page = await ownersPage();
  const region = page.locator("#settings-region textarea");
  const place = page.locator("#settings-place input[type=text]");
  await page.locator("#settings-region [role=status] p").waitFor();
  await region.fill("Pica pica");
  await place.fill("52.5, 13.4");
  await openTab(page, "visits");
  await openTab(page, "settings");
  await page.locator("#settings-region [role=status] p").waitFor();
  assert.deepEqual([await region.inputValue(), await place.inputValue()], ["Pica pica", "52.5, 13.4"]);
  await page.locator("#language").selectOption("de");
  await page.locator("#settings-region", {hasText: "Vögel Ihrer Gegend"}).waitFor();
  await until(async () => await region.inputValue() === "Pica pica", "what was typed");
  assert.equal(await place.inputValue(), "52.5, 13.4");
  await closeClean(page);
});

test("a region's list is pasted, what is not found is told, and an empty one takes it away", async () => {
  const page = await ownersPage();
  page.expected.push(/422/);
  const form = page.locator("#settings-region form");
  await form.getByRole("textbox").fill("1. House Sparrow\n2. Blue Tit\n");
  await form.getByRole("button", {name: "Save"}).click();
  await form.getByText("1 of the model's birds · Names not found: 1").waitFor();
  await form.getByText("Which ones?").click();
  await form.getByText("Blue Tit · perhaps Eurasian Blue Tit").waitFor();
  assert.equal(await form.getByRole("textbox").inputValue(), "House Sparrow\nBlue Tit\n");
  await assertAccessible(page, "a list that was pasted");
  await assertFits(page, "a list that was pasted");
  await form.scrollIntoViewIfNeeded();
  await picture(page, "phone-region");
  await form.getByRole("textbox").fill("Dodo");
  await form.getByRole("button", {name: "Save"}).click();
  await form.getByRole("alert").getByText("knows none of its 1 names").waitFor();
  await form.getByRole("textbox").fill("");
  await form.getByRole("button", {name: "Save"}).click();
  await form.getByText("No list: every bird counts.").waitFor();
  assert.equal(await form.getByRole("textbox").inputValue(), "");
  await closeClean(page);
});

test("names of one's own are shown in every language as soon as they are kept", async () => {
  const page = await ownersPage({locale: "de-DE"});
  const form = page.locator("#settings-names form");
  const typed = page.locator("#settings-region textarea");
  await typed.fill("Blaumeise");
  await form.getByRole("textbox").fill(labels.slice(0, 8).map((label) => `${label.split(" (")[0]}\tRotflügelstärling`).join("\n"));
  await form.getByRole("button", {name: "Speichern"}).click();
  const told = form.getByText("Vögel mit eigenem Namen: 8");
  await told.waitFor();
  await (await page.waitForResponse((response) => response.url().endsWith("/api/v1/model"))).finished();  // the new names
  await setTimeout(500);
  assert.equal(await typed.inputValue(), "Blaumeise", "what was typed elsewhere stays");
  assert.ok(await told.isVisible(), "and what was told of the names");
  await openTab(page, "species");
  await until(async () => (await page.locator("#species-rows th a").allTextContents()).includes("Rotflügelstärling"), "an own name");
  await assertFits(page, "a long name in the table of species");
  await closeClean(page);
});
