// SPDX-License-Identifier: Apache-2.0
// Why: what was: other days in the device's own zone, first and last seen, and the speed of the last hours with its pauses.
import assert from "node:assert/strict";
import {execFileSync} from "node:child_process";
import {join} from "node:path";
import {before, test} from "node:test";
import {claim, closeClean, desk, endedVisit, openPage, phone, picture, quick, scratchFolder, startDaemon, until} from "./support.mjs";

const zone = "Pacific/Kiritimati";  // fourteen hours ahead of UTC: rarely the browser's day
let daemon;
let name;
let date;
before(async () => {
  const state = scratchFolder();
  const sets = [...quick, `time.zone=${zone}`];
  const first = await startDaemon({state, sets});
  name = (await endedVisit(first)).common_name;
  await first.stop();
  date = execFileSync("python3", [join(import.meta.dirname, "seed_past.py"), state, zone]).toString().trim();
  daemon = await startDaemon({state, sets});
});

test("the day before yesterday is two presses away, with who came at seven", async () => {
  const page = await openPage(daemon.url, {size: desk});
  await page.locator("#visitors li").first().waitFor();
  await page.locator("#day-before").click();
  await page.locator("#day-empty:not([hidden])").waitFor();
  await page.locator("#day-before").click();
  await page.locator("#visitors li").first().waitFor();
  assert.equal(await page.locator("#visitors li").count(), 1);
  assert.match(await page.locator("#visitors li").textContent(), new RegExp(`${name}.*1 ×.*07:30`));
  assert.match(await page.locator("#hours li").first().textContent(), /7:00 \(1\)/);
  const day = new Date(`${date}T12:00Z`).toLocaleDateString("en-GB", {weekday: "long", day: "numeric", month: "long", timeZone: "UTC"});
  assert.equal(await page.locator("#day-title").textContent(), day);
  await closeClean(page);
});

// The answer of the day that was left is the last to come.
test("what is shown is the day of the address, however late another one comes", async () => {
  const page = await openPage(daemon.url, {size: desk});
  await page.locator("#visitors li").first().waitFor();
  let letGo;
  const held = new Promise((resolve) => { letGo = resolve; });
  let late = 0;
  await page.route(`**/api/v1/days/${date}`, async (route) => { ++late; await held; await route.continue(); });
  await page.locator("#day-pick").fill(date);
  await until(async () => late === 1, "the day was asked for");
  await page.locator("#day-pick").fill(new Date(Date.parse(date) + 86400000).toISOString().slice(0, 10));
  await page.locator("#day-empty:not([hidden])").waitFor();
  const shown = await page.locator("#day-title").innerText();
  const answered = page.waitForResponse((response) => response.url().endsWith(`/api/v1/days/${date}`));
  letGo();
  await (await answered).finished();
  await page.evaluate(() => fetch("/api/v1/version"));
  assert.equal(await page.locator("#day-title").innerText(), shown);
  assert.equal(await page.locator("#visitors li").count(), 0);
  await closeClean(page);
});

test("a day is picked by its date, and the address keeps it", async () => {
  const page = await openPage(daemon.url);
  await page.locator("#visitors li").first().waitFor();
  await page.locator("#day-pick").fill(date);
  await page.locator("#visitors", {hasText: "07:30"}).waitFor();
  await page.reload();
  await page.locator("#visitors", {hasText: "07:30"}).waitFor();
  assert.equal(await page.locator("#day-pick").inputValue(), date);
  await closeClean(page);
});

test("the address of a visit that is gone says so, and shows the others", async () => {
  const page = await openPage(daemon.url, {tab: "visits"});
  page.expected.push(/404.*vis_/);
  await page.locator("#visit-list li").first().waitFor();
  await page.evaluate(() => { location.hash = "#visits/vis_01JABCDEFGHJKMNPQRSTVWXYZ0"; });
  await page.getByText("That visit is no longer kept.").waitFor();
  assert.ok(await page.locator("#visit-list li").count() > 0);
  await page.locator("#tab-birds").click();
  await page.locator("#tab-visits").click();
  await page.locator("#review-problem").waitFor({state: "hidden"});
  await closeClean(page);
});

