// SPDX-License-Identifier: Apache-2.0
// Why: the owner sets what may be set: sees the difference before it is kept, undoes it, and is told what is wrong where it is.
import assert from "node:assert/strict";
import {before, test} from "node:test";
import {assertAccessible, assertFits, claim, closeClean, openPage, openSettings, picture, startDaemon, until} from "./support.mjs";

let daemon;
let headers;
before(async () => {
  daemon = await startDaemon();
  headers = await claim(daemon);
});

const key = async (name) => (await daemon.ask("/api/v1/config", {headers})).keys[name];
const row = (page, name) => page.locator(`#settings-list [data-key="${name}"]`);

async function settingsPage(options) {
  const page = await openPage(daemon.url, {...options, tab: "settings", headers, wait: null});
  await page.locator("#settings-list div").first().waitFor();
  await page.locator("#settings-changed").uncheck();
  return page;
}

async function open(page, name) {
  await row(page, name).getByRole("button", {name: `Change: ${name}`}).click();
  return row(page, name).locator("form");
}

// Another browser of the owner's.
async function elsewhere(change) {
  const {status} = await fetch(`${daemon.url}/api/v1/config`, {
    method: "PATCH", body: JSON.stringify(change),
    headers: {...headers, "If-Match": "*", "Content-Type": "application/merge-patch+json"}});
  assert.equal(status, 200);
}

// The last that is done in a form.
async function press(form, name) {
  await form.getByRole("button", {name}).click();
  await form.waitFor({state: "detached"});
}

test("a number is changed with a keyboard, shown as a difference first, and undone", async () => {
  const page = await settingsPage();
  await row(page, "decide.min_score").getByRole("button").focus();
  await page.keyboard.press("Enter");
  const form = row(page, "decide.min_score").locator("form");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("0.75");
  assert.equal(await form.locator("output").textContent(), "0.5 → 0.75");
  assert.match(await form.textContent(), /0 to 1 · default 0.5 · counts at once/);
  await assertAccessible(page, "a setting's form");
  await assertFits(page, "a setting's form");
  await form.scrollIntoViewIfNeeded();
  await picture(page, "phone-setting");
  await page.keyboard.press("Enter");
  await page.locator("#settings-newest", {hasText: "decide.min_score the default → 0.75 (owner, "}).waitFor();
  assert.equal((await key("decide.min_score")).value, 0.75);
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Change: decide.min_score");
  await page.getByRole("button", {name: "Undo", exact: true}).last().click();
  await page.locator("#settings-undo").waitFor({state: "hidden"});
  assert.equal((await key("decide.min_score")).value, 0.5);
  await closeClean(page);
});

test("a number may begin with its point, and what is none is told", async () => {
  const page = await settingsPage();
  const form = await open(page, "decide.min_margin");
  const save = form.getByRole("button", {name: "Save"});
  const type = async (keys) => {
    await form.getByRole("spinbutton").focus();
    await page.keyboard.press("Control+A");
    await page.keyboard.type(keys);
  };
  await type("e");
  await form.getByRole("alert").getByText("not written as it has to be").waitFor();
  assert.equal(await save.isDisabled(), true);
  await type(".25");
  assert.match(await form.locator("output").textContent(), / → 0\.25$/);
  assert.equal(await form.getByRole("alert").isVisible(), false);
  await form.getByRole("spinbutton").fill("");
  assert.equal(await save.isDisabled(), true);
  assert.equal(await form.getByRole("alert").isVisible(), false, "who clears it is about to type");
  await type(".25");
  await press(form, "Save");
  assert.equal((await key("decide.min_margin")).value, 0.25);
  await closeClean(page);
});

