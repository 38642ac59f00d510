// SPDX-License-Identifier: Apache-2.0
// Why: an owner takes a backup away and brings it back, and is told what a file is that is none.
import assert from "node:assert/strict";
import {execFileSync} from "node:child_process";
import {readFileSync} from "node:fs";
import {join} from "node:path";
import {before, test} from "node:test";
import {assertAccessible, assertFits, claim, closeClean, endedVisit, openPage, openSettings, picture, startDaemon} from "./support.mjs";

let daemon;
let headers;
before(async () => {
  daemon = await startDaemon();
  headers = await claim(daemon);
  await endedVisit(daemon);
});

const ownersPage = (options) => openSettings(daemon, headers, "#restore-file", options);

test("a backup is downloaded, brought back, and waits for a restart", async () => {
  const page = await ownersPage();
  const [download] = await Promise.all([page.waitForEvent("download"),
                                        page.getByRole("link", {name: "Download a backup"}).click()]);
  assert.equal(download.suggestedFilename(), "kinglet-backup.tar");
  const file = await download.path();
  assert.equal(readFileSync(file).subarray(0, 13).toString(), "manifest.json");
  assert.ok(await page.getByRole("button", {name: "Restore", exact: true}).isHidden(), "nothing was chosen yet");
  await page.locator("#restore-file").setInputFiles({name: "feeder.tar", mimeType: "application/x-tar", buffer: readFileSync(file)});
  await page.locator("#restore-note", {hasText: "feeder.tar takes the place of the history"}).waitFor();
  await assertAccessible(page, "a backup that was chosen");
  await assertFits(page, "a backup that was chosen");
  await page.locator("#restore-note").scrollIntoViewIfNeeded();
  await picture(page, "phone-backup");
  await page.getByRole("button", {name: "Restore", exact: true}).click();
  await page.locator("#restore-note", {hasText: /\d+ visits, as of .+, wait for a restart/}).waitFor();
  page.expected.push(/409/);  // no service manager is here
  await page.locator("#restore-restart").click();
  await page.locator("#restore-problem", {hasText: "not started as a service"}).waitFor();
  await closeClean(page);
});

test("once a backup counts the page shows what came with it, without what it said before", async () => {
  const service = await startDaemon({service: true});
  const own = await claim(service);
  await endedVisit(service);
  const kept = await (await fetch(`${service.url}/api/v1/backup`, {headers: own})).arrayBuffer();
  const changed = await fetch(`${service.url}/api/v1/config`, {
    method: "PATCH", body: '{"decide.min_score": 0.75}',
    headers: {...own, "If-Match": "*", "Content-Type": "application/merge-patch+json"}});
  assert.equal(changed.status, 200);
  const page = await openSettings(service, own, "#restore-file");
  page.expected.push(/Failed to load resource/);  // while nobody answers
  const setting = page.locator('#settings-list [data-key="decide.min_score"]');
  await setting.waitFor();
  await page.locator("#restore-file").setInputFiles({name: "feeder.tar", mimeType: "application/x-tar", buffer: Buffer.from(kept)});
  await page.getByRole("button", {name: "Restore", exact: true}).click();
  await page.locator("#restore-restart").click();
  await page.locator("#restore-note", {hasText: "Restarting."}).waitFor();
  await service.again();
  await page.locator("#restore-note:empty").waitFor({state: "attached"});
  await setting.waitFor({state: "detached"});  // it has its default again
  await closeClean(page);
});

test("a restart is noticed however late, and neither old news nor a clock that is set is taken for one", async () => {
  const page = await openPage(daemon.url);
  const noticed = await page.evaluate(async () => {
    const {noteUptime, prepareRestart} = await import("/web/restart.js?v=alone");  // beside the page's own
    let count = 0;
    prepareRestart(() => { ++count; });
    const tell = ([here, uptime, there]) => {
      performance.now = () => 1000 * here;
      noteUptime({stats: {uptime_seconds: uptime, at: new Date(1000 * there).toISOString()}});
      delete performance.now;
      return count;
    };
    // Seconds: the page's clock, the uptime, the device's clock.
    return [[10, 100, 1000], [11, 101, 1001],
            [11.1, 100.9, 1000.9],  // an answer that an event passed
            [300, 102, 1002], [301, 391, 1291],  // heard of after the page stood still
            [302, 392, 90000],  // a clock is set
            [3600, 400, 93298],  // hidden for an hour
            [3610, 2, 93308]].map(tell);
  });
  assert.deepEqual(noticed, [0, 0, 0, 0, 0, 0, 1, 2]);
  await closeClean(page);
});

