// SPDX-License-Identifier: Apache-2.0
// Why: a file of one's own is no dead end: it is given names and a recipe on the page, used, left for another model, and removed.
import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import {join} from "node:path";
import {test} from "node:test";
import {assertAccessible, assertFits, claim, closeClean, openPage, picture, startDaemon, until} from "./support.mjs";

const demo = join(process.env.SOURCE_FOLDER, "models/demo/kinglet-demo.onnx");
const names = readFileSync(join(process.env.SOURCE_FOLDER, "models/demo/kinglet-demo.labels.txt"), "utf8");

const models = (page) => page.locator("#models-card");
const row = (page, name) => page.locator(`#models-card [data-name="${name}"]`);
const press = (page, name) => models(page).getByRole("button", {name, exact: true}).click();
const answering = (daemon) => daemon.ask("/api/v1/model");
const labelsOf = async (daemon) => (await daemon.ask("/api/v1/model/labels")).items.map(({label}) => label);

async function settingsPage(daemon, options = {}) {
  const page = await openPage(daemon.url, {headers: await claim(daemon), tab: "settings", wait: null, ...options});
  await row(page, "kinglet-demo").waitFor();
  return page;
}

async function bring(page, name) {
  await models(page).locator("summary").last().click();
  await models(page).locator("input[accept='.onnx,.tflite']").setInputFiles({name, mimeType: "", buffer: readFileSync(demo)});
}

test("a file without names and recipe is given them, used, left and removed", async () => {
  const daemon = await startDaemon();
  const page = await settingsPage(daemon);
  page.expected.push(/422/);
  await bring(page, "Garden Birds.onnx");
  const garden = row(page, "garden-birds");
  await models(page).getByText("garden-birds is here, but lacks something").waitFor();
  assert.match(await garden.innerText(), /0\.2 MB · .* · checked · 9 classes without names · recipe unknown/);
  assert.equal((await answering(daemon)).name, "kinglet-demo", "nobody used it yet");
  assert.deepEqual(await garden.locator("option").evaluateAll((all) => all.slice(1, 3).map((one) => one.value)), ["torchvision", "torchvision-v2"]);
  await assertAccessible(page, "a model that lacks something");
  await assertFits(page, "a model that lacks something");
  await garden.scrollIntoViewIfNeeded();
  await picture(page, "phone-own-model");

  const box = garden.getByLabel("Names of its classes");
  await box.fill("one\ntwo\n");
  await garden.getByRole("button", {name: "Save"}).click();
  await models(page).getByRole("alert").getByText("2 labels, the model's output has 9 classes").waitFor();
  assert.equal(await box.inputValue(), "one\ntwo\n", "what was typed stays");
  await garden.getByLabel("Or from a file").setInputFiles({name: "birds.txt", mimeType: "text/plain", buffer: Buffer.from(names.replace(/^.*/, "Own bird"))});
  await until(async () => (await box.inputValue()).startsWith("Own bird"), "the file's names");
  await garden.getByLabel("The library it was trained with").selectOption("{");
  await garden.getByLabel("JSON").fill('{"preset": "torchvison"}');
  await garden.getByRole("button", {name: "Save"}).click();
  await models(page).getByRole("alert").getByText("torchvision").waitFor();
  await garden.getByText("9 names · recipe unknown").waitFor();  // the names were kept all the same
  await garden.getByLabel("The library it was trained with").selectOption("keras-mobilenet");
  await garden.getByRole("button", {name: "Save"}).click();
  await garden.getByText("9 names · recipe known").waitFor();
  await press(page, "Use: garden-birds");
  await models(page).getByText("garden-birds names the birds now.").first().waitFor();
  const now = await answering(daemon);
  assert.deepEqual([now.name, now.labels.named, now.preprocess.mean], ["garden-birds", true, [127.5, 127.5, 127.5]]);
  assert.equal((await labelsOf(daemon))[0], "Own bird");
  assert.equal(await garden.getByRole("button", {name: "Remove"}).count(), 0, "the one that answers stays");

  await garden.getByText("Names and recipe").click();
  await box.fill(names.replace(/^.*/, "Another name"));
  await garden.getByRole("button", {name: "Save"}).click();
  await until(async () => (await labelsOf(daemon))[0] === "Another name", "the names of the model that answers");
  await press(page, "Use: kinglet-demo");
  await until(async () => (await answering(daemon)).name === "kinglet-demo", "the model before");
  let asked = "";
  page.once("dialog", (dialog) => { asked = dialog.message(); dialog.dismiss(); });
  await press(page, "Remove: garden-birds");
  assert.equal(asked, "Remove garden-birds for good?");
  page.once("dialog", (dialog) => dialog.accept());
  await press(page, "Remove: garden-birds");
  await garden.waitFor({state: "detached"});
  assert.deepEqual((await daemon.ask("/api/v1/models")).items.map(({name}) => name), ["kinglet-demo"]);
  assert.equal(await page.evaluate(() => document.activeElement.localName), "summary", "the keyboard is not lost");
  await closeClean(page);
});

for (const locale of ["de-DE", "fr-FR", "es-ES", "ja-JP", "zh-CN"]) {
  test(`models fit a phone in ${locale}, also in the dark`, async () => {
    const page = await settingsPage(await startDaemon(), {locale, scheme: "dark"});
    await bring(page, "a-model-with-quite-a-long-name-of-its-own-that-has-to-be-broken-somewhere.onnx");
    await models(page).locator("form").waitFor();
    await assertFits(page, `${locale}: models`);
    await assertAccessible(page, `${locale}: models`);
    await closeClean(page);
  });
}

test("a page of another who may only read offers nothing of it", async () => {
  const daemon = await startDaemon();
  await claim(daemon);
  const page = await openPage(daemon.url, {tab: "settings", wait: null});
  await page.locator("#settings-note").waitFor();
  assert.equal(await models(page).isHidden(), true);
  await closeClean(page);
});
