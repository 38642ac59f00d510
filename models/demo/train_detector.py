#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains and exports the demonstration's detector: where a visitor is in frames of kinglet's demo source.

    python3 train_detector.py [--kinglet PROGRAM] [--work FOLDER] [--epochs N] [--out FOLDER]

Learns whole frames and squares cut out of them, since the daemon looks at both; its outputs and its loss are YOLOX's with
one grid. What it finds on frames of seeds that were not learnt is asked of `kinglet detect`. Writes
kinglet-demo-detector.onnx, .labels.txt and .recipe.json. What it needs: as train.py."""
import csv
import json
import pathlib
import subprocess

import numpy as np
import torch
from PIL import Image
from torch import nn

from train import convolution, draw, make_repeatable, normalised, options_of, separable, store

NAME = "kinglet-demo-detector"
ABOUT = "Demonstration only: finds the drawn visitors of kinglet's demo source, not real birds."
SIZE, STRIDE = 96, 8
CELLS = SIZE // STRIDE
LEAST_SCORE = 0.4
# (name, seed, count, width x height); seeds from 1000 on belong to tests and are never learnt.
TRAINING = [("detector_4x3", 11, 4000, "320x240"), ("detector_16x9", 12, 4000, "320x180")]
CHECK = [("check_4x3", 900, 450, "320x240"), ("check_16x9", 901, 450, "640x360")]
# A box of which less is in a picture is as none, as in the scene itself; of what lies between, nothing is learnt.
LEAST_SEEN, LEAST_IGNORED = 0.6, 0.15


def marked(folder):
    """Each picture with its visitor's box (left, top, right, bottom); without a visitor the box is empty."""
    with open(folder / "labels.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            x, y, width, height = (float(row[key]) for key in ("x", "y", "width", "height"))
            yield folder / row["file"], np.array([x, y, x + width, y + height])


# --- Pictures ---

def whole(image):
    """As the recipe says it: (pixels, pixels of the input for one of the picture, left upper corner)."""
    return np.asarray(image.resize((SIZE, SIZE), Image.BILINEAR)), (SIZE / image.width, SIZE / image.height), np.zeros(2)


def square(image, box, random):
    """A part of the picture, mostly with the visitor somewhere in it, as the daemon cuts it around what moves."""
    limit = min(image.width, image.height)
    longest = max(box[2] - box[0], box[3] - box[1], limit / 5)
    side = int(min(limit, longest * np.exp(random.uniform(np.log(1.1), np.log(4)))))
    most = np.array([image.width - side, image.height - side])
    corner = random.uniform(0, most)
    if box[2] > box[0] and random.random() < 0.8:
        middle = (box[:2] + box[2:]) / 2
        corner = np.clip(middle - side * random.uniform(0.3, 0.7, 2), 0, most)
    corner = np.floor(corner)
    part = image.resize((SIZE, SIZE), Image.BILINEAR, (*corner, *(corner + side)))
    return np.asarray(part), (SIZE / side, SIZE / side), corner


def target(box, scale, corner):
    """The box as far as it is in the input, and how its cells count: 1 a visitor, 0 nobody, -1 neither."""
    placed = (box - np.tile(corner, 2)) * np.tile(scale, 2)
    seen = np.clip(placed, 0, SIZE)
    area = np.prod(placed[2:] - placed[:2])
    share = np.prod(seen[2:] - seen[:2]) / area if area > 0 else 0
    return seen, 1 if share >= LEAST_SEEN else -1 if share >= LEAST_IGNORED else 0


def pictures_of(kinglet, work):
    """Pixels [N,3,SIZE,SIZE] as bytes, boxes [N,4] in them, kinds [N]."""
    random = np.random.default_rng(5)
    pictures, boxes, kinds = [], [], []
    for folder in draw(kinglet, work, TRAINING):
        for file, box in marked(folder):
            image = Image.open(file)
            for pixels, scale, corner in (whole(image), square(image, box, random)):
                seen, kind = target(box, scale, corner)
                pictures.append(pixels.transpose(2, 0, 1))
                boxes.append(seen)
                kinds.append(kind)
    return torch.from_numpy(np.stack(pictures)), torch.tensor(np.array(boxes), dtype=torch.float32), torch.tensor(kinds)


# --- Network and loss ---

class Detector(nn.Module):
    """Rows of middle, size, somebody is there, bird; a row a cell. The last layers see the whole picture around a cell."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            *convolution(3, 12, 2), *separable(12, 24, 2), *separable(24, 40, 2), *separable(40, 48, 1),
            *separable(48, 48, 1, dilation=2), *separable(48, 48, 1, dilation=3))
        self.box, self.sure = nn.Conv2d(48, 4, 1), nn.Conv2d(48, 2, 1)
        nn.init.constant_(self.sure.bias, -3)  # most cells have nobody

    def maps(self, pictures):
        features = self.body(pictures)
        return self.box(features), self.sure(features)

    def forward(self, pictures):
        box, sure = self.maps(pictures)
        return torch.cat([box, sure.sigmoid()], 1).flatten(2).permute(0, 2, 1)


def corners(maps, cells):
    middle, size = (maps[:, :2] + cells) * STRIDE, maps[:, 2:].clamp(max=4).exp() * STRIDE
    return torch.cat([middle - size / 2, middle + size / 2], 1)


def overlap(a, b):
    """The share that both cover of what either does, [N,4,...] each."""
    def area(box):
        return (box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1])
    low, high = torch.maximum(a[:, :2], b[:, :2]), torch.minimum(a[:, 2:], b[:, 2:])
    both = (high - low).clamp(min=0).prod(1)
    return both / (area(a) + area(b) - both).clamp(min=1e-6)


def loss_of(maps, boxes, kinds, cells):
    """A visitor's cells are those within one and a half of its middle; its class learns how well its box lies there."""
    box, sure = maps
    wanted = boxes[:, :, None, None].expand(-1, -1, CELLS, CELLS)
    point = (cells + 0.5) * STRIDE
    middle = (wanted[:, :2] + wanted[:, 2:]) / 2
    near = ((point - middle).abs() < 1.5 * STRIDE).all(1)
    inside = ((point > wanted[:, :2]) & (point < wanted[:, 2:])).all(1)
    visitor = near & inside & (kinds == 1)[:, None, None]
    counted = ~inside | (kinds != -1)[:, None, None]
    share = overlap(corners(box, cells), wanted)
    there = nn.functional.binary_cross_entropy_with_logits(sure[:, 0], visitor.float(), reduction="none")
    fits = nn.functional.binary_cross_entropy_with_logits(sure[:, 1], share.detach(), reduction="none")
    misses = 1 - share ** 2
    return ((there * counted).sum() + ((fits + 5 * misses) * visitor).sum()) / visitor.sum().clamp(min=1)


def learn(model, pictures, boxes, kinds, epochs, batch=64):
    order = torch.Generator().manual_seed(7)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=8e-3, total_steps=epochs * (len(kinds) // batch))
    y, x = torch.meshgrid(torch.arange(CELLS), torch.arange(CELLS), indexing="ij")
    cells = torch.stack([x, y])[None].float()
    model.train()
    for epoch in range(epochs):
        total = 0.0
        for part in torch.randperm(len(kinds), generator=order).split(batch):
            if len(part) < batch:
                continue
            # The daemon shows dark parts brighter.
            gain = 0.7 + 0.9 * torch.rand((batch, 1, 1, 1), generator=order)
            bright = (pictures[part].float() * gain).clamp(max=255)
            loss = loss_of(model.maps(normalised(bright)), boxes[part], kinds[part], cells)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += float(loss.detach())
        print(f"epoch {epoch + 1}: loss {total / (len(kinds) // batch):.4f}", flush=True)


# --- What comes of it ---

def found_in(kinglet, path, folder):
    """Boxes by the names of the pictures, as `kinglet detect` says them."""
    answer = json.loads(subprocess.run([kinglet, "detect", str(path), str(folder), "--json"], check=True,
                                       capture_output=True).stdout)
    for picture in answer["pictures"]:
        boxes = [box["box_px"] for box in picture["boxes"]]
        corners_of = [[box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"]] for box in boxes]
        yield pathlib.PurePath(picture["file"]).name, torch.tensor(corners_of).reshape(-1, 4)


def check(kinglet, work, path):
    """A box is right above an overlap of 0.5; a visitor's second one is wrong."""
    for folder in draw(kinglet, work, CHECK):
        wanted = {file.name: torch.from_numpy(box) for file, box in marked(folder)}
        visitors = sum(bool(box[2] > box[0]) for box in wanted.values())
        boxes, shares = 0, []
        for name, found in found_in(kinglet, path, folder):
            boxes += len(found)
            shares += [share for share in [float(s) for s in overlap(found, wanted[name][None])] if share >= 0.5][:1]
        print(f"{folder.name}: {len(shares)} of {visitors} visitors found (recall {len(shares) / visitors:.4f}), {boxes} boxes "
              f"(precision {len(shares) / max(boxes, 1):.4f}), overlap {np.mean(shares):.3f}")


def export(model, out):
    recipe = {"resize_mode": "stretch", "interpolation": "bilinear", "antialias": True, "color_order": "rgb",
              "mean": [127.5] * 3, "std": [127.5] * 3,
              "boxes": {"head": "yolox", "strides": [STRIDE], "least_score": LEAST_SCORE, "most_overlap": 0.45}}
    return store(model, SIZE, "boxes", out / NAME, ABOUT, ["bird"], recipe)


def main():
    options = options_of(__doc__, epochs=8)
    make_repeatable()
    pictures, boxes, kinds = pictures_of(options.kinglet, options.work)
    model = Detector().to(memory_format=torch.channels_last)
    print(f"{len(kinds)} pictures, {sum(p.numel() for p in model.parameters())} parameters", flush=True)
    learn(model, pictures, boxes, kinds, options.epochs)
    check(options.kinglet, options.work, export(model, options.out))


if __name__ == "__main__":
    main()
