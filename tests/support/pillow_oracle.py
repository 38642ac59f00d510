#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Pillow makes of pictures, for tests that compare with it.

    pillow_oracle.py decode OUT FILE...                    upright RGB of each file: OUT/N.raw (no file if refused)
    pillow_oracle.py resize IN WIDTH HEIGHT OUT CASE...    IN: raw RGB; CASE: filter,x0,y0,x1,y1,width,height

Ends with 77 if Pillow is missing."""
import os
import sys

try:
    from PIL import Image, ImageOps
except ImportError:
    sys.exit(77)
Image.MAX_IMAGE_PIXELS = None
FILTERS = {"nearest": Image.NEAREST, "bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC}


def decode(out, files):
    for number, name in enumerate(files):
        try:
            image = Image.open(name)
            if image.mode.startswith("I"):  # 16-bit gray: the high byte
                image = image.point(lambda value: value * (1 / 256)).convert("L")
            image = ImageOps.exif_transpose(image).convert("RGB")
        except Exception as error:  # refused, whatever the reason
            print(name, type(error).__name__)
            continue
        with open(os.path.join(out, f"{number}.raw"), "wb") as file:
            file.write(image.tobytes())


def resize(source, width, height, out, cases):
    with open(source, "rb") as file:
        image = Image.frombytes("RGB", (width, height), file.read())
    for number, case in enumerate(cases):
        name, *numbers = case.split(",")
        x0, y0, x1, y1, to_width, to_height = map(int, numbers)
        done = image.resize((to_width, to_height), FILTERS[name], box=(x0, y0, x1, y1))
        with open(os.path.join(out, f"{number}.raw"), "wb") as file:
            file.write(done.tobytes())


if sys.argv[1] == "decode":
    decode(sys.argv[2], sys.argv[3:])
elif sys.argv[1] == "resize":
    resize(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5], sys.argv[6:])