test("each kind has its control, and a default is taken up again", async () => {
  const page = await settingsPage();
  for (const [name, range] of [["gate.hold", "0ms to 10m"], ["store.quota", "16MiB to 16384GiB"], ["visits.new_after", "1d to 2y"]]) {
    await (await open(page, name)).getByText(`${range} · default`).waitFor();
  }
  let form = await open(page, "look.propose");
  await form.getByRole("combobox").selectOption("where something moves (motion)");
  assert.equal(await form.locator("output").textContent(), "as the model's recipe says (auto) → where something moves (motion)");
  await press(form, "Save");
  await row(page, "look.propose").getByText("where something moves (motion)", {exact: true}).waitFor();
  form = await open(page, "gate.motion");
  await form.getByRole("checkbox").uncheck();
  assert.equal(await form.locator("output").textContent(), "on → off");
  await press(form, "Save");
  form = await open(page, "decide.block");
  await form.getByRole("textbox").fill("Plain demothrush\n\n Golden demofinch ");
  await press(form, "Save");
  form = await open(page, "decide.scores");
  await form.getByRole("textbox").fill('{"Plain demothrush": 0.9, "Golden demofinch": 0.8}');
  await press(form, "Save");
  form = await open(page, "decide.scores");
  await form.getByRole("textbox").fill('{"Golden demofinch": 0.7}');
  await press(form, "Save");
  assert.equal((await key("look.propose")).value, "motion");
  assert.equal((await key("gate.motion")).value, false);
  assert.deepEqual((await key("decide.block")).value, ["Plain demothrush", "Golden demofinch"]);
  assert.deepEqual((await key("decide.scores")).value, {"Golden demofinch": 0.7});
  form = await open(page, "decide.block");
  await press(form, "Back to the default");
  assert.equal((await key("decide.block")).source, "default");
  await closeClean(page);
});

test("what is wrong is told in the form, and what somebody else changed is not overwritten", async () => {
  const page = await settingsPage();
  page.expected.push(/422/, /412/);
  let form = await open(page, "gate.hours");
  await form.getByRole("textbox").fill("25:00-26:00");
  await form.getByRole("button", {name: "Save"}).click();
  await form.getByRole("alert").getByText("06:30-20:00").waitFor();
  await form.getByRole("button", {name: "Cancel"}).click();
  form = await open(page, "gate.region");
  await form.getByRole("textbox").fill("[0.1, ");
  await form.getByRole("alert").getByText("not written as it has to be").waitFor();
  assert.equal(await form.getByRole("button", {name: "Save"}).isDisabled(), true);
  await form.getByRole("textbox").fill("[0.1, 0.1, 0.5, 0.5]");
  await elsewhere({"decide.max_rest": 0.5});
  await form.getByRole("button", {name: "Save"}).click();
  await until(async () => (await row(page, "decide.max_rest").locator("dd").first().textContent()) === "0.5", "what was changed meanwhile");
  assert.deepEqual((await key("gate.region")).value, []);
  await form.getByRole("alert").getByText("Somebody changed settings meanwhile").waitFor();
  assert.equal(await form.getByRole("textbox").inputValue(), "[0.1, 0.1, 0.5, 0.5]");
  assert.equal(await page.evaluate(() => document.activeElement.id), "setting-gate.region");
  await press(form, "Save");
  assert.deepEqual((await key("gate.region")).value, [0.1, 0.1, 0.5, 0.5]);
  form = await open(page, "gate.region");
  await press(form, "Back to the default");
  await closeClean(page);
});

test("the difference is to what somebody else set meanwhile, and Undo asks again as well", async () => {
  const page = await settingsPage();
  page.expected.push(/412/);
  const form = await open(page, "decide.min_score");
  await form.getByRole("spinbutton").fill("0.75");
  await elsewhere({"decide.min_score": 0.6});
  await form.getByRole("button", {name: "Save"}).click();
  await form.locator("output", {hasText: "0.6 → 0.75"}).waitFor();
  await form.getByRole("button", {name: "Cancel"}).click();
  await elsewhere({"decide.min_score": 0.65});
  await page.locator("#undo-setting").click();
  await page.locator("#settings-problem", {hasText: "Somebody changed settings meanwhile"}).waitFor();
  assert.equal((await key("decide.min_score")).value, 0.65);
  await page.locator("#undo-setting").click();
  await row(page, "decide.min_score").getByText("0.6", {exact: true}).waitFor();
  assert.equal(await page.locator("#settings-problem").isVisible(), false);
  await closeClean(page);
});

