// SPDX-License-Identifier: Apache-2.0
// Why: a new owner is led from a drawn scene to a model of real birds by one tap, or by a file where there is no internet.
import assert from "node:assert/strict";
import {createHash} from "node:crypto";
import {readFileSync, writeFileSync} from "node:fs";
import {createServer} from "node:http";
import {join} from "node:path";
import {after, test} from "node:test";
import {assertAccessible, assertFits, closeClean, here, openPage, openTab, picture, quick, scratchFolder, startDaemon, until} from "./support.mjs";

process.env.no_proxy = "*";
const file = join(process.env.SOURCE_FOLDER, "tests/fuzz/corpus/tflite/small_classifier.tflite");
const body = readFileSync(file);
const mirror = createServer((request, response) => response.end(body));
const port = await new Promise((done) => { mirror.listen(0, here, () => done(mirror.address().port)); });
after(() => mirror.close());

// A device that offers one model. `address`: where it is said to be.
async function startWithModel(address = `http://${here}:${port}/bird.tflite`) {
  const catalogue = join(scratchFolder(), "catalogue.json");
  writeFileSync(catalogue, JSON.stringify({models: [{
    name: "tiny-bird", summary: "five classes for a test", birds: true, checked: true, addresses: [address],
    sha256: createHash("sha256").update(body).digest("hex"), size_bytes: body.length, licence: "CC-BY-4.0",
    licence_address: "https://example.org/licence", terms: "the pictures of iNaturalist", source: "tests",
    recipe: {mean: [127.5, 127.5, 127.5], std: [127.5, 127.5, 127.5]}}]}));
  return startDaemon({sets: [...quick, `model.catalogue=${catalogue}`]});
}

async function openAsOwner(daemon, options) {
  const page = await openPage(daemon.url, options);
  await page.locator("#claim").click();
  await page.locator("#first-card:not([hidden])").waitFor();
  return page;
}

const card = (page) => page.locator("#first-card");
const button = (page, name) => card(page).getByRole("button", {name, exact: true});
const answering = (daemon, name) => until(async () => (await daemon.ask("/api/v1/model")).name === name, `${name} answers`);

test("an owner is led through the steps, and a model comes by one tap", async () => {
  const daemon = await startWithModel();
  const page = await openAsOwner(daemon);
  await card(page).getByRole("heading", {name: "Is the camera right?"}).waitFor();
  assert.match(await card(page).innerText(), /First steps · 1 of 5/);
  await card(page).getByText("This picture is drawn").waitFor();
  await page.waitForFunction(() => document.querySelector(".step-picture").naturalWidth === 640);
  await assertAccessible(page, "the first step");
  await button(page, "Aim and focus").click();
  await page.locator("#aim-close").click();
  await button(page, "Next").click();
  await card(page).getByRole("heading", {name: "Which birds?"}).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.id), "first-card-title");
  await card(page).getByRole("heading", {name: "tiny-bird"}).waitFor();
  const told = await card(page).innerText();
  assert.match(told, /MB · CC-BY-4.0/);
  assert.match(told, /non-commercial research and teaching only/);
  assert.match(told, new RegExp(`http://${here}:${port}/bird.tflite`));
  await assertAccessible(page, "the choice of a model");
  await assertFits(page, "the choice of a model");
  await picture(page, "phone-first-card");
  await card(page).getByRole("button", {name: "Fetch and use: tiny-bird"}).click();
  await card(page).getByText("It knows real birds").waitFor();
  await answering(daemon, "tiny-bird");
  for (const title of ["Where is the feeder?", "Which language?", "Messages to the phone?"]) {
    await button(page, "Next").click();
    await card(page).getByRole("heading", {name: title}).waitFor();
  }
  await button(page, "Done").click();
  await page.locator("#first-card[hidden]").waitFor({state: "attached"});
  await closeClean(page);
});

test("what was sent away stays away, and each step comes again from the settings", async () => {
  const page = await openAsOwner(await startWithModel());
  await button(page, "Not now").click();
  await page.reload();
  await openTab(page, "settings");
  await page.locator("#steps-again button").first().waitFor();
  assert.equal(await card(page).isHidden(), true);
  await page.locator("#steps-again").getByRole("button", {name: "Which language?"}).click();
  await card(page).getByLabel("Language").selectOption("de");
  await card(page).getByRole("heading", {name: "Welche Sprache?"}).waitFor();
  await button(page, "Fertig").click();
  assert.equal(await card(page).isHidden(), true);
  await closeClean(page);
});

test("without internet it says why and takes the file itself", async () => {
  const daemon = await startWithModel("http://127.0.0.1:1/bird.tflite");
  const page = await openAsOwner(daemon);
  await button(page, "Next").click();
  await card(page).getByRole("button", {name: "Fetch and use: tiny-bird"}).click();
  await card(page).getByRole("alert").getByText("check the network").waitFor();
  await card(page).getByText("No internet here?").click();
  await card(page).getByLabel("Open the address with another computer").setInputFiles(file);
  await answering(daemon, "tiny-bird");
  await card(page).getByText("tiny-bird names the birds now.").waitFor();
  assert.deepEqual((await daemon.ask("/api/v1/model")).preprocess.mean, [127.5, 127.5, 127.5]);
  await closeClean(page);
});

test("a file that is no model is refused with the reason", async () => {
  const daemon = await startWithModel();
  const page = await openAsOwner(daemon);
  await button(page, "Next").click();
  await card(page).getByText("A file of your own").click();
  await card(page).getByLabel("A classifier as ONNX").setInputFiles({name: "Ünder Bird (2).onnx", mimeType: "", buffer: Buffer.from("no model")});
  await until(async () => (await card(page).getByRole("alert").textContent()).length > 10, "a reason");
  assert.equal((await daemon.ask("/api/v1/models/catalogue")).newest_job.model, "under-bird-2");
  assert.equal((await daemon.ask("/api/v1/model")).name, "kinglet-demo");
  await closeClean(page);
});

test("nobody but an owner sees it", async () => {
  const daemon = await startWithModel();
  const page = await openPage(daemon.url);
  await page.locator("#claim").waitFor();
  assert.equal(await card(page).isHidden(), true);
  await closeClean(page);
});
