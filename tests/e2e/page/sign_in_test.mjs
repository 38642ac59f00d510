// SPDX-License-Identifier: Apache-2.0
// Why: a phone at home that is not this machine: the first one becomes the owner, the others are let in by a token.
import assert from "node:assert/strict";
import {writeFileSync} from "node:fs";
import {join} from "node:path";
import {before, test} from "node:test";
import {assertAccessible, assertFits, claim, closeClean, endedVisit, home, openPage, openTab, phone, picture, quick, scratchFolder, startDaemon} from "./support.mjs";

let daemon;
let token;
before(async () => { daemon = await startDaemon({address: home}); });

// Several browsers at one address within a second: some are told to wait, and ask again.
const tooMany = /429 \(Too Many Requests\)/;
const openTogether = async (url, options) => {
  const page = await openPage(url, options);
  page.expected.push(tooMany);
  return page;
};
// Birds and no picture: who is nobody here is not shown a black frame.
async function birdsAlone(page) {
  await page.locator("#live").waitFor({state: "hidden"});
  await page.locator("#day-title").waitFor();
}
const livePicture = (page) => page.waitForFunction(() => document.getElementById("picture").naturalWidth > 0);

test("the first phone at home becomes the owner, once", async () => {
  const page = await openTogether(daemon.url);
  await birdsAlone(page);
  await picture(page, "phone-unclaimed");
  const second = await openTogether(daemon.url);
  await page.locator("#claim").click();
  await livePicture(page);
  assert.equal(await page.locator("#sign-in").isVisible(), false);
  assert.match(await page.locator("#owner").textContent(), /owned since .*192\.168\.77\.1/);
  [{value: token}] = (await page.context().cookies()).filter((cookie) => cookie.name === "kinglet");
  await closeClean(page);

  second.expected.push(/403/);
  await second.locator("#claim").click();
  await second.locator("#sign-in-problem:not([hidden])").waitFor();
  await second.locator("#token-form").waitFor();
  assert.equal(await second.locator("#claim").isVisible(), false);
  await closeClean(second);
});

test("a guest reads the birds, a wrong token is told, the right one shows the picture, signing out ends it", async () => {
  const page = await openTogether(daemon.url);
  await birdsAlone(page);
  page.expected.push(/401/);
  await page.getByRole("link", {name: "Sign in"}).click();
  await page.getByLabel("Token (kinglet token add --role admin)").fill("kgl_wrong");
  await page.keyboard.press("Enter");
  await page.locator("#sign-in-problem:not([hidden])").waitFor();
  await page.getByLabel("Token (kinglet token add --role admin)").fill(token);
  await page.getByRole("button", {name: "Sign in"}).click();
  await page.locator("#sign-out").waitFor();
  await openTab(page, "birds");
  await livePicture(page);
  assert.equal(await page.locator("#sign-in-problem").isVisible(), false);
  await page.getByRole("button", {name: "Sign out"}).click();
  await birdsAlone(page);
  assert.equal(await page.locator("#token").inputValue(), "");
  await closeClean(page);
});

test("a link with a token signs in and leaves the address bar", async () => {
  const page = await openTogether(`${daemon.url}/#token=${token}`);
  await livePicture(page);
  assert.equal(await page.evaluate(() => location.href), `${daemon.url}/`);
  assert.equal(await page.evaluate(() => history.length) <= 2, true);
  await closeClean(page);
});

