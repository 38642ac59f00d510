// SPDX-License-Identifier: Apache-2.0
// Why: when something is wrong the page says what, why and what helps, and goes on by itself when it is over.
import assert from "node:assert/strict";
import {copyFileSync} from "node:fs";
import {createServer} from "node:http";
import {join} from "node:path";
import {after, before, test} from "node:test";
import {claim, closeClean, here, openPage, openTab, picture, quick, scratchFolder, startDaemon, until} from "./support.mjs";

let jpeg;
let camera;
let daemon;
before(async () => {
  const demonstration = await startDaemon();
  await until(async () => (await demonstration.ask("/readyz")).status === "pass", "a picture");
  jpeg = await until(async () => {
    const answer = await fetch(`${demonstration.url}/snapshot.jpg`);
    return answer.ok && Buffer.from(await answer.arrayBuffer());
  }, "a picture");
  await demonstration.stop();
  camera = createServer((request, response) => response.setHeader("Content-Type", "image/jpeg").end(jpeg));
  const port = await new Promise((done) => { camera.listen(0, here, () => done(camera.address().port)); });
  daemon = await startDaemon({sets: [...quick.slice(1), `source=snapshot:http://${here}:${port}/`, "source.fps=5"]});
});
after(() => { camera.closeAllConnections(); camera.close(); });

const troubles = (page) => page.locator("#troubles:not([hidden])");

test("a camera that is lost is told with reason and cure, and so is its return", async () => {
  const page = await openPage(daemon.url);
  page.expected.push(/503/);
  await page.locator("#state.good").waitFor();
  assert.equal(await troubles(page).count(), 0);
  const {port} = camera.address();
  camera.closeAllConnections();
  await new Promise((done) => { camera.close(done); });
  await page.locator("#state.bad").waitFor();
  const told = await until(async () => await page.locator("#trouble-list .reason").count() && page.locator("#trouble-list").innerText(), "a reason");
  assert.match(told, /^Camera: /);
  assert.match(told, new RegExp(`${here}:${port}`), "the reason as the daemon gives it");
  assert.match(await page.locator("#trouble-list .cure").first().textContent(), /\w+ \w+/);
  await until(async () => /camera/.test(await page.locator("#no-picture").textContent()), "the reason in the picture's place");
  await picture(page, "phone-camera-lost");
  await new Promise((done) => { camera.listen(port, here, done); });
  await page.locator("#state.good").waitFor();
  await page.locator("#troubles[hidden]").waitFor({state: "attached"});
  await page.locator("#picture:not([hidden])").waitFor();
  await closeClean(page);
});

test("a camera that a setting stops has that setting for its cure, not its cable", async () => {
  const page = await openPage(daemon.url);
  const told = await page.evaluate(async () => {
    const {troublesOf} = await import("/web/health.js?v=alone");  // beside the page's own
    const camera = (detail) => troublesOf({board: {}, camera: {state: "failed", kind: "attached", source: "camera", detail}})[0];
    return ["camera imx708 cannot turn the picture as camera.rotation, camera.hflip and camera.vflip say", "no camera."].map(camera);
  });
  assert.deepEqual(told.map(({place}) => place), ["settings-card", undefined]);
  assert.match(told[0].cure, /Take the setting that is named back/);
  assert.match(told[1].cure, /cable/);
  await closeClean(page);
});

test("without camera, model and history the page stands and says so", async () => {
  const poor = await startDaemon({state: null, sets: ["source=images:/no/such/folder", "model.path=/no/such/model.onnx"]});
  const page = await openPage(poor.url, {wait: "#troubles:not([hidden])"});
  page.expected.push(/503/, /404.*\/api\/v1\/model$/);
  await until(async () => await page.locator("#trouble-list li").count() === 2, "both troubles");
  const told = await page.locator("#trouble-list").innerText();
  assert.match(told, /no camera[\s\S]*\/no\/such\/folder[\s\S]*Is `source` in the settings right/);
  assert.doesNotMatch(told, /ribbon cable/, "there is none to a folder");
  assert.match(told, /No model answers[\s\S]*\/no\/such\/model\.onnx[\s\S]*Use another one, or fetch one[\s\S]*Models/);
  await openTab(page, "visits");
  await page.locator("#visits-empty", {hasText: "No visits yet."}).waitFor();
  assert.ok(await troubles(page).isVisible(), "what is wrong is told on every tab");
  assert.match(await page.locator("#health-list").textContent(), /in memory only/);
  await closeClean(page);
  await poor.stop();
});

