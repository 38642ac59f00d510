#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the daemon would have told of a feeder: scenes of birds (one to four, 10 to 80 % of the picture's height, hopping
and sitting, by night) and of nobody (an hour of wind, rain and light; a squirrel, a swinging feeder, an overlay), played
through `kinglet replay` with the bird model of the corpus, for each way to choose what of a frame is looked at.

  ./dev exec --with test,oracle python3 tests/bench/field.py --kinglet build/release/bin/kinglet
  ... --providers motion --only 'one_20|two' --set decide.min_score=0.5 --visits

Prints, for each kind of scene: birds that came; found (a visit with their name), of the genus only, missed; occasions at
which all that came together were found; visits that double another, with a wrong name, of nobody; median seconds from a
bird's arrival to its name; what is aimed at with the default provider. Answers, not times: the same on every machine.
Scenes are drawn once, into --cache (3 GB). Needs Pillow; without a corpus it says so and ends with 77."""
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

try:
    import field_scenes
except ImportError:
    field_scenes = None

SKIPPED = 77
MODEL = "models/bird_mobilenetv2_fp32.onnx"
AROUND = 2  # seconds that a visit may begin before its bird, or last longer
# `fixed`: the two halves of where birds come.
PROVIDERS = {"whole": ["look.propose=whole"], "motion": ["look.propose=motion"],
             "fixed": ["look.propose=fixed", "look.fixed=[[0.05, 0.1, 0.45, 0.75], [0.5, 0.1, 0.45, 0.75]]"]}
DEFAULT = "motion"
# Of the default provider: at least so many.
GOALS = {"one at 20%": ("found", 60), "one at 50%": ("found", 66), "two at 30%": ("together", 15)}
NO_FALSE = "nobody"  # kinds of scenes with no visit
MOST_WRONG = 0.02  # of all names
NAMED_AFTER = 3  # seconds in the median


def accepted_names(corpus):
    """Of each photograph: the names that are right for it."""
    names = {}
    for photo in json.loads((corpus / "corpus.json").read_text())["photos"]:
        labels = photo.get("accept", {}).get("inat_bird", [])
        names[photo["file"]] = {label.split(" (")[0].lower().replace(" ", "-") for label in labels}
    return names


def doubtful_photos(corpus):
    """Those that the model itself names wrongly as soon as the picture is scaled in another way."""
    expected = json.loads((corpus / "expected_top1.json").read_text())[MODEL]
    return {photo for photo, entry in expected.items() if entry.get("firm") is False}


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


def judge(scene, report, accepted, doubtful, start):
    """Counts, and the seconds until each name."""
    counts = Counter(birds=len(scene.stays))
    together = {stay.company: True for stay in scene.stays if stay.company >= 0}
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
        elif stay.company >= 0:
            together[stay.company] = False
    for i, (_, begin, end, _) in enumerate(visits):
        if used[i]:
            continue
        there = [stay for stay in scene.stays if begin < stay.end + AROUND and end > stay.begin - AROUND]
        counts["wrong" if there else "false"] += 1
        counts["excused"] += any(stay.photo in doubtful for stay in there)
    counts["together"] = sum(together.values())
    counts["images"] = report["images"]["total"]
    counts["inferences"] = report.get("inferences", {}).get("total", report["images"]["total"])
    return counts, waits


def goal_of(group, counts):
    if group.startswith(NO_FALSE):
        return f"false 0: {'reached' if counts['false'] == 0 else 'missed'}"
    if group not in GOALS:
        return ""
    column, number = GOALS[group]
    return f"{column} {number}: {'reached' if counts[column] >= number else 'missed'}"


def print_table(provider, table):
    columns = ("birds", "found", "genus", "missed", "together", "doubled", "wrong", "false", "images", "inferences")
    print(f"\n{provider}:\n")
    print("| scene | " + " | ".join(columns) + " | seconds to the name | goal |")
    print("| --- " * (len(columns) + 3) + "|")
    everything = Counter()
    all_waits = []
    for group, (counts, waits) in table.items():
        everything.update(counts)
        all_waits += waits
        wait = f"{statistics.median(waits):.1f}" if waits else "-"
        goal = goal_of(group, counts) if provider == DEFAULT else ""
        print(f"| {group} | " + " | ".join(str(counts[column]) for column in columns) + f" | {wait} | {goal} |")
    named = sum(everything[column] for column in ("found", "genus", "doubled", "wrong", "false"))
    if named > 0 and all_waits:
        wrong, excused, wait = everything["wrong"], everything["excused"], statistics.median(all_waits)
        print(f"\nof {named} visits {wrong / named:.1%} with a wrong name, {(wrong - excused) / named:.1%} without those of "
              f"photographs that the model itself is wrong about (goal: {MOST_WRONG:.0%}); {everything['false']} of nobody; "
              f"named after {wait:.1f} s in the median (goal: {NAMED_AFTER})")


def print_visits(scene, report):
    for visit in report["visits"]:
        begin, end = span_of(visit, field_scenes.START)
        print(f"{scene.name}: {visit['species_id']} {begin:.1f} to {end:.1f} s, {visit['model_result']['score']:.2f}, "
              f"named at {visit['named_at_seconds']:.1f}")
    print(f"{scene.name}: {report['images']['by_outcome']}")


def tabulate(scenes, reports, accepted, doubtful):
    table = {}
    for scene, report in zip(scenes, reports):
        counts, waits = judge(scene, report, accepted, doubtful, field_scenes.START)
        row = table.setdefault(scene.group, (Counter(), []))
        row[0].update(counts)
        row[1].extend(waits)
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = Path(__file__).resolve().parents[2]
    parser.add_argument("--kinglet", type=Path, required=True)
    parser.add_argument("--corpus", type=Path, default=here / ".." / "shared" / "corpus")
    parser.add_argument("--cache", type=Path,
                        default=Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "kinglet" / "field")
    parser.add_argument("--only", default="", help="regular expression of scenes' names")
    parser.add_argument("--providers", default=",".join(PROVIDERS), help="of look.propose, separated by commas")
    parser.add_argument("--places", type=int, default=3, help="where one bird is seen: 1 to 6")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of the configuration")
    parser.add_argument("--recipe", action="append", default=[], metavar="MEMBER=JSON", help="of the model's recipe")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--visits", action="store_true", help="prints each scene's visits, too")
    options = parser.parse_args()
    if not (options.corpus / "corpus.json").exists():
        print("skipped: no corpus of models and photographs (../shared/corpus or --corpus)")
        sys.exit(SKIPPED)
    if field_scenes is None:
        print("skipped: no Pillow (./dev exec --with test,oracle has it)")
        sys.exit(SKIPPED)
    accepted = accepted_names(options.corpus)
    scenes = [scene for scene in field_scenes.scenes_of(options.corpus, options.places)
              if re.search(options.only, scene.name)]
    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(options.jobs) as pool:
        recipe, labels = recipe_of(options.corpus, work, options.recipe)
        settings = [f"model.path={options.corpus.resolve() / MODEL}", f"model.labels={labels.resolve()}",
                    f"model.recipe={recipe}", "inference.threads=1"]

        def play(scene, provider):
            recording = field_scenes.recording_of(scene, options.corpus, options.cache)
            return replay(options.kinglet, recording, [*settings, *PROVIDERS[provider], *options.set])

        for provider in options.providers.split(","):
            reports = list(pool.map(lambda scene: play(scene, provider), scenes))
            if options.visits:
                for scene, report in zip(scenes, reports):
                    print_visits(scene, report)
            print_table(provider, tabulate(scenes, reports, accepted, doubtful_photos(options.corpus)))


if __name__ == "__main__":
    main()