test("the owner lets another phone in by a code, and has the camera look away", async () => {
  const page = await openTogether(`${daemon.url}/#token=${token}`);
  await livePicture(page);
  await openTab(page, "settings");
  await page.getByRole("button", {name: "Add a phone"}).click();
  const link = await page.waitForFunction(() => document.getElementById("invitation-link").value).then((found) => found.jsonValue());
  assert.match(link, new RegExp(`^${daemon.url}/#token=kgl_[\\w-]{43}$`));
  await page.waitForFunction(() => document.getElementById("invitation-code").naturalWidth > 0);
  await picture(page, "phone-invitation");
  const guest = await openTogether(link);
  await livePicture(guest);
  await openTab(guest, "settings");
  assert.equal(await guest.getByRole("button", {name: "Add a phone"}).count(), 0);
  await closeClean(guest);
  await page.getByRole("button", {name: "Done"}).click();
  assert.equal(await page.locator("#invitation-link").inputValue(), "");
  await page.getByRole("button", {name: "Pause"}).click();
  await page.getByRole("button", {name: "Go on watching"}).click();
  await page.getByRole("button", {name: "Pause"}).waitFor();
  await closeClean(page);
});

test("with http.anonymous = read the page is whole for everybody, and no login is in the way", async () => {
  const open = await startDaemon({address: home, sets: [...quick, "http.anonymous=read"]});
  await endedVisit(open);
  await claim(open);
  const page = await openPage(open.url, {size: phone});
  for (const [tab, part] of [["birds", "#visitors img"], ["visits", "#visit-list img"], ["species", "#species-rows tr"],
                             ["device", "#health-list div"]]) {
    await openTab(page, tab);
    await page.locator(part).first().waitFor();
    assert.equal(await page.locator("#sign-in").isVisible(), false, tab);
    assert.equal(await page.locator("#live").isVisible(), false, tab);
    await assertAccessible(page, `a guest's ${tab}`);
    await assertFits(page, tab);
    await picture(page, `guest-${tab}`);
  }
  await openTab(page, "species");
  await page.locator("#species-rows a").first().click();
  await page.locator("#one-pictures img").first().waitFor();
  await page.locator("#one-pictures button").first().click();
  await page.locator("#visit-dialog[open]").waitFor();
  await page.waitForFunction(() => document.getElementById("visit-picture").naturalWidth > 0);
  assert.equal(await page.locator("#visit-clip").isVisible(), false);
  await closeClean(page);
  await open.stop();
});

test("a page whose hour is over says what to do at the device, and then has its button", async () => {
  const state = scratchFolder();
  const tokens = join(state, "tokens.toml");
  writeFileSync(tokens, "first_start = 1700000000\n");
  const late = await startDaemon({address: home, state});
  const page = await openPage(late.url);
  await page.locator("#guest").getByText("sudo kinglet pair").waitFor();
  await picture(page, "phone-hour-over");
  await page.getByRole("link", {name: "Sign in"}).click();
  await page.locator("#sign-in-text", {hasText: "sudo kinglet pair"}).waitFor();
  await page.getByLabel("Token (kinglet token add --role admin)").waitFor();
  await openTab(page, "birds");
  writeFileSync(tokens, "first_start = 1700000000\npairing = true\n");
  await page.locator("#claim").click();
  await livePicture(page);
  await closeClean(page);
  await late.stop();
});

test("a stranger sees how to sign in, and nothing else", async () => {
  const closed = await startDaemon({address: home, sets: [...quick, "http.anonymous=none"]});
  const page = await openPage(closed.url, {wait: ".stranger #sign-in-first #claim"});
  for (const part of ["#tabs", "#live", "#now", "#day"]) assert.equal(await page.locator(part).isVisible(), false, part);
  assert.equal(await page.locator("#state").textContent(), "connecting");
  await picture(page, "phone-stranger");
  await closeClean(page);
  await closed.stop();
});

test("one browser alone meets no limit", async () => {
  await new Promise((done) => { setTimeout(done, 3000); });
  const page = await openPage(`${daemon.url}/#token=${token}`);
  await livePicture(page);
  await page.waitForFunction(() => [...document.querySelectorAll("#visitors img")].some((image) => image.naturalWidth > 0));
  for (const [tab, part] of [["visits", "#visit-list li"], ["species", "#species-rows tr"], ["settings", "#settings-list div"]]) {
    await openTab(page, tab);
    await page.locator(part).first().waitFor();
  }
  await closeClean(page);
});
