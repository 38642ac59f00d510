# SPDX-License-Identifier: Apache-2.0
"""Photographs for libcamera's virtual camera, and what the corpus says of them."""
import json

from support import CORPUS

# Even sides, as the virtual camera of libcamera 0.4 needs them, and the right name under every way to resize.
PHOTOS = ["bald_eagle.jpg", "burrowing_owl.jpg", "great_egret.jpg", "house_sparrow_150.jpg", "junco_150.jpg",
          "lesser_goldfinch_150.jpg", "white_crowned_sparrow_150.jpg"]


def expected_names():
    """The bird in each photograph of the corpus, by the file's name."""
    table = json.loads((CORPUS / "expected_top1.json").read_text())["models/bird_mobilenetv2_fp32.onnx"]
    return {path.split("/")[-1]: entry["top1"] for path, entry in table.items()}