test("visits are found by day, name and review, and the address keeps what was asked", async () => {
  const page = await openPage(daemon.url, {tab: "visits"});
  const rows = page.locator("#visit-list li");
  await rows.nth(1).waitFor();
  await page.locator("#filter-more summary").click();
  await page.locator("#filter-to").fill(date);
  await until(async () => await rows.count() === 1 && /07:30/.test(await rows.innerText()), "the visit of that day alone");
  assert.match(await page.locator("#filter-csv").getAttribute("href"), /\?until=/);
  await page.reload();
  await until(async () => await rows.count() === 1 && /07:30/.test(await rows.innerText()), "the same after a reload");
  await page.locator("#filter-name").fill("no such bird");
  await page.keyboard.press("Enter");
  await page.locator("#visits-empty", {hasText: "No visits like that."}).waitFor();
  await page.locator("#filter-name").fill(name.slice(0, 6).toUpperCase());
  await page.keyboard.press("Enter");
  await until(async () => await rows.count() === 1, "a part of a name is enough");
  await page.locator("#filter-review").selectOption("confirmed");
  await page.locator("#visits-empty", {hasText: "No visits like that."}).waitFor();
  await page.getByRole("button", {name: "No filters"}).click();
  await rows.nth(1).waitFor();
  assert.equal(await page.evaluate(() => location.hash), "#visits");
  await closeClean(page);
});

test("a species has a page: its pictures, and the hours and months of all its visits", async () => {
  const page = await openPage(daemon.url, {tab: "species", size: phone});
  await page.getByRole("link", {name}).click();
  await page.locator("#one-pictures img").first().waitFor();
  assert.equal(await page.locator("#one-name").textContent(), name);
  const [{species_id: id}] = (await daemon.ask("/api/v1/species")).items.filter((one) => one.common_name === name);
  const one = await daemon.ask(`/api/v1/species/${id}`);
  assert.match(await page.locator("#one-hours").getAttribute("aria-label"), new RegExp(`7:00 \\(${one.hours[7]}\\)`));
  const month = new Date(`${date}T12:00Z`).toLocaleDateString("en-GB", {month: "long", timeZone: "UTC"});
  assert.ok((await page.locator("#one-months").getAttribute("aria-label")).includes(month));
  await picture(page, "phone-one-species");
  await page.locator("#one-pictures button").first().click();
  await page.locator("#visit-dialog[open]").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("link", {name: "Its visits"}).click();
  await page.locator("#visit-list li").first().waitFor();
  await closeClean(page);
});

test("a species has its first day and its last", async () => {
  const page = await openPage(daemon.url, {size: desk, tab: "species"});
  const row = page.locator("#species-rows tr", {hasText: name});
  await row.waitFor();
  const days = await row.locator("time").allTextContents();
  assert.equal(days[0], new Date(`${date}T12:00Z`).toLocaleDateString("en-GB", {day: "numeric", month: "short", timeZone: "UTC"}));
  assert.notEqual(days[0], days[1]);
  await closeClean(page);
});

test("the last hours are a line with a pause, from five images a second to two", async () => {
  const page = await openPage(daemon.url, {size: desk, tab: "device"});
  const line = page.locator("#rate-chart .line");
  await page.waitForFunction(() => document.querySelectorAll("#rate-chart .line").length === 1 &&
    document.querySelector("#rate-chart .line").getAttribute("d").split("M").length > 2);
  const strokes = (await line.getAttribute("d")).split("M").slice(1);
  assert.ok(strokes.length >= 2 && strokes[0].split("L").length === 6, "six rows before the pause");
  assert.match(await page.locator("#rate-chart").getAttribute("aria-label"), /^images a second, 2\.0 to /);
  await picture(page, "desk-speed");
  await closeClean(page);
});

// A device without a camera that has seen more than so many visits, and the list of them on its page.
async function listOf(count) {
  const state = scratchFolder();
  const sets = [...quick, `time.zone=${zone}`];
  const first = await startDaemon({state, sets});
  await endedVisit(first);
  await first.stop();
  execFileSync("python3", [join(import.meta.dirname, "seed_past.py"), state, zone, String(count)]);
  const full = await startDaemon({state, sets: [...sets, "source=images:/no/such/folder"]});
  const page = await openPage(full.url, {tab: "visits", wait: null, expected: [/503/]});
  const rows = page.locator("#visit-list li");
  await rows.nth(7).waitFor();
  return {full, page, rows, older: page.locator("#more-visits")};
}

// The ids of all, once "Older ones" was pressed as long as there were any.
async function allOlder({rows, older}) {
  for (let shown = await rows.count(); await older.isVisible(); shown += 8) {
    await older.click();
    await until(async () => await rows.count() > shown, `more than ${shown}`);
  }
  return rows.evaluateAll((all) => all.map((row) => row.dataset.id));
}

