// SPDX-License-Identifier: Apache-2.0
// Why: a running kingletd and Debian's Chromium in front of its page, for the tests of the page. Whatever a browser
// complains of is a fault of the page, unless a test says that it is what it wants.
import assert from "node:assert/strict";
import {spawn} from "node:child_process";
import {mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from "node:fs";
import {createRequire} from "node:module";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {after} from "node:test";

const require = createRequire(`${process.env.PAGE_MODULES}/`);
const {chromium} = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

export const phone = {width: 360, height: 740};
export const tablet = {width: 768, height: 1024};
export const desk = {width: 1280, height: 800};
export const home = "192.168.77.1";  // as home_network.py has it: who calls from there may read, and no more
export const here = "127.0.0.1";
export const patience = 120000;
// Visits that end within seconds.
export const quick = ["source=demo:", "visits.end_after=1s", "store.flush_interval=100ms", "gate.max_fps=30"];

const pictures = process.env.PAGE_PICTURES || join(tmpdir(), "kinglet-page");
const closing = [];
after(async () => { for (const close of closing.reverse()) await close(); });

export function scratchFolder() {
  const folder = mkdtempSync(join(tmpdir(), "kinglet-page-"));
  closing.push(() => rmSync(folder, {recursive: true, force: true}));
  return folder;
}

// A kingletd on a free port, `file` its configuration; one that is a `service` ends to be started again. `url`; `stop()`; `ask(path)`;
// `again()`: once it has ended by itself, the next one in its place.
export async function startDaemon({sets = quick, address = here, state = scratchFolder(), port = 0, file = "", service = false} = {}) {
  const settings = join(scratchFolder(), "kinglet.toml");
  writeFileSync(settings, file);
  const all = [`http.listen=${address}:${port}`, ...(state ? [`store.path=${state}`] : []), ...sets];
  const child = spawn("sh", ["-c", `${service ? "SYSTEMD_EXEC_PID=$$" : ""} exec "$0" "$@"`, process.env.KINGLETD, "--config", settings,
                             "--for", "40m", ...all.flatMap((set) => ["--set", set])], {stdio: ["ignore", "ignore", "pipe"]});
  const ended = new Promise((done) => { child.on("exit", done); });
  const stop = async () => { child.kill(); await ended; };
  closing.push(stop);
  let log = "";
  const url = await new Promise((found, failed) => {
    child.stderr.on("data", (bytes) => {
      log += bytes;
      const address = /open (https?:\/\/[0-9.]+:\d+)\//.exec(log);
      if (address) found(address[1]);
    });
    ended.then(() => failed(new Error(`kingletd did not open its page:\n${log}`)));
  });
  const ask = async (path, options) => (await fetch(url + path, options)).json();
  const again = async () => {
    await ended;
    return startDaemon({sets, address, state, port: Number(new URL(url).port), file, service});
  };
  return {url, stop, ask, again, port: Number(new URL(url).port)};
}

export async function until(condition, what) {
  const deadline = Date.now() + patience;
  while (Date.now() < deadline) {
    const value = await condition();
    if (value) return value;
    await new Promise((done) => { setTimeout(done, 100); });
  }
  throw new Error(`never came true: ${what}`);
}

// A visit that has ended, with its picture.
export const endedVisit = (daemon) => until(
  async () => (await daemon.ask("/api/v1/visits")).items.find((visit) => visit.state === "ended" && visit.links.crop),
  "a visit with its picture");

let browser;
async function theBrowser() {
  if (!browser) {
    browser = await chromium.launch({executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--ignore-certificate-errors"]});
    closing.push(() => browser.close());
  }
  return browser;
}

// What a browser of its own shows of a `tab`: as a person has it after `wait`. `headers`: of who is signed in there.
export async function openPage(url, {size = phone, scheme = "light", locale = "en-GB", tab = "", headers = null, expected = [],
                                     wait = "#name:not(:text-is('\u00a0'))"} = {}) {
  const context = await (await theBrowser()).newContext({viewport: size, colorScheme: scheme, locale, reducedMotion: "reduce"});
  if (headers) {
    const [name, value] = headers.Cookie.split("=");
    await context.addCookies([{name, value, url}]);
  }
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  page.faults = [];
  // With what a test provokes, as regular expressions. A browser wants the first one's header over https only.
  page.expected = [/^error: The Cross-Origin-Opener-Policy header has been ignored/, ...expected];
  const fault = (text) => page.faults.push(text);
  const own = new URL(url).origin;
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) fault(`${message.type()}: ${message.text()} ${message.location().url}`);
  });
  page.on("pageerror", (error) => fault(`exception: ${error.stack}`));
  page.on("request", (request) => {
    if (!/^(blob|data):/.test(request.url()) && new URL(request.url()).origin !== own) fault(`asked elsewhere: ${request.url()}`);
  });
  await page.exposeFunction("reportViolation", (text) => fault(`against the policy: ${text}`));
  await page.addInitScript(() => document.addEventListener("securitypolicyviolation",
    (event) => window.reportViolation(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`)));
  await page.goto(tab ? `${url}/#${tab}` : url);
  if (wait) await page.locator(wait).first().waitFor({state: "attached"});
  return page;
}

// The headers of who claims a device that is new.
export async function claim(daemon) {
  const answer = await fetch(`${daemon.url}/api/v1/session`, {method: "POST", body: '{"claim": true}',
                                                              headers: {"Content-Type": "application/json"}});
  return {Cookie: answer.headers.get("set-cookie").split(";")[0], "Sec-Fetch-Site": "same-origin"};
}

export async function openTab(page, name) {
  await page.locator(`#tab-${name}`).click();
  await page.locator(`#panel-${name}`).waitFor();
}

// The owner's settings, once that part of them is there.
export async function openSettings(daemon, headers, part, options) {
  const page = await openPage(daemon.url, {...options, headers, wait: null});
  await openTab(page, "settings");
  await page.locator(part).waitFor();
  return page;
}

export async function closeClean(page) {
  await page.unrouteAll({behavior: "wait"});
  const faults = page.faults.filter((fault) => !page.expected.some((allowed) => allowed.test(fault)));
  await page.context().close();
  assert.deepEqual(faults, []);
}

export async function picture(page, name) {
  mkdirSync(pictures, {recursive: true});
  await page.screenshot({path: join(pictures, `${name}.png`)});
}

export async function assertAccessible(page, what) {
  await page.evaluate(axe);
  const {violations, passes} = await page.evaluate(() => window.axe.run());
  assert.ok(passes.length > 15, `${what}: only ${passes.length} rules had something to look at`);
  const told = violations.flatMap(({id, nodes}) => nodes.map((node) => `${what}: ${id}: ${node.html.slice(0, 120)} ${node.failureSummary}`));
  assert.deepEqual(told, []);
}

export async function assertFits(page, what) {
  const [shown, needed] = await page.evaluate(() => [window.innerWidth, document.documentElement.scrollWidth]);
  assert.equal(needed, shown, `${what}: the page is wider than the screen`);
  const wide = await page.locator(".card:visible").evaluateAll((cards) =>
    cards.filter((card) => card.scrollWidth > card.clientWidth).map((card) => card.id || card.innerText.slice(0, 60)));
  assert.deepEqual(wide, [], `${what}: cards whose content is wider than they are`);
}
