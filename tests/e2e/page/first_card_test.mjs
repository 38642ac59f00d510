// SPDX-License-Identifier: Apache-2.0
// Why: a new owner is led from a drawn scene to a model of real birds by one tap, or by a file where there is no internet.
import assert from "node:assert/strict";
import {createHash} from "node:crypto";
import {readFileSync, writeFileSync} from "node:fs";
import {createServer} from "node:http";
import {join} from "node:path";
import {after, test} from "node:test";
import {assertAccessible, assertFits, claim, closeClean, here, openPage, openTab, picture, quick, scratchFolder, startDaemon, until} from "./support.mjs";

process.env.no_proxy = "*";
const file = join(process.env.SOURCE_FOLDER, "tests/fuzz/corpus/tflite/small_classifier.tflite");
const body = readFileSync(file);
const mirror = createServer((request, response) => response.end(body));
const port = await new Promise((done) => { mirror.listen(0, here, () => done(mirror.address().port)); });
after(() => mirror.close());

// A device that offers one model. `address`: where it is said to be.
async function startWithModel(address = `http://${here}:${port}/bird.tflite`, file = "", checked = true) {
  const catalogue = join(scratchFolder(), "catalogue.json");
  writeFileSync(catalogue, JSON.stringify({models: [{
    name: "tiny-bird", summary: "five classes for a test", birds: true, checked, addresses: [address],
    sha256: createHash("sha256").update(body).digest("hex"), size_bytes: body.length, licence: "CC-BY-4.0",
    licence_address: "https://example.org/licence", terms: "the pictures of iNaturalist", source: "tests",
    recipe: {mean: [127.5, 127.5, 127.5], std: [127.5, 127.5, 127.5]}}]}));
  return startDaemon({file, sets: [...quick, `model.catalogue=${catalogue}`]});
}

async function openAsOwner(daemon, options) {
  const page = await openPage(daemon.url, options);
  await page.locator("#claim").click();
  await page.locator("#first-card:not([hidden])").waitFor();
  return page;
}

// A file of one's own in the step of the model.
async function giveModel(page, file) {
  await button(page, "Next").click();
  await card(page).getByText("A file of your own").click();
  await card(page).getByLabel("A classifier as ONNX").setInputFiles(file);
}

const card = (page) => page.locator("#first-card");
const button = (page, name) => card(page).getByRole("button", {name, exact: true});
const headersOf = async (page) => ({Cookie: (await page.context().cookies()).map(({name, value}) => `${name}=${value}`).join("; ")});
const openStep = (page, name) => page.locator("#steps-again").getByRole("button", {name}).click();
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
  await card(page).getByText("So far only drawn birds are known here.").waitFor();
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

test("a camera that is connected during its step is taken by a restart there", async () => {
  const service = await startDaemon({service: true});
  const page = await openAsOwner(service, {expected: [/Failed to load resource/]});  // while nobody answers
  await card(page).getByText("This picture is drawn").waitFor();
  await button(page, "Restart now").click();
  const told = card(page).getByText("Restarting. The page comes back by itself.");
  await told.waitFor();
  await service.again();
  await told.waitFor({state: "detached"});
  await card(page).getByRole("heading", {name: "Is the camera right?"}).waitFor();
  await closeClean(page);
});

test("where nobody would start it again the step of the camera says so", async () => {
  const page = await openAsOwner(await startWithModel(), {expected: [/409/]});
  await button(page, "Restart now").click();
  await card(page).getByRole("alert").getByText("nobody would start the daemon again").waitFor();
  await assertFits(page, "a restart that is refused");
  await closeClean(page);
});

test("who reloads the page is led on from the step that is next, until it is done", async () => {
  const daemon = await startWithModel();
  const page = await openAsOwner(daemon);
  const comesAgain = async (title) => {
    await page.reload();
    await card(page).getByRole("heading", {name: title}).waitFor();
  };
  await button(page, "Next").click();
  await card(page).getByRole("button", {name: "Fetch and use: tiny-bird"}).click();
  await card(page).getByText("tiny-bird names the birds now.").first().waitFor();
  await card(page).getByText("So far only drawn birds are known here.").waitFor({state: "hidden"});
  await comesAgain("Where is the feeder?");
  await button(page, "Back").click();
  await card(page).getByText("tiny-bird names the birds now.").first().waitFor();
  await button(page, "Next").click();
  await button(page, "Next").click();
  await comesAgain("Which language?");
  await openTab(page, "settings");
  await openStep(page, "Which birds?");
  await button(page, "Done").click();
  await card(page).getByRole("heading", {name: "Which language?"}).waitFor();
  await button(page, "Next").click();
  await comesAgain("Messages to the phone?");
  await button(page, "Done").click();
  await page.reload();
  await openTab(page, "settings");
  await page.locator("#steps-again button").first().waitFor();
  assert.equal(await card(page).isHidden(), true);
  await closeClean(page);
});