test("a search that finds more birds than the list takes says so", async () => {
  const {full, page, rows} = await listOf(21);
  const headers = {...await claim(full), "If-Match": "*", "Content-Type": "application/merge-patch+json"};
  const {items} = await full.ask("/api/v1/visits?limit=500");
  for (const [i, {links}] of items.slice(0, 21).entries()) {
    const answer = await fetch(full.url + links.self, {
      method: "PATCH", headers, body: JSON.stringify({review: {verdict: "corrected", name: `Kobold ${i + 1}`}})});
    assert.equal(answer.status, 200);
  }
  await until(async () => (await full.ask("/api/v1/species")).items.filter((one) => /^kobold-/.test(one.species_id)).length === 21, "21 species");
  const search = async (name) => {
    await page.locator("#filter-name").fill(name);
    await page.keyboard.press("Enter");
  };
  const told = page.locator("#filter-limit");
  await search("Kobold");
  await told.getByText("21 birds are called so. The list, and the CSV, has 20 of them").waitFor();
  const csv = new URL(await page.locator("#filter-csv").getAttribute("href"), full.url);
  assert.equal(csv.searchParams.getAll("species").length, 20);
  await search("Kobold 3");
  await until(async () => await rows.count() === 1, "the one that is called exactly so");
  assert.equal(await told.isVisible(), false);
  await closeClean(page);
});

test("older visits are shown as long as there are any, also behind the 500 that one answer has", async () => {
  const list = await listOf(510);
  const ids = await allOlder(list);
  assert.ok(ids.length > 510, `only ${ids.length}`);
  assert.equal(new Set(ids).size, ids.length, "each once");
  assert.equal(ids.at(-1), "vis_00000000000000000000000000", "the oldest last");
  await closeClean(list.page);
});

test("older visits that somebody judges meanwhile come once, in their place", async () => {
  const list = await listOf(30);
  const headers = await claim(list.full);
  const {items} = await list.full.ask("/api/v1/visits?limit=100");
  for (const {id} of [items[15], items[3]]) {
    const {status} = await fetch(`${list.full.url}/api/v1/visits/${id}`, {
      method: "PATCH", body: '{"review": {"verdict": "confirmed"}}',
      headers: {"Content-Type": "application/json", "If-Match": "*", ...headers}});
    assert.equal(status, 200);
  }
  await list.rows.nth(3).getByText("Confirmed by a person").waitFor();  // the page has heard of both
  assert.deepEqual(await allOlder(list), items.map(({id}) => id));
  await closeClean(list.page);
});

test("older visits are asked for as the list was, while another choice of it still loads", async () => {
  const {page, rows, older} = await listOf(30);
  let release;
  const held = new Promise((done) => { release = done; });
  await page.route(/visits\?.*review=confirmed/, async (route) => {
    await held;
    await route.continue();
  });
  await page.locator("#filter-more summary").click();
  const asked = page.waitForRequest(/visits\?.*review=confirmed/);
  await page.locator("#filter-review").selectOption("confirmed");
  await asked;
  const answered = page.waitForResponse(/visits\?.*cursor=/);
  await older.click();
  const answer = await answered;
  assert.equal(answer.status(), 200);
  release();
  await page.locator("#visits-empty", {hasText: "No visits like that."}).waitFor();
  assert.equal(await rows.count(), 0);
  await closeClean(page);
});

// Three answers are on their way: the list anew, what a press before wanted, and what one meanwhile wants.
test("a press for older visits while the list is read again is not lost", async () => {
  const {full, page, rows, older} = await listOf(30);
  const headers = await claim(full);
  await page.locator("#filter-more summary").click();
  await page.locator("#filter-name").fill(name);
  await Promise.all([page.waitForResponse(/visits\?.*species=/), page.keyboard.press("Enter")]);
  const hold = async (what) => {
    let letGo;
    const held = new Promise((done) => { letGo = done; });
    await page.route(what, async (route) => { await held; await route.continue(); });
    return letGo;
  };
  const anew = /visits\?limit=8&(?!.*cursor=)/;
  const before = /visits\?limit=8&.*cursor=/;
  const meanwhile = /visits\?limit=16&.*cursor=/;
  const letAnew = await hold(anew);
  const letLater = await hold(/visits\?limit=(16|24)&(?!.*cursor=)/);  // what is read anew for a picture brings all
  const asked = page.waitForRequest(anew);
  const [{id}] = (await full.ask("/api/v1/visits?limit=1")).items;
  await fetch(`${full.url}/api/v1/visits/${id}`, {method: "PATCH", body: '{"review": {"verdict": "confirmed"}}',
                                                 headers: {"Content-Type": "application/json", "If-Match": "*", ...headers}});
  await asked;
  await older.click();
  await until(async () => await rows.count() === 16, "the first press");
  const letBefore = await hold(before);
  const letMeanwhile = await hold(meanwhile);
  await Promise.all([page.waitForRequest(before), letAnew()]);
  await Promise.all([page.waitForRequest(meanwhile), older.click()]);
  const [first] = await Promise.all([page.waitForResponse(before), letBefore()]);
  await first.finished();
  await page.evaluate(() => fetch("/api/v1/version"));
  letMeanwhile();
  await until(async () => await rows.count() === 24, "what the press meanwhile wanted");
  letLater();
  await closeClean(page);
});
