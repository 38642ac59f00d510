#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the daemon would have told of clips of a real feeder: each video file of a folder, through `kinglet replay` with the
bird model of the corpus.

  ./dev exec --with test,oracle python3 tests/bench/field_clips.py --kinglet build/tests/bin/kinglet --clips FOLDER \\
      --right baeolophus-bicolor [--set detector.path=...]

Prints visits with the right name, its genus' and others; in how many clips there was one; frames by outcome; looks of the model
and of the detector. Clips are nobody's to copy: they are fetched by whoever measures, and never kept. Answers, not times. Needs
ffmpeg and Pillow; without a corpus it says so and ends with 77."""
import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import field

FPS = 10
SUFFIXES = {".mp4", ".mkv", ".avi", ".mov", ".webm"}


def recording_of(clip, work):
    """Its frames, ten a second, as a camera gives them."""
    from field_scenes import write_recording
    from PIL import Image
    folder = work / clip.stem
    folder.mkdir()
    subprocess.run(["ffmpeg", "-v", "error", "-i", clip, "-vf", f"fps={FPS}", "-q:v", "3", folder / "%05d.jpg"], check=True,
                   stdin=subprocess.DEVNULL)
    pictures = sorted(folder.iterdir())
    with Image.open(pictures[0]) as first:
        size = first.size
    path = work / f"{clip.stem}.kgr"
    write_recording(path, ((i / FPS, picture.read_bytes()) for i, picture in enumerate(pictures)), size)
    return path


def judge(report, right):
    counts = Counter({f"images {name}": count for name, count in report["images"]["by_outcome"].items() if count})
    names = [visit["species_id"] for visit in report["visits"]]
    for name in names:
        kind = "right" if name in right else "genus" if name in {one.split("-")[0] for one in right} else f"other: {name}"
        counts[f"visits {kind}"] += 1
    counts["clips with a right one"] = int(any(name in right for name in names))
    counts["looks of the model"] = report["inferences"]["total"]
    for name, number in report.get("detector", {}).items():
        if isinstance(number, int):
            counts[f"detector {name}"] = number
        elif isinstance(number, dict):
            counts.update({f"detector {name} {kind}": count for kind, count in number.items()})
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = Path(__file__).resolve().parents[2]
    parser.add_argument("--kinglet", type=Path, required=True)
    parser.add_argument("--clips", type=Path, required=True)
    parser.add_argument("--right", action="append", required=True, metavar="SPECIES", help="species_id of who is there")
    parser.add_argument("--corpus", type=Path, default=here / ".." / "shared" / "corpus")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of the configuration")
    options = parser.parse_args()
    if not (options.corpus / "corpus.json").exists():
        print("skipped: no corpus of models and photographs (../shared/corpus or --corpus)")
        sys.exit(field.SKIPPED)
    clips = sorted(path for path in options.clips.iterdir() if path.suffix in SUFFIXES)
    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(os.cpu_count()) as pool:
        recipe, labels = field.recipe_of(options.corpus, work, [])
        settings = [f"model.path={options.corpus.resolve() / field.MODEL}", f"model.labels={labels.resolve()}",
                    f"model.recipe={recipe}", "inference.threads=1", *field.PROVIDERS[field.DEFAULT], *options.set]
        reports = pool.map(lambda clip: field.replay(options.kinglet, recording_of(clip, Path(work)), settings), clips)
        counts = sum((judge(report, set(options.right)) for report in reports), Counter())
    print(f"{len(clips)} clips")
    for name, count in sorted(counts.items()):
        print(f"{name}: {count}")


if __name__ == "__main__":
    main()
