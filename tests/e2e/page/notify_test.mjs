// SPDX-License-Identifier: Apache-2.0
// Why: an owner says on the page who is to get messages, tries it, and takes it back; nobody else is shown any of it.
import assert from "node:assert/strict";
import {writeFileSync} from "node:fs";
import {join} from "node:path";
import {before, test} from "node:test";
import {assertAccessible, assertFits, claim, closeClean, openPage, openTab, picture, scratchFolder, startDaemon} from "./support.mjs";

const sets = ["source=images:/nowhere"];  // without visits nothing is sent to anybody
let daemon;
let headers;
before(async () => {
  daemon = await startDaemon({sets});
  headers = await claim(daemon);
});

const addButton = (page) => page.getByRole("button", {name: "Add a service"});
const services = async () => (await daemon.ask("/api/v1/notify", {headers})).items;

async function ownersPage(url = daemon.url, owner = headers) {
  const page = await openPage(url, {expected: [/503/], headers: owner, wait: null});  // there is no camera
  await openTab(page, "settings");
  await addButton(page).waitFor();
  return page;
}

test("a service is set, changed without its secret, and removed", async () => {
  const page = await ownersPage();
  await addButton(page).click();
  await page.getByLabel("Service").selectOption("telegram");
  await page.getByLabel("Id of the chat").fill("-1234");
  await page.getByLabel("Token of your bot").fill("123:secret");
  await page.getByText("api.telegram.org/botTOKEN/getUpdates").waitFor();
  await page.getByLabel("the first of the day").check();
  await page.getByLabel("Quiet hours").fill("22:00-07:00");
  await assertAccessible(page, "the form of a service of messages");
  await assertFits(page, "the form of a service of messages");
  await picture(page, "phone-messages");
  await page.locator("#notify-box").getByRole("button", {name: "Save"}).click();
  await page.getByRole("button", {name: "Change: telegram"}).waitFor();
  const [kept] = await services();
  assert.deepEqual([kept.to, kept.secret, kept.only, kept.quiet], ["-1234", true, ["first_today"], "22:00-07:00"]);
  await page.getByRole("button", {name: "Change: telegram"}).click();
  assert.equal(await page.getByLabel("Token of your bot").inputValue(), "", "a secret is not shown again");
  await page.getByLabel("Id of the chat").fill("-99");
  await page.locator("#notify-box").getByRole("button", {name: "Save"}).click();
  await page.locator(".notify-list", {hasText: "-99"}).waitFor();
  assert.equal((await services())[0].secret, true);
  await page.getByRole("button", {name: "Remove: telegram"}).click();
  await page.locator(".notify-list li").waitFor({state: "detached"});
  assert.deepEqual(await services(), []);
  await closeClean(page);
});

test("who wants the digest alone gets no message of each visitor", async () => {
  const page = await ownersPage();
  await addButton(page).click();
  await page.getByLabel("Topic").fill("birds");
  await page.getByLabel("when a visitor comes").uncheck();
  await page.getByLabel("Who was here in 24 hours, each day at").fill("18:00");
  await page.locator("#notify-box").getByRole("button", {name: "Save"}).click();
  await page.getByRole("button", {name: "Change: ntfy"}).waitFor();
  const [kept] = await services();
  assert.deepEqual([kept.events, kept.digest], [[], "18:00"]);
  await page.getByRole("button", {name: "Change: ntfy"}).click();
  assert.equal(await page.getByLabel("when a visitor comes").isChecked(), false);
  await page.locator("#notify-box").getByRole("button", {name: "Cancel"}).click();
  await page.getByRole("button", {name: "Remove: ntfy"}).click();
  await page.locator(".notify-list li").waitFor({state: "detached"});
  await closeClean(page);
});

test("a bird that is typed wrong is told below its service, with the one that may be meant", async () => {
  const page = await ownersPage();
  await addButton(page).click();
  await page.getByLabel("Topic").fill("birds");
  await page.getByLabel("Only these birds, one a line").fill("Golden demofinch\nAmsle\nTurdus");
  await page.locator("#notify-box").getByRole("button", {name: "Save"}).click();
  const told = page.locator(".notify-list").getByText("perhaps typed wrong:");
  await told.waitFor();
  assert.equal(await told.textContent(), "Not known here, perhaps typed wrong: Amsle (perhaps Eurasian Blackbird)");
  assert.deepEqual((await services())[0].species, ["Golden demofinch", "Amsle", "Turdus"], "it is kept all the same");
  await page.getByRole("button", {name: "Change: ntfy"}).click();
  await page.getByLabel("Only these birds, one a line").fill("Amsel");
  await page.locator("#notify-box").getByRole("button", {name: "Save"}).click();
  await told.waitFor({state: "detached"});
  await page.getByRole("button", {name: "Remove: ntfy"}).click();
  await page.locator(".notify-list li").waitFor({state: "detached"});
  await closeClean(page);
});

test("of what the form asks together, what it did not change stays", async () => {
  const address = "/api/v1/notify/phone";
  const put = (events) => daemon.ask(address, {method: "PUT", headers: {...headers, "content-type": "application/json"},
                                               body: JSON.stringify({service: "ntfy", to: "birds", events})});
  for (const [before, after] of [[["visit.start", "disk"], ["visit.start", "disk"]], [["camera"], ["camera"]]]) {
    await put(before);
    const page = await ownersPage();
    await page.getByRole("button", {name: "Change: phone"}).click();
    assert.equal(await page.getByLabel("when camera or disk").isChecked(), true);
    await page.getByLabel("Quiet hours").fill("22:00-07:00");
    await page.locator("#notify-box").getByRole("button", {name: "Save"}).click();
    await page.getByRole("button", {name: "Change: phone"}).waitFor();
    assert.deepEqual([(await services())[0].events, (await services())[0].quiet], [after, "22:00-07:00"]);
    await closeClean(page);
  }
  await fetch(daemon.url + address, {method: "DELETE", headers});
});

test("what is wrong stands in the form, and what was typed stays", async () => {
  const page = await ownersPage();
  await addButton(page).click();
  await page.getByLabel("Topic").fill("no topic");
  await page.locator("#notify-box").getByRole("button", {name: "Save"}).click();
  await page.locator("#notify-box [role=alert]", {hasText: "letters, digits"}).waitFor();
  assert.equal(await page.getByLabel("Topic").inputValue(), "no topic");
  await page.close();
});

test("trouble of services that could not be used is over on the page when one is set anew", async () => {
  const state = scratchFolder();
  writeFileSync(join(state, "notify.toml"), '[[notify]]\nname = "phone"\nof_the_next_version = 1\n');
  const other = await startDaemon({sets, state});
  const page = await ownersPage(other.url, await claim(other));
  const told = page.locator("#trouble-list", {hasText: "notify.toml.damaged"});
  await told.waitFor();
  await addButton(page).click();
  await page.getByLabel("Topic").fill("birds");
  await page.locator("#notify-box").getByRole("button", {name: "Save"}).click();
  await told.waitFor({state: "detached"});
  await closeClean(page);
});

test("nobody else is offered any of it", async () => {
  const page = await openPage(daemon.url);
  page.expected.push(/503/);
  await openTab(page, "settings");
  assert.equal(await page.locator("#notify-card").isVisible(), false);
  await closeClean(page);
});
