// SPDX-License-Identifier: Apache-2.0
// Why: everybody can use the page: axe-core finds nothing in any of its faces, and a keyboard reaches everything.
import assert from "node:assert/strict";
import {before, test} from "node:test";
import {assertAccessible, assertFits, closeClean, desk, endedVisit, home, openPage, openTab, phone, picture, startDaemon, tablet} from "./support.mjs";

let daemon;
let owner;
before(async () => {
  daemon = await startDaemon();
  await endedVisit(daemon);
  owner = await openPage(daemon.url);
  await owner.locator("#claim").click();
  await owner.locator("#sign-in").waitFor({state: "hidden"});
});

const ended = (page, selector) => page.locator(`${selector}:not([open])`).waitFor({state: "attached"});

// Of each tab, what it is there for.
const parts = {birds: "#visitors img", visits: "#visit-list .menu", species: "#species-rows tr", device: "#health-list div",
               settings: "#settings-list div"};

for (const [name, size] of Object.entries({phone, tablet, desk})) {
  for (const scheme of ["light", "dark"]) {
    test(`axe-core finds nothing: ${name}, ${scheme}`, async () => {
      await owner.setViewportSize(size);
      await owner.emulateMedia({colorScheme: scheme});
      for (const [tab, part] of Object.entries(parts)) {
        await openTab(owner, tab);
        await owner.locator(part).first().waitFor();
        await assertAccessible(owner, tab);
        await assertFits(owner, `${tab}, ${name}`);
        await picture(owner, `${tab}-${name}-${scheme}`);
      }
      await openTab(owner, "birds");
      await owner.locator("#aim").click();
      await owner.waitForFunction(() => document.getElementById("aim-picture").naturalWidth > 0);
      await assertAccessible(owner, "aiming");
      await owner.keyboard.press("Escape");
      await ended(owner, "#aim-dialog");
      await openTab(owner, "species");
      await owner.locator("#species-rows a").first().click();
      await owner.locator("#one-pictures img").first().waitFor();
      await assertAccessible(owner, "one species");
      await assertFits(owner, `one species, ${name}`);
      await picture(owner, `one-species-${name}-${scheme}`);
      await openTab(owner, "visits");
      await owner.locator("#filter-more summary").click();
      await owner.locator("#visit-list .menu summary").first().click();
      await assertAccessible(owner, "filters and a menu");
      await assertFits(owner, `filters and a menu, ${name}`);
      await picture(owner, `menu-${name}-${scheme}`);
      await owner.keyboard.press("Escape");
      await owner.locator("#filter-more summary").click();
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
  const reached = new Set();
  for (const [tab, part] of Object.entries(parts)) {
    await owner.goto(`${daemon.url}/#${tab}`);
    await owner.reload();
    await owner.locator(part).first().waitFor();
    await reach(owner, reached);
  }
  for (const name of ["#content", "tab-birds", "tab-settings", "aim", "day-pick", "day-before", "filter-name", "picture", "menu", "settings-changed", "language", "sign-out"]) {
    assert.ok(reached.has(name), `${name} is not reached: ${[...reached].join(", ")}`);
  }
});

async function reach(page, reached) {
  for (let i = 0; i < 120; ++i) {
    await page.keyboard.press("Tab");
    const found = await page.evaluate(() => {
      const node = document.activeElement;
      if (node === document.body) return null;
      const style = getComputedStyle(node);
      return {name: node.id || node.getAttribute("href") || node.dataset.key, outlined: style.outlineStyle !== "none" && style.outlineWidth !== "0px"};
    });
    if (!found) break;
    assert.ok(found.outlined, `${found.name} does not show that it has the keyboard`);
    reached.add(found.name?.split(" ").pop());
  }
}

test("the owner's page gave no cause for complaint all the while", async () => { await closeClean(owner); });