test("what was sent away stays away, and each step comes again from the settings", async () => {
  const daemon = await startWithModel();
  const page = await openAsOwner(daemon);
  await button(page, "Not now").click();
  await page.reload();
  await openTab(page, "settings");
  await page.locator("#steps-again button").first().waitFor();
  assert.equal(await card(page).isHidden(), true);
  await page.locator("#steps-again").getByRole("button", {name: "Which language?"}).click();
  await card(page).getByLabel("Language").selectOption("de");
  await card(page).getByRole("heading", {name: "Welche Sprache?"}).waitFor();
  const {keys} = await daemon.ask("/api/v1/config", {headers: await headersOf(page)});
  assert.equal(keys["node.language"].value, "de", "messages follow");
  await button(page, "Fertig").click();
  assert.equal(await card(page).isHidden(), true);
  await closeClean(page);
});

// Also where the page was opened there, and has shown no picture before.
for (const tab of ["birds", "settings"]) {
  test(`aiming shows the picture and how sharp it is from the settings of a page that was opened at #${tab}`, async () => {
    const daemon = await startWithModel();
    const headers = await claim(daemon);
    const page = await openPage(daemon.url, {tab, headers, wait: null});
    await button(page, "Not now").click();
    await openTab(page, "settings");
    await openStep(page, "Is the camera right?");
    await button(page, "Aim and focus").click();
    await page.waitForFunction(() => document.getElementById("aim-picture").naturalWidth > 0);
    await until(async () => /^\d+%$/.test(await page.locator("#sharpness-text").textContent()), "a sharpness");
    await page.locator("#aim-close").click();
    await until(async () => (await daemon.ask("/api/v1/stats")).streams.mjpeg === 0, "nobody has a stream out of sight");
    await button(page, "Done").click();
    await closeClean(page);
  });
}

test("without internet it says why and takes the file itself", async () => {
  const daemon = await startWithModel("http://127.0.0.1:1/bird.tflite");
  const page = await openAsOwner(daemon);
  await button(page, "Next").click();
  await card(page).getByRole("button", {name: "Fetch and use: tiny-bird"}).click();
  await card(page).getByRole("alert").getByText("check the network").waitFor();
  await card(page).getByText("No internet here?").click();
  const picker = card(page).getByLabel("Open the address with another computer");
  await picker.setInputFiles(join(process.env.SOURCE_FOLDER, "models/demo/kinglet-demo.onnx"));
  await card(page).getByRole("alert").getByText("not the catalogue's file of \"tiny-bird\"").waitFor();
  await card(page).getByRole("alert").getByText("a name of its own").waitFor();
  assert.equal((await daemon.ask("/api/v1/model")).name, "kinglet-demo");
  await picker.setInputFiles(file);
  await answering(daemon, "tiny-bird");
  await card(page).getByText("tiny-bird names the birds now.").first().waitFor();
  assert.deepEqual((await daemon.ask("/api/v1/model")).preprocess.mean, [127.5, 127.5, 127.5]);
  await closeClean(page);
});

test("a model that nobody has tried is marked", async () => {
  const page = await openAsOwner(await startWithModel(undefined, "", false));
  await button(page, "Next").click();
  await card(page).getByText("not tried by us: size and digest are its publisher's").waitFor();
  await assertAccessible(page, "a model that nobody has tried");
  await closeClean(page);
});

test("a file of one's own that lacks something waits on the card until that is said", async () => {
  const daemon = await startWithModel();
  const page = await openAsOwner(daemon);
  await giveModel(page, {name: "garden.onnx", mimeType: "",
    buffer: readFileSync(join(process.env.SOURCE_FOLDER, "models/demo/kinglet-demo.onnx"))});
  await card(page).getByText("garden is here, but lacks something").waitFor();
  await assertFits(page, "a file of one's own on the card");
  assert.equal((await daemon.ask("/api/v1/model")).name, "kinglet-demo");
  await card(page).getByLabel("Names of its classes").fill(readFileSync(join(process.env.SOURCE_FOLDER, "models/demo/kinglet-demo.labels.txt"), "utf8"));
  await card(page).getByLabel("The library it was trained with").selectOption("keras-mobilenet");
  await card(page).getByRole("button", {name: "Save"}).click();
  await card(page).getByText("9 names · recipe known").waitFor();
  await card(page).getByRole("button", {name: "Use: garden"}).click();
  await answering(daemon, "garden");
  await closeClean(page);
});