test("what failed on its way is tried again with the same file", async () => {
  const kept = await (await fetch(`${daemon.url}/api/v1/backup`, {headers})).arrayBuffer();
  const page = await ownersPage();
  page.expected.push(/Failed to load resource/);
  const restore = page.getByRole("button", {name: "Restore", exact: true});
  await page.locator("#restore-file").setInputFiles({name: "feeder.tar", mimeType: "application/x-tar", buffer: Buffer.from(kept)});
  await page.context().setOffline(true);
  await restore.click();
  await page.locator("#restore-problem", {hasText: "kingletd does not answer"}).waitFor();
  await page.context().setOffline(false);
  await restore.click();
  await page.locator("#restore-note", {hasText: "wait for a restart"}).waitFor();
  assert.equal(await restore.isVisible(), false);
  await closeClean(page);
});

test("settings of another version that are left out are named", async () => {
  const kept = await (await fetch(`${daemon.url}/api/v1/backup`, {headers})).arrayBuffer();
  const change = `import sys, backup_file
later = {"state/settings.toml": b"decide.later = 1"}
sys.stdout.buffer.write(backup_file.changed(sys.stdin.buffer.read(), lambda files, _: files.update(later)))`;
  const buffer = execFileSync("python3", ["-c", change], {
    input: Buffer.from(kept), maxBuffer: 1 << 28,
    env: {...process.env, PYTHONPATH: join(process.env.SOURCE_FOLDER, "tests/support")}});
  const page = await ownersPage();
  await page.locator("#restore-file").setInputFiles({name: "later.tar", mimeType: "application/x-tar", buffer});
  await page.getByRole("button", {name: "Restore", exact: true}).click();
  await page.locator("#restore-note", {hasText: /wait for a restart.*left out: decide\.later\.$/}).waitFor();
  await closeClean(page);
});

test("what waits is told after a reload and everywhere, until it is discarded", async () => {
  let page = await openPage(daemon.url, {headers, wait: null});  // the one of the test before
  await page.locator("#trouble-list", {hasText: "A backup waits for a restart"}).waitFor();
  await page.locator("#trouble-list").getByRole("link", {name: "Settings › Backup"}).click();
  await page.locator("#restore-note", {hasText: /wait for a restart.*left out: decide\.later\.$/}).waitFor();
  assert.ok(await page.locator("#restore-restart").isVisible());
  await assertAccessible(page, "a backup that waits");
  await assertFits(page, "a backup that waits");
  await page.getByRole("button", {name: "Discard", exact: true}).click();
  await page.locator("#restore-note", {hasText: "It is discarded"}).waitFor();
  await page.locator("#trouble-list", {hasText: "A backup waits for a restart"}).waitFor({state: "detached"});
  assert.equal((await daemon.ask("/readyz")).checks.restore, undefined);
  await closeClean(page);
  page = await ownersPage();
  await page.locator("#restore-note:empty").waitFor({state: "attached"});
  for (const id of ["#restore-restart", "#restore-discard"]) assert.ok(await page.locator(id).isHidden(), id);
  await closeClean(page);
});

test("a file that is no backup is refused in words, and nothing waits", async () => {
  const page = await ownersPage({locale: "de-DE"});
  page.expected.push(/422/);
  await page.locator("#restore-file").setInputFiles({name: "holiday.tar", mimeType: "application/x-tar",
                                                     buffer: Buffer.alloc(300000, "GIF89a")});
  await page.getByRole("button", {name: "Wiederherstellen", exact: true}).click();
  await page.locator("#restore-problem", {hasText: "this is no backup of kinglet"}).waitFor();
  assert.ok(await page.locator("#restore-restart").isHidden());
  await closeClean(page);
});
