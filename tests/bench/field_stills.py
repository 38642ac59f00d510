#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How sure an answer to one picture has to be: birds of the corpus in drawn gardens (30 to 100 % of the picture's height),
drawn gardens and photographs with no bird, asked of `kinglet classify`; for each decide.min_score and decide.max_rest how many
are named, rightly and wrongly, and how many pictures of nobody get a name.

  ./dev exec --with test,oracle python3 tests/bench/field_stills.py --kinglet build/release/bin/kinglet

Genera and background are left as they are. Needs Pillow; without a corpus it says so and ends with 77."""
import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from field import MODEL, SKIPPED, accepted_names, field_scenes, recipe_of

HEIGHTS = (1.0, 0.8, 0.6, 0.5, 0.4, 0.3)
GARDENS = 3  # for each bird and height
EMPTY_GARDENS = 200
MARGIN = 0.15  # decide.min_margin
SCORES = (0.7, 0.6, 0.55, 0.5, 0.45, 0.4)
RESTS = (0.24, 0.3, 0.4, 0.5, 1.0)


def picture_of(scene, corpus, t):
    garden = field_scenes.Garden(scene)
    picture = garden.at(t)
    field_scenes.draw_thing(scene, picture, t)
    for stay in scene.stays:
        field_scenes.Bird(stay, corpus).paste(picture, t)
    return field_scenes.jpeg_of(garden.finish(picture, t))


def pictures(corpus, accepted):
    """(name, kind, right names, bytes of a JPEG)."""
    dice = random.Random(3)
    for height in HEIGHTS:
        for place in range(GARDENS):
            for species, photo in field_scenes.birds_of(corpus):
                name = f"{height:.0%}_{place}_{Path(photo).stem}"
                stay = field_scenes.Stay(species, photo, 0, 10, dice.uniform(0.3, 0.7), 0.5, min(height, 0.98), hops=False)
                scene = field_scenes.Scene(name, "", 10, [stay], wind=3)
                yield name, f"bird at {height:.0%}", accepted[photo] | {species}, picture_of(scene, corpus, 5.0)
    for i in range(EMPTY_GARDENS):
        scene = field_scenes.Scene(f"empty {i}", "", 60, wind=dice.uniform(0, 16), rain=dice.choice((0, 0, 60)),
                                   light=dice.uniform(0, 0.3), night=dice.random() < 0.15,
                                   thing=dice.choice(("", "", "", "patch", "overlay", "feeder", "squirrel")))
        yield f"empty_{i}", "drawn, nobody", set(), picture_of(scene, corpus, 30 + dice.uniform(0, 20))
    for photo in json.loads((corpus / "corpus.json").read_text())["photos"]:
        if photo.get("accept", {}).get("inat_bird") or "bird" in photo["content"] or photo.get("decoded") is None:
            continue
        if min(photo["decoded"]["size"]) < 200 or "macaw" in photo["content"]:
            continue
        whole = field_scenes.open_photo(corpus / photo["file"], 512)
        parts = [(0, 0, 1, 1)] + [(x / 4, y / 4, x / 4 + 0.5, y / 4 + 0.5) for x in range(3) for y in range(3)]
        for i, (left, top, right, bottom) in enumerate(parts):
            box = (whole.width * left, whole.height * top, whole.width * right, whole.height * bottom)
            yield (f"nobody_{Path(photo['file']).stem}_{i}", "photograph, nobody", set(),
                   field_scenes.jpeg_of(whole.crop(tuple(map(round, box)))))


def classify(kinglet, corpus, folder, recipe, labels):
    done = subprocess.run([kinglet, "classify", corpus / MODEL, folder, "--labels", labels, "--recipe", recipe, "--top", "6",
                           "--threads", "1", "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"field_stills.py: {done.stderr.strip()}")
    return {Path(picture["file"]).stem: picture for picture in json.loads(done.stdout)["pictures"]}


def is_named(answer, min_score, max_rest):
    scores = [entry["score"] for entry in answer["top"]]
    if answer["outcome"] == "background" or answer["top"][0]["species_id"] == "background":
        return False
    return scores[0] >= min_score and scores[0] - scores[1] >= MARGIN and 1 - sum(scores[:5]) <= max_rest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = Path(__file__).resolve().parents[2]
    parser.add_argument("--kinglet", type=Path, required=True)
    parser.add_argument("--corpus", type=Path, default=here / ".." / "shared" / "corpus")
    options = parser.parse_args()
    if not (options.corpus / "corpus.json").exists() or field_scenes is None:
        print("skipped: no corpus of models and photographs (../shared/corpus or --corpus), or no Pillow")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as work:
        recipe, labels = recipe_of(options.corpus, work, [])
        folder = Path(work) / "pictures"
        folder.mkdir()
        asked = {}
        for name, kind, right, jpeg in pictures(options.corpus, accepted_names(options.corpus)):
            (folder / f"{name}.jpg").write_bytes(jpeg)
            asked[name] = (kind, right)
        answers = classify(options.kinglet, options.corpus, folder, recipe, labels)
    kinds = list(dict.fromkeys(kind for kind, _ in asked.values()))
    print("| min_score | max_rest | " + " | ".join(kinds) + " |")
    print("| --- " * (len(kinds) + 2) + "|")
    for max_rest in RESTS:
        for min_score in SCORES:
            cells = []
            for kind in kinds:
                of_kind = {name: right for name, (its, right) in asked.items() if its == kind}
                named = [name for name in of_kind if is_named(answers[name], min_score, max_rest)]
                right = sum(answers[name]["top"][0]["species_id"] in of_kind[name] for name in named)
                cells.append(f"{right} right, {len(named) - right} wrong of {len(of_kind)}" if "bird" in kind else
                             f"{len(named)} of {len(of_kind)}")
            print(f"| {min_score} | {max_rest} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