test("a file that is no model is refused with the reason", async () => {
  const daemon = await startWithModel();
  const page = await openAsOwner(daemon);
  await giveModel(page, {name: "Ünder Bird (2).onnx", mimeType: "", buffer: Buffer.from("no model")});
  await until(async () => (await card(page).getByRole("alert").textContent()).length > 10, "a reason");
  assert.equal((await daemon.ask("/api/v1/models/catalogue")).newest_job.model, "under-bird-2");
  assert.equal((await daemon.ask("/api/v1/model")).name, "kinglet-demo");
  await closeClean(page);
});

test("a tab that was left open does not bring back what was ended in another one", async () => {
  const page = await openAsOwner(await startWithModel());
  const other = await page.context().newPage();
  await other.goto(page.url());
  await button(other, "Not now").click();
  await other.close();
  await button(page, "Next").click();
  await card(page).getByRole("heading", {name: "Which birds?"}).waitFor();
  await page.reload();
  await openTab(page, "settings");
  await page.locator("#steps-again button").first().waitFor();
  assert.equal(await card(page).isHidden(), true);
  await closeClean(page);
});

// The step called `name` of a daemon, in a browser of its own.
async function stepOf(daemon, name, options = {}) {
  const page = await openAsOwner(daemon, options);
  await card(page).getByRole("button", {name: "Not now"}).click();
  await openTab(page, "settings");
  await openStep(page, name);
  return page;
}

test("the place is typed and the region's birds are pasted right on the card", async () => {
  const daemon = await startWithModel();
  const page = await stepOf(daemon, "Where is the feeder?");
  page.expected.push(/422/);
  const place = card(page).getByLabel("Latitude and longitude");
  const values = async () => {
    const {keys} = await daemon.ask("/api/v1/config", {headers: await headersOf(page)});
    return ["gate.latitude", "gate.longitude", "gate.hours"].map((key) => keys[key].value);
  };
  await card(page).getByLabel("Birds of your region").waitFor();
  for (const wrong of ["Berlin", "52.52", "91, 0", "52,5,13,4"]) {
    await place.fill(wrong);
    await card(page).getByRole("button", {name: "Save"}).first().click();
    await card(page).getByRole("alert").getByText("Two numbers are expected").waitFor();
  }
  await place.fill("33.868° S, 151.209° E");
  await page.keyboard.press("Enter");
  await card(page).getByText("Kept.").waitFor();
  assert.deepEqual(await values(), [-33.87, 151.21, "daylight"]);
  for (const [commas, ...wanted] of [["52,52 13,41", 52.52, 13.41], ["48,1; 11,6", 48.1, 11.6], ["59,9° N, 10,7° E", 59.9, 10.7]]) {
    await place.fill(commas);
    await place.press("Enter");
    await until(async () => (await values())[0] === wanted[0], commas);
    assert.deepEqual(await values(), [...wanted, "daylight"], commas);
  }
  assert.equal(await place.inputValue(), "59.9, 10.7");
  await card(page).getByLabel("Birds of your region").fill("Golden demofinch\nDodo\n");
  await card(page).getByRole("button", {name: "Save"}).last().click();
  await card(page).getByText("1 of the model's birds · Names not found: 1").waitFor();
  await card(page).getByText("Which ones?").click();
  await card(page).getByText("Dodo").last().waitFor();
  await assertAccessible(page, "where the feeder is, beside the same among the settings");
  await assertFits(page, "where the feeder is");
  await card(page).scrollIntoViewIfNeeded();
  await picture(page, "phone-first-card-where");
  await card(page).getByLabel("Look by day only").uncheck();
  await place.fill("");
  await card(page).getByRole("button", {name: "Save"}).first().click();
  await until(async () => (await values()).join() === "0,0,always", "no place and no hours");
  await closeClean(page);
});

