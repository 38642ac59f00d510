// SPDX-License-Identifier: Apache-2.0
// Why: everybody can use the page: axe-core finds nothing in any of its faces, and a keyboard reaches everything.
import assert from "node:assert/strict";
import {before, test} from "node:test";
import {assertAccessible, assertFits, closeClean, desk, endedVisit, home, openPage, phone, startDaemon} from "./support.mjs";

let daemon;
let owner;
before(async () => {
  daemon = await startDaemon();
  await endedVisit(daemon);
  owner = await openPage(daemon.url);
  await owner.locator("#claim").click();
  await owner.locator("#settings-list div").first().waitFor();
});

const ended = (page, selector) => page.locator(`${selector}:not([open])`).waitFor({state: "attached"});

for (const [name, size] of Object.entries({phone, desk})) {
  for (const scheme of ["light", "dark"]) {
    test(`axe-core finds nothing: ${name}, ${scheme}`, async () => {
      await owner.setViewportSize(size);
      await owner.emulateMedia({colorScheme: scheme});
      await owner.locator("#visit-list .buttons").first().waitFor();
      await assertAccessible(owner, "the owner's page");
      await assertFits(owner, name);
      await owner.locator("#aim").click();
      await owner.waitForFunction(() => document.getElementById("aim-picture").naturalWidth > 0);
      await assertAccessible(owner, "aiming");
      await owner.keyboard.press("Escape");
      await ended(owner, "#aim-dialog");
      await owner.locator("#visit-list .thumb").first().click();
      await assertAccessible(owner, "a visit");
      await owner.keyboard.press("Escape");
      await ended(owner, "#visit-dialog");
    });
  }
}

test("axe-core finds nothing where a guest is to sign in and something is wrong", async () => {
  const poor = await startDaemon({address: home, sets: ["source=images:/no/such/folder"]});
  for (const scheme of ["light", "dark"]) {
    const page = await openPage(poor.url, {scheme, wait: "#troubles:not([hidden])"});
    page.expected.push(/503/);
    await assertAccessible(page, `trouble, ${scheme}`);
    await closeClean(page);
  }
});

test("a keyboard reaches everything that can be pressed, and it is seen where it is", async () => {
  await owner.setViewportSize(phone);
  await owner.reload();
  await owner.locator("#visit-list .buttons").first().waitFor();
  await owner.locator("#settings-list div").first().waitFor();
  const reached = new Set();
  for (let i = 0; i < 120; ++i) {
    await owner.keyboard.press("Tab");
    const found = await owner.evaluate(() => {
      const node = document.activeElement;
      if (node === document.body) return null;
      const style = getComputedStyle(node);
      return {name: node.id || node.getAttribute("href") || node.dataset.key, outlined: style.outlineStyle !== "none" && style.outlineWidth !== "0px"};
    });
    if (!found) break;
    assert.ok(found.outlined, `${found.name} does not show that it has the keyboard`);
    reached.add(found.name?.split(" ").pop());
  }
  for (const name of ["#now", "#day", "aim", "day-before", "picture", "right", "other", "settings-changed", "language", "sign-out"]) {
    assert.ok(reached.has(name), `${name} is not reached: ${[...reached].join(", ")}`);
  }
});

test("the owner's page gave no cause for complaint all the while", async () => { await closeClean(owner); });
