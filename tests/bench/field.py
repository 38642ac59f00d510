#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the daemon would have told of a feeder: scenes of birds (one to four, 10 to 80 % of the picture's height, hopping
and sitting, by night) and of nobody (wind, rain, light, a squirrel, a swinging feeder, an overlay), played through
`kinglet replay` with the bird model of the corpus.

  ./dev exec --with test,oracle python3 tests/bench/field.py --kinglet build/release/bin/kinglet
  ... --only 'one_20|two' --recipe crop_to_motion=true --visits

Prints, for each kind of scene: birds that came; found (a visit with their name), of the genus only, missed; visits that
double another, with a wrong name, of nobody; median seconds from a bird's arrival to its name. Answers, not times: the
same on every machine. Scenes are drawn once, into --cache. Needs Pillow; without a corpus it says so and ends with 77."""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

SKIPPED = 77
MODEL = "models/bird_mobilenetv2_fp32.onnx"
AROUND = 2  # seconds that a visit may begin before its bird, or last longer


def accepted_names(corpus):
    """Of each photograph: the names that are right for it."""
    names = {}
    for photo in json.loads((corpus / "corpus.json").read_text())["photos"]:
        labels = photo.get("accept", {}).get("inat_bird", [])
        names[photo["file"]] = {label.split(" (")[0].lower().replace(" ", "-") for label in labels}
    return names


def recipe_of(corpus, work, changes):
    entry = next(entry for entry in json.loads((corpus / "corpus.json").read_text())["models"] if entry["file"] == MODEL)
    recipe = {key: entry["preprocess"][key] for key in ("mean", "std")}
    for change in changes:
        key, value = change.split("=", 1)
        recipe[key] = json.loads(value)
    path = Path(work) / "recipe.json"
    path.write_text(json.dumps(recipe))
    return path, corpus / entry["labels"]


def replay(kinglet, recording, settings):
    command = [kinglet, "replay", recording, "--json"]
    for setting in settings:
        command += ["--set", setting]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"field.py: {recording.name}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def span_of(visit, start):
    begin = datetime.fromisoformat(visit["started_at"]).timestamp() - start
    return begin, begin + visit["duration_seconds"]


def names_of(stay, accepted):
    return accepted.get(stay.photo, set()) | {stay.species}


def judge(scene, report, accepted, start):
    """Counts, and the seconds until each name."""
    counts = Counter(birds=len(scene.stays))
    waits = []
    visits = [(visit["species_id"], *span_of(visit, start), visit["named_at_seconds"]) for visit in report["visits"]]
    used = [False] * len(visits)
    for stay in scene.stays:
        wanted = names_of(stay, accepted)
        genera = {name.split("-")[0] for name in wanted}
        mine = [i for i, (name, begin, end, _) in enumerate(visits) if not used[i]
                and begin >= stay.begin - AROUND and begin < stay.end and (name in wanted or name in genera)]
        right = [i for i in mine if visits[i][0] in wanted]
        for i in mine:
            used[i] = True
        counts["found" if right else "genus" if mine else "missed"] += 1
        counts["doubled"] += max(0, len(mine) - 1)
        if right:
            waits.append(visits[right[0]][3] - stay.begin)
    for i, (_, begin, end, _) in enumerate(visits):
        if used[i]:
            continue
        somebody = any(begin < stay.end + AROUND and end > stay.begin - AROUND for stay in scene.stays)
        counts["wrong" if somebody else "false"] += 1
    counts["images"] = report["images"]["total"]
    counts["inferences"] = report.get("inferences", {}).get("total", report["images"]["total"])
    return counts, waits


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = Path(__file__).resolve().parents[2]
    parser.add_argument("--kinglet", type=Path, required=True)
    parser.add_argument("--corpus", type=Path, default=here / ".." / "shared" / "corpus")
    parser.add_argument("--cache", type=Path,
                        default=Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "kinglet" / "field")
    parser.add_argument("--only", default="", help="regular expression of scenes' names")
    parser.add_argument("--places", type=int, default=2, help="where one bird is seen: 1 to 6")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of the configuration")
    parser.add_argument("--recipe", action="append", default=[], metavar="MEMBER=JSON", help="of the model's recipe")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--visits", action="store_true", help="prints each scene's visits, too")
    options = parser.parse_args()
    if not (options.corpus / "corpus.json").exists():
        print("skipped: no corpus of models and photographs (../shared/corpus or --corpus)")
        sys.exit(SKIPPED)
    try:
        import field_scenes
    except ImportError as missing:
        print(f"skipped: {missing} (./dev exec --with test,oracle has it)")
        sys.exit(SKIPPED)
    accepted = accepted_names(options.corpus)
    scenes = [scene for scene in field_scenes.scenes_of(options.corpus, options.places)
              if re.search(options.only, scene.name)]
    with tempfile.TemporaryDirectory() as work:
        recipe, labels = recipe_of(options.corpus, work, options.recipe)
        settings = [f"model.path={options.corpus.resolve() / MODEL}", f"model.labels={labels.resolve()}",
                    f"model.recipe={recipe}", "inference.threads=1", *options.set]

        def play(scene):
            recording = field_scenes.recording_of(scene, options.corpus, options.cache)
            return replay(options.kinglet, recording, settings)

        with ThreadPoolExecutor(options.jobs) as pool:
            reports = list(pool.map(play, scenes))
    table = {}
    for scene, report in zip(scenes, reports):
        counts, waits = judge(scene, report, accepted, field_scenes.START)
        if options.visits:
            for visit in report["visits"]:
                begin, end = span_of(visit, field_scenes.START)
                print(f"{scene.name}: {visit['species_id']} {begin:.1f} to {end:.1f} s, {visit['model_result']['score']:.2f}, "
                      f"named at {visit['named_at_seconds']:.1f}")
            print(f"{scene.name}: {report['images']['by_outcome']}")
        row = table.setdefault(scene.group, (Counter(), []))
        row[0].update(counts)
        row[1].extend(waits)
    columns = ("birds", "found", "genus", "missed", "doubled", "wrong", "false", "images", "inferences")
    print("| scene | " + " | ".join(columns) + " | seconds to the name |")
    print("| --- " * (len(columns) + 2) + "|")
    for group, (counts, waits) in table.items():
        wait = f"{statistics.median(waits):.1f}" if waits else "-"
        print(f"| {group} | " + " | ".join(str(counts[column]) for column in columns) + f" | {wait} |")


if __name__ == "__main__":
    main()
