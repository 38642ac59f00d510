#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the recipe's crop_to_motion is worth: photographs of known birds, pasted small into the drawn garden, classified
as the whole frame and as the square around them (1.3 times the larger side, at least 96 pixels, as the daemon cuts it).

  crop_to_motion.py --kinglet PROGRAM --corpus FOLDER

Prints, for each model and height of the bird's photograph, how many of the birds that the model names right on the
photograph alone it still names right. Answers, not times: the same on every machine. Needs Pillow."""
import argparse
import json
import subprocess
import tempfile
from pathlib import Path

from PIL import Image

FRAME = (1280, 720)
SHARES = (0.8, 0.5, 0.3, 0.2)  # of the frame's height
PLACES = ((0.3, 0.4), (0.5, 0.5), (0.7, 0.6))


def arguments_of(name, corpus, work):
    """Labels and recipe as the corpus says them."""
    entry = next(entry for entry in json.loads((corpus / "corpus.json").read_text())["models"] if entry["file"] == name)
    recipe = work / f"{Path(name).stem}.json"
    recipe.write_text(json.dumps({key: entry["preprocess"][key] for key in ("mean", "std")}))
    return ["--labels", corpus / entry["labels"], "--recipe", recipe]


def classify(kinglet, model, arguments, folder):
    done = subprocess.run([kinglet, "classify", model, folder, *arguments, "--json"], capture_output=True, text=True,
                          check=True)
    return {Path(picture["file"]).stem: picture["top"][0]["label"] for picture in json.loads(done.stdout)["pictures"]}


def square(x, y, width, height):
    side = min(max(96, round(1.3 * max(width, height))), FRAME[1])
    left = min(max(x + width // 2 - side // 2, 0), FRAME[0] - side)
    top = min(max(y + height // 2 - side // 2, 0), FRAME[1] - side)
    return left, top, left + side, top + side


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinglet", required=True)
    parser.add_argument("--corpus", type=Path, required=True)
    options = parser.parse_args()
    expected = json.loads((options.corpus / "expected_top1.json").read_text())
    with tempfile.TemporaryDirectory() as holder:
        work = Path(holder)
        subprocess.run([options.kinglet, "demo-frames", "--scene", "--count", "1", "--size", "1280x720", "--out",
                        work / "garden"], check=True, capture_output=True)
        garden = Image.open(next((work / "garden").glob("*.png"))).convert("RGB")
        print("| model | height | whole frame | square | of |\n| --- | --- | --- | --- | --- |")
        for name, photos in expected.items():
            right = [options.corpus / photo for photo, entry in photos.items() if entry.get("firm")]
            model = options.corpus / name
            if not right:
                continue
            arguments = arguments_of(name, options.corpus, work)
            for share in SHARES:
                counts = {}
                for way in ("whole", "square"):
                    (work / way).mkdir(exist_ok=True)
                wanted = {}
                for photo in right:
                    picture = Image.open(photo).convert("RGB")
                    height = round(FRAME[1] * share)
                    picture = picture.resize((round(picture.width * height / picture.height), height))
                    for index, (x, y) in enumerate(PLACES):
                        left = min(max(round(FRAME[0] * x) - picture.width // 2, 0), max(0, FRAME[0] - picture.width))
                        top = min(max(round(FRAME[1] * y) - height // 2, 0), FRAME[1] - height)
                        frame = garden.copy()
                        frame.paste(picture, (left, top))
                        key = f"{photo.stem}-{index}"
                        wanted[key] = photos[str(photo.relative_to(options.corpus))]["top1"]
                        frame.save(work / "whole" / f"{key}.png")
                        frame.crop(square(left, top, picture.width, height)).save(work / "square" / f"{key}.png")
                for way in ("whole", "square"):
                    answers = classify(options.kinglet, model, arguments, work / way)
                    counts[way] = sum(answers[key] == label for key, label in wanted.items())
                print(f"| {model.stem} | {share:.0%} | {counts['whole']} | {counts['square']} | {len(wanted)} |", flush=True)


if __name__ == "__main__":
    main()