test("a model without recipe and names is told with what helps", async () => {
  const bare = join(scratchFolder(), "bird.onnx");
  copyFileSync(join(process.env.SOURCE_FOLDER, "models/demo/kinglet-demo.onnx"), bare);
  const device = await startDaemon({sets: [...quick, `model.path=${bare}`]});
  const page = await openPage(device.url, {wait: "#troubles:not([hidden])", headers: await claim(device)});
  const told = await until(async () => await page.locator("#trouble-list li").count() === 2 && page.locator("#trouble-list").innerText(), "both");
  assert.match(told, /how pictures become the model's input[\s\S]*bird[\s\S]*which library[\s\S]*no names[\s\S]*Paste the names/);
  await page.locator("#trouble-list").getByRole("link", {name: "Settings › Models"}).first().click();
  await page.locator("#models-card").getByText("model.labels and model.recipe in the configuration file").waitFor();
  await closeClean(page);
  await device.stop();
});

test("a device that does not answer is told, and the page goes on when it comes back", async () => {
  let device = await startDaemon();
  const page = await openPage(device.url);
  page.expected.push(/ERR_|net::/);
  await device.stop();
  await troubles(page).getByText("kingletd does not answer").first().waitFor();
  assert.match(await page.locator("#trouble-list").innerText(), /switched on and in the same network/);
  device = await startDaemon({port: device.port});
  await page.locator("#troubles[hidden]").waitFor({state: "attached"});
  await page.locator("#state.good").waitFor();
  await page.waitForFunction(() => document.getElementById("picture").naturalWidth > 0 && !document.getElementById("picture").hidden);
  await closeClean(page);
  await device.stop();
});

test("what is seen now ends with a pause, on a page that hears of it and on one that has to ask", async () => {
  const device = await startDaemon();
  const headers = await claim(device);
  const control = (what) => fetch(`${device.url}/api/v1/control/${what}`, {method: "POST", headers});
  const page = await openPage(device.url);
  // Sooner than the silence would be told from: five seconds without an answer, then the next statistics. On a busy machine
  // one of many times is enough.
  let soon = false;
  for (let turns = 0; turns < 10 && !soon; ++turns) {
    if (turns) await control("resume");
    await page.locator("#reason", {hasText: "Seen now"}).waitFor();
    const paused = Date.now();
    await control("pause");
    await page.locator("#reason", {hasText: "No answer now"}).waitFor();
    soon = Date.now() - paused < 4000;
  }
  assert.ok(soon, "ten times only the silence told it");
  assert.equal(await page.locator("#name").textContent(), "Paused by the owner");
  await closeClean(page);
  await control("resume");
  // All places for readers of events are taken.
  const readers = await Promise.all([1, 2, 3].map(() => fetch(`${device.url}/api/v1/events`)));
  const asking = await openPage(device.url);
  asking.expected.push(/503/);
  await asking.locator("#reason", {hasText: "Seen now"}).waitFor();
  await control("pause");
  await asking.locator("#reason", {hasText: "No answer now"}).waitFor();
  for (let turns = 0; turns < 20; ++turns) {
    assert.equal(await asking.locator("#reason").textContent(), "No answer now");
    await new Promise((done) => { setTimeout(done, 200); });
  }
  await closeClean(asking);
  for (const reader of readers) await reader.body.cancel();
  await device.stop();
});

test("where nothing is looked at it is said why", async () => {
  const page = await openPage(daemon.url);
  await fetch(`${daemon.url}/api/v1/control/pause`, {method: "POST", headers: await claim(daemon)});
  await page.locator("#name", {hasText: "Paused by the owner"}).waitFor();
  assert.equal(await page.locator("#reason").textContent(), "No answer now");
  await closeClean(page);
});
