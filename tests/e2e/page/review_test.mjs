// SPDX-License-Identifier: Apache-2.0
// Why: the owner names visits right: with one tap, by keyboard, and never over somebody else's word.
import assert from "node:assert/strict";
import {before, test} from "node:test";
import {assertFits, claim, closeClean, endedVisit, openPage, openTab, picture, startDaemon, until} from "./support.mjs";

let daemon;
let headers;
before(async () => {
  daemon = await startDaemon();
  await endedVisit(daemon);
  headers = await claim(daemon);
});

async function ownersPage(options) {
  const page = await openPage(daemon.url, {tab: "visits", ...options, headers, wait: null});
  await page.locator("#visit-list .menu").first().waitFor();
  return page;
}

const ask = (id) => daemon.ask(`/api/v1/visits/${id}`);
const unreviewed = () => endedVisit({ask: (path) => daemon.ask(`${path}?review=unreviewed`)});

// The row of a visit that nobody has judged yet, wherever the list moves it.
async function unreviewedRow(page) {
  const {id} = await unreviewed();
  const row = page.locator(`[data-id="${id}"]`);
  while (!await row.count()) await page.locator("#more-visits").click();
  return {id, row};
}

// What the menu of a row offers.
async function say(row, name) {
  await row.locator("summary").click();
  await row.getByRole("button", {name, exact: true}).click();
}

test("its menu confirms a visit, and takes it back", async () => {
  const page = await ownersPage();
  const {id, row} = await unreviewedRow(page);
  await say(row, "Right");
  await row.getByText("Confirmed by a person").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.dataset.key), `${id} menu`);
  assert.equal((await ask(id)).review.verdict, "confirmed");
  await assertFits(page, "owner's phone");
  await picture(page, "phone-owner");
  await say(row, "Undo");
  await row.getByText("Confirmed by a person").waitFor({state: "detached"});
  assert.equal((await ask(id)).review.verdict, "none");
  await closeClean(page);
});

test("its menu gives the name that came second", async () => {
  const page = await ownersPage();
  const {id, row} = await unreviewedRow(page);
  const second = (await ask(id)).model_result.top[1];
  await row.locator("summary").click();
  await row.locator(`[data-key="${id} ${second.species_id}"]`).click();
  await row.getByText("Corrected by a person").waitFor();
  const visit = await ask(id);
  assert.deepEqual([visit.review.verdict, visit.species_id], ["corrected", second.species_id]);
  assert.equal(await row.locator(".visit-name b").textContent(), visit.common_name);
  // Confirmed afterwards, what was corrected before does not stay behind.
  await say(row, "Undo");
  await until(async () => !(await ask(id)).review.species_id, "a review without a species");
  await closeClean(page);
});

