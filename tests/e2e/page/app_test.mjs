// SPDX-License-Identifier: Apache-2.0
// Why: the page is an app on a home screen: a browser takes its manifest, and over https it opens without the device, too.
import assert from "node:assert/strict";
import {execFileSync} from "node:child_process";
import {join} from "node:path";
import {test} from "node:test";
import {closeClean, openPage, quick, scratchFolder, startDaemon} from "./support.mjs";

const workers = (page) => page.evaluate(async () => (await navigator.serviceWorker.getRegistrations()).length);

test("a browser finds nothing wrong with the manifest, and over http there is no worker", async () => {
  const daemon = await startDaemon();
  const page = await openPage(daemon.url);
  const {errors, data} = await (await page.context().newCDPSession(page)).send("Page.getAppManifest");
  assert.deepEqual(errors, []);
  assert.equal(JSON.parse(data).name, "kinglet");
  assert.equal(await workers(page), 0);
  await closeClean(page);
  await daemon.stop();
});

test("over https it opens where the device does not answer, says so, and shows nothing that was kept of the birds", async () => {
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";  // its own certificate
  const folder = scratchFolder();
  const [certificate, key] = [join(folder, "tls.pem"), join(folder, "tls.key")];
  execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                           "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate], {stdio: "ignore"});
  const daemon = await startDaemon({sets: [...quick, `http.tls_certificate=${certificate}`, `http.tls_key=${key}`]});
  assert.match(daemon.url, /^https:/);
  const page = await openPage(daemon.url);
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.reload();
  await page.locator("#state.good").waitFor();
  const kept = await page.evaluate(async () => {
    const all = await Promise.all((await caches.keys()).map(async (name) => (await caches.open(name)).keys()));
    return all.flat().map(({url}) => new URL(url).pathname);
  });
  assert.ok(kept.includes("/") && kept.includes("/web/page.js"), kept.join(" "));
  assert.deepEqual(kept.filter((path) => path !== "/" && !path.startsWith("/web/")), []);
  await daemon.stop();
  page.expected.push(/ERR_/, /fetch/i);
  await page.reload();
  await page.locator("#troubles", {hasText: "kingletd does not answer"}).waitFor();
  await closeClean(page);
});
