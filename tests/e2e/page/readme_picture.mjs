// SPDX-License-Identifier: Apache-2.0
// Why: makes docs/page.png, the picture with which the README begins: the real daemon with the bird model of the corpus, before
// which photographs are held whose authors are known and let them be shown (docs/page.md names them).
//   PAGE_MODULES=... KINGLETD=... python3 tests/e2e/page/run.py tests/e2e/page/readme_picture.mjs
import assert from "node:assert/strict";
import {mkdirSync, readFileSync, symlinkSync, writeFileSync} from "node:fs";
import {extname, join, resolve} from "node:path";
import {test} from "node:test";
import {desk, openPage, scratchFolder, startDaemon, until} from "./support.mjs";

const source = process.env.SOURCE_FOLDER;
const corpus = resolve(process.env.KINGLET_CORPUS || join(source, "../shared/corpus"));
const birds = [...["yellow_rumped_warbler", "lesser_goldfinch", "white_crowned_sparrow", "junco", "house_sparrow"].map(
  (bird) => `photos/${bird}_150.jpg`), "photos/red_winged_blackbird.jpg"];
// What a screenshot under CC BY-SA 4.0 may show when its makers are named, and they can be: "CC BY-SA 4.0, A. Name (where)".
const allowed = /^(public domain|CC BY(-SA)? [0-9.]+), \p{L}/u;
const held = 14;  // pictures in a row of each, so that it is a visit

// The photographs one after the other, as if each bird sat there for some seconds.
function feeder() {
  const {photos} = JSON.parse(readFileSync(join(corpus, "corpus.json"), "utf8"));
  const folder = join(scratchFolder(), "feeder");
  mkdirSync(folder);
  birds.forEach((file, bird) => {
    const {licence} = photos.find((one) => one.file === file);
    assert.match(licence, allowed, file);
    for (let turn = 0; turn < held; ++turn) {
      symlinkSync(join(corpus, file), join(folder, `${bird}_${String(turn).padStart(2, "0")}${extname(file)}`));
    }
  });
  return folder;
}

test(`the page with the birds of ${birds.length} photographs, as the README shows it`, async () => {
  const recipe = join(scratchFolder(), "bird.recipe.json");
  writeFileSync(recipe, JSON.stringify({mean: [128, 128, 128], std: [128, 128, 128], resize_mode: "stretch"}));
  const daemon = await startDaemon({sets: [
    `source=images:${feeder()}?fps=3`, `model.path=${corpus}/models/bird_mobilenetv2_fp32.onnx`, "look.propose=whole",
    `model.labels=${corpus}/labels/inat_bird_965.txt`, `model.recipe=${recipe}`, "visits.end_after=1s", "store.flush_interval=100ms"]});
  const seen = async () => (await daemon.ask("/api/v1/visits?limit=50")).items.filter((visit) => visit.links.crop);
  await until(async () => new Set((await seen()).map((visit) => visit.species_id)).size >= birds.length, "a visit of each bird");
  const page = await openPage(daemon.url, {size: desk});
  await page.locator("#picture:not([hidden])").waitFor();
  await page.waitForFunction(() => [...document.images].filter((one) => one.naturalWidth > 0).length >= 6);
  await page.locator("#now", {hasText: "Red-winged Blackbird"}).waitFor();  // of them the picture that is large
  await page.screenshot({path: process.env.README_PICTURE || join(source, "docs/page.png")});
  await page.context().close();
  await daemon.stop();
});