test("a browser that tells where it is fills in the place, and one that does not says so", async () => {
  const daemon = await startWithModel();
  const page = await stepOf(daemon, "Where is the feeder?");
  await page.context().setGeolocation({latitude: 48.8584, longitude: 2.2945});
  await page.context().grantPermissions(["geolocation"]);
  const here = card(page).getByRole("button", {name: "Use this device's position"});
  await here.click();
  await until(async () => (await card(page).getByLabel("Latitude and longitude").inputValue()) === "48.86, 2.29", "the place");
  await page.context().clearPermissions();
  await here.click();
  await card(page).getByRole("alert").getByText("type the place").waitFor();
  await closeClean(page);
});

test("what the owner's file says of the place is shown, and changed there", async () => {
  const daemon = await startWithModel(undefined, "[gate]\nlatitude = 52.5\nlongitude = 13.4\n");
  const page = await stepOf(daemon, "Where is the feeder?", {scheme: "dark"});
  await card(page).getByText("kinglet.toml:2").waitFor();
  assert.equal(await card(page).getByLabel("Latitude and longitude").isEditable(), false);
  assert.equal(await card(page).getByLabel("Latitude and longitude").inputValue(), "52.5, 13.4");
  await assertAccessible(page, "a place that is kept in a file, in the dark");
  await closeClean(page);
});

test("a service of messages is chosen on the card, and one is sent now", async () => {
  const taken = [];
  const phone = createServer((request, response) => {
    taken.push(request.url);
    response.end("{}");
  });
  const place = await new Promise((done) => { phone.listen(0, here, () => done(`http://${here}:${phone.address().port}`)); });
  after(() => phone.close());
  const own = `[[notify]]\nname = "ours"\nservice = "ntfy"\nto = "birds"\nserver = "${place}"\nevents = []\n`;
  const daemon = await startWithModel(undefined, own);
  const page = await stepOf(daemon, "Messages to the phone?");
  await card(page).getByRole("button", {name: "Send me one now: ours"}).click();
  await card(page).getByText("Sent.").waitFor();
  assert.deepEqual(taken, ["/birds"]);
  await card(page).getByRole("button", {name: "Add a service"}).click();
  await card(page).getByLabel("Service").selectOption("telegram");
  await card(page).getByLabel("Id of the chat").fill("-1234");
  await card(page).getByLabel("Token of your bot").fill("123:secret");
  assert.equal(await card(page).getByLabel("Quiet hours").isVisible(), false);
  await card(page).getByText("Which messages, and when").click();
  await card(page).getByLabel("the first of the day").check();
  await assertAccessible(page, "a service of messages on the card, beside the same among the settings");
  await assertFits(page, "a service of messages on the card");
  await card(page).scrollIntoViewIfNeeded();
  await picture(page, "phone-first-card-messages");
  await card(page).getByRole("button", {name: "Save"}).click();
  await card(page).getByRole("button", {name: "Send me one now: telegram"}).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Send me one now: telegram");
  await card(page).getByRole("button", {name: "Remove: telegram"}).click();
  await card(page).getByRole("button", {name: "Remove: telegram"}).waitFor({state: "detached"});
  await closeClean(page);
});

for (const [locale, where, messages] of [["de-DE", "Wo steht das Futterhaus?", "Nachrichten aufs Telefon?"],
                                         ["fr-FR", "Où est la mangeoire ?", "Des messages sur le téléphone ?"],
                                         ["es-ES", "¿Dónde está el comedero?", "¿Mensajes al teléfono?"],
                                         ["ja-JP", "餌台はどこにありますか？", "スマートフォンに通知しますか？"],
                                         ["zh-CN", "喂食器在哪里？", "要发消息到手机吗？"]]) {
  test(`place and messages are the same in ${locale}, with a form that stands ready`, async () => {
    const page = await openAsOwner(await startWithModel(), {locale});
    const next = card(page).locator("button.main").last();
    await next.click();
    await next.click();
    await card(page).getByRole("heading", {name: where}).waitFor();
    await card(page).locator("textarea").waitFor();
    await assertFits(page, `${locale}: where`);
    await next.click();
    await next.click();
    await card(page).getByRole("heading", {name: messages}).waitFor();
    await card(page).locator("input[name=to]").waitFor();
    await assertFits(page, `${locale}: messages`);
    await closeClean(page);
  });
}

test("nobody but an owner sees it", async () => {
  const daemon = await startWithModel();
  const page = await openPage(daemon.url);
  await page.locator("#claim").waitFor();
  assert.equal(await card(page).isHidden(), true);
  await closeClean(page);
});