test("the page of a species tells whom it was taken for", async () => {
  const page = await ownersPage();
  const {id, row} = await unreviewedRow(page);
  const before = await ask(id);
  const second = before.model_result.top[1];
  await row.locator("summary").click();
  await row.locator(`[data-key="${id} ${second.species_id}"]`).click();
  await row.getByText("Corrected by a person").waitFor();
  await row.locator(".thumb").click();
  await page.getByRole("link", {name: "All about this species"}).click();
  await page.locator("#one-alike", {hasText: `Taken for ${before.common_name} · 1 ×`}).waitFor();
  page.expected.push(/404.*\/api\/v1\/species\//);  // no other visit of that one may be left
  await page.locator("#one-alike a").first().click();
  await page.locator(`#one-name:text-is("${before.common_name}")`).waitFor();
  await closeClean(page);
});

test("any other name is given by keyboard alone, and the focus comes back", async () => {
  const page = await ownersPage();
  const {id, row} = await unreviewedRow(page);
  await row.locator("summary").focus();
  await page.keyboard.press("Enter");
  await row.getByRole("button", {name: "Other…"}).focus();
  await page.keyboard.press("Enter");
  await page.locator("#visit-dialog[open]").waitFor();
  await page.locator("#other-name").focus();
  await page.keyboard.type("no such bird");
  await page.keyboard.press("Enter");
  await page.locator("#visit-problem", {hasText: "Nobody here knows “no such bird”."}).waitFor();
  await page.locator("#other-name").fill("");
  await page.keyboard.type("golden DEMOFINCH");
  await picture(page, "phone-visit");
  await page.keyboard.press("Enter");
  await until(async () => (await ask(id)).species_id === "golden-demofinch", "the new name");
  await page.locator("#visit-dialog:not([open])").waitFor({state: "attached"});
  assert.equal(await page.evaluate(() => document.activeElement.dataset.key), `${id} menu`);
  await closeClean(page);
});

test("a bird that the model does not have is offered in the page's language", async () => {
  const page = await ownersPage({locale: "de-DE"});
  const {id, row} = await unreviewedRow(page);
  await say(row, "Anderes …");
  await page.locator("#other-names option[value='Wacholderdrossel']").waitFor({state: "attached"});
  await page.locator("#other-name").fill("wacholderdrossel");
  await page.keyboard.press("Enter");
  await until(async () => (await ask(id)).species_id === "turdus-pilaris", "the new name");
  await row.getByText("Wacholderdrossel").waitFor();
  await closeClean(page);
});

test("a name that nobody knows is asked about once, kept as it is typed, and offered from then on", async () => {
  const page = await ownersPage();
  const {id, row} = await unreviewedRow(page);
  await say(row, "Other…");
  await page.locator("#other-name").fill("Mésange boréale");
  await page.keyboard.press("Enter");
  await page.locator("#visit-problem", {hasText: "Save again to keep it as it is typed."}).waitFor();
  assert.equal((await ask(id)).review.verdict, "none");
  await page.keyboard.press("Enter");
  await until(async () => (await ask(id)).species_id === "mesange-boreale", "the new name");
  await row.getByText("Mésange boréale").waitFor();
  await say(row, "Other…");
  await page.locator("#other-names option[value='Mésange boréale']").waitFor({state: "attached"});
  await closeClean(page);
});

test("what is no bird, and what is removed for good", async () => {
  const page = await ownersPage();
  const {id, row} = await unreviewedRow(page);
  await say(row, "Other…");
  await page.getByRole("button", {name: "Not a bird"}).click();
  await until(async () => (await ask(id)).review.verdict === "not_a_bird", "the verdict");
  await say(row, "Other…");
  page.once("dialog", (question) => question.dismiss());
  await page.locator("#visit-remove").click();
  assert.equal((await ask(id)).id, id);
  page.once("dialog", (question) => question.accept());
  await page.locator("#visit-remove").click();
  await until(async () => !await row.count(), "the row gone");
  assert.equal((await ask(id)).status, 404);
  await closeClean(page);
});

test("what somebody else said meanwhile is not overwritten", async () => {
  const page = await ownersPage();
  const {id, row} = await unreviewedRow(page);
  // Between the tap and the page's own change comes another's.
  await page.route(`**/api/v1/visits/${id}`, async (route) => {
    if ((await ask(id)).review.verdict === "none") {
      await fetch(`${daemon.url}/api/v1/visits/${id}`, {
        method: "PATCH", body: '{"review": {"verdict": "unknown"}}',
        headers: {"Content-Type": "application/json", "If-Match": "*", ...headers}});
    }
    await route.continue();
  });
  await say(row, "Right");
  await page.locator("#review-problem", {hasText: "Somebody changed this visit meanwhile"}).waitFor();
  await row.getByText("Unknown, says a person").waitFor();
  assert.equal((await ask(id)).review.verdict, "unknown");
  await closeClean(page);
});

test("a guest is offered nothing of it", async () => {
  const page = await openPage(daemon.url, {tab: "visits"});
  await page.locator("#visit-list li").first().waitFor();
  assert.equal(await page.locator("#visit-list .menu").count(), 0);
  await page.locator("#visit-list .thumb").first().click();
  await page.locator("#visit-dialog[open]").waitFor();
  assert.equal(await page.locator("#visit-form").isVisible(), false);
  await page.keyboard.press("Escape");
  await page.locator("#visit-dialog:not([open])").waitFor({state: "attached"});
  await closeClean(page);
});

test("settings are shown to the owner with their source", async () => {
  const page = await ownersPage();
  await openTab(page, "settings");
  const settings = page.locator("#settings-list");
  await settings.getByText("visits.end_after").waitFor();
  assert.match(await settings.textContent(), /gate\.max_fps30from --set/);
  assert.doesNotMatch(await settings.textContent(), /decide\.min_margin/);
  await page.locator("#settings-changed").uncheck();
  assert.match(await settings.textContent(), /decide\.min_margin.*from the default/);
  await closeClean(page);
});
