// SPDX-License-Identifier: Apache-2.0
// Why: what a browser at home reads and other pages may show, as docs/home-assistant.md and docs/access.md say it: decided by
// a real browser, which alone knows what it does with the headers.
import assert from "node:assert/strict";
import {createServer} from "node:http";
import {after, before, test} from "node:test";
import {endedVisit, here, home, openPage, quick, startDaemon} from "./support.mjs";

const dashboards = [];  // two pages of others; the owner has named the first
let named;
let daemon;
let visit;

const dashboard = async () => {
  const server = createServer((request, response) => response.setHeader("Content-Type", "text/html").end("<title>Dashboard</title>"));
  dashboards.push(server);
  const port = await new Promise((done) => { server.listen(0, here, () => done(server.address().port)); });
  return `http://${here}:${port}`;
};

before(async () => {
  named = await dashboard();
  daemon = await startDaemon({address: home, sets: [...quick, `http.allowed_origins=["${named}"]`]});
  visit = await endedVisit(daemon);
});
after(() => { for (const server of dashboards) { server.closeAllConnections(); server.close(); } });

// "shown" or "refused", as the browser does with an <img> of this page. Blink asks for it without cookies or a token.
const shows = (page, address) => page.evaluate((source) => new Promise((done) => {
  const image = new Image();
  image.onload = () => done("shown");
  image.onerror = () => done("refused");
  image.src = source;
}), address);

const readsNewest = (page) => page.evaluate(async (address) => {
  try {
    return (await (await fetch(address)).json()).outcome;
  } catch { return "refused"; }
}, `${daemon.url}/api/v1/predictions/latest`);

test("a browser at home reads the newest prediction by the device's address", async () => {
  const page = await openPage(`${daemon.url}/api/v1/predictions/latest`, {wait: null});
  const newest = JSON.parse(await page.evaluate(() => document.body.innerText));
  assert.match(newest.id, /^prd_/);
  await page.context().close();
});

test("a page that the owner has named shows the bird of a visit and reads predictions, and no picture of the garden", async () => {
  const page = await openPage(named, {wait: null});
  assert.equal(await shows(page, daemon.url + visit.links.crop), "shown");
  assert.match(await readsNewest(page), /accepted|background|below_threshold|ambiguous/);
  for (const path of ["/snapshot.jpg", visit.links.snapshot, "/web/icon.svg"]) {
    assert.equal(await shows(page, daemon.url + path), "refused", path);
  }
  await page.context().close();
});

test("where no page is named none shows a bird, and one that is not named reads nothing", async () => {
  const strict = await startDaemon({address: home});
  const seen = await endedVisit(strict);
  const page = await openPage(await dashboard(), {wait: null});
  assert.equal(await shows(page, strict.url + seen.links.crop), "refused");
  assert.equal(await readsNewest(page), "refused");
  await page.context().close();
  await strict.stop();
});