test("what waits for a restart says so, and what the owner's files say is not offered", async () => {
  const page = await settingsPage();
  page.expected.push(/409/);
  const form = await open(page, "gate.hot");
  await form.getByRole("spinbutton").fill("70");
  await form.getByRole("button", {name: "Save"}).click();
  await row(page, "gate.hot").getByText("70 from the next start on").waitFor();
  await page.locator("#restart").click();
  await page.locator("#settings-problem", {hasText: "nobody would start the daemon again"}).waitFor();
  assert.equal(await row(page, "gate.max_fps").getByRole("button").count(), 0);  // by --set
  assert.equal(await row(page, "model.path").getByRole("button").count(), 0);
  await closeClean(page);
});

test("after a restart the settings are read again, and the next change is taken", async () => {
  const service = await startDaemon({service: true});
  const page = await openSettings(service, await claim(service), '#settings-list [data-key="source.spec"]');
  page.expected.push(/Failed to load resource/);  // while nobody answers
  await page.locator("#settings-changed").uncheck();
  let form = await open(page, "gate.hot");
  await form.getByRole("spinbutton").fill("70");
  await press(form, "Save");
  await row(page, "gate.hot").getByText("70 from the next start on").waitFor();
  await page.locator("#restart").click();
  await page.locator("#settings-note", {hasText: "Restarting."}).waitFor();
  await service.again();
  await page.locator("#settings-note", {hasText: "Restarting."}).waitFor({state: "detached"});
  await row(page, "gate.hot").getByText("70", {exact: true}).waitFor();
  assert.equal(await row(page, "gate.hot").getByText("from the next start on").count(), 0);
  form = await open(page, "decide.max_rest");
  await form.getByRole("spinbutton").fill("0.6");
  await press(form, "Save");
  await row(page, "decide.max_rest").getByText("0.6", {exact: true}).waitFor();
  await closeClean(page);
});

for (const [locale, word, title, meaning, unit, choice] of [
  ["de-DE", "Ändern", "Besuche", "Bevor es an so vielen Tagen Besuche gab", "Tage", "keine Antwort"],
  ["fr-FR", "Changer", "Visites", "Tant qu'il n'y a pas eu de visites", "jours", "pas de réponse"],
  ["es-ES", "Cambiar", "Visitas", "Mientras no haya habido visitas", "días", "sin respuesta"],
  ["ja-JP", "変更", "訪問", "訪問のあった日がこの数になるまで", "日", "結果なし"],
  ["zh-CN", "更改", "来访", "在有来访的天数达到此值之前", "天", "没有结果"]]) {
  test(`it is the same in ${locale}`, async () => {
    const page = await settingsPage({locale});
    await page.locator("#settings-list").getByRole("heading", {name: title, exact: true}).waitFor();
    await row(page, "visits.first_days").getByRole("button", {name: word}).click();
    await page.getByLabel(meaning).waitFor();
    assert.match(await row(page, "visits.first_days").locator("form").textContent(), new RegExp(` · ${unit} · `));
    await row(page, "decide.unlisted").getByText(`${choice} (refuse)`, {exact: true}).waitFor();
    await row(page, "decide.unlisted").getByRole("button", {name: word}).click();
    assert.equal(await row(page, "decide.unlisted").locator("option:checked").textContent(), `${choice} (refuse)`);
    await row(page, "node.language").getByText("English (en)").waitFor();
    await assertFits(page, locale);
    await closeClean(page);
  });
}
