#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two small networks with numbers that were really learned, for measuring what quantisation costs: a MobileNetV2 of width
0.35 and a MobileNetV3-small of width 0.5, on drawn birds of 32x32 (four outlines, each in four plumages, random place,
size, turn, colours, light and clutter). Some minutes of one core each.

  train.py FOLDER [--epochs N] [--test N]    FOLDER/v2.onnx, v3.onnx, calibration/LABEL/*.png, test/LABEL/*.png, *.recipe.json"""
import argparse
import json
import warnings
from pathlib import Path

import numpy
import torch
import torchvision
from PIL import Image

SIDE, CLASSES = 32, 16
MEAN = STD = 127.5


def draw(random, label):
    """One picture, float 0 to 255, [H,W,3]."""
    outline, plumage = divmod(label, 4)
    y, x = numpy.mgrid[0:SIDE, 0:SIDE].astype(numpy.float32)
    centre = random.uniform(12, 20, 2)
    angle = random.uniform(-0.5, 0.5) + (numpy.pi if random.random() < 0.5 else 0)
    size = random.uniform(0.8, 1.25)
    u = ((x - centre[0]) * numpy.cos(angle) + (y - centre[1]) * numpy.sin(angle)) / size
    v = ((y - centre[1]) * numpy.cos(angle) - (x - centre[0]) * numpy.sin(angle)) / size
    long, short = ((9, 4), (7, 6), (6, 4.5), (8, 5))[outline]
    body = (u / long) ** 2 + (v / short) ** 2 < 1
    tail = (numpy.abs(v) < (1, 2.5, 1.5, 3)[outline]) & (u < -long + 2) & (u > -long - (6, 2, 5, 3)[outline])
    head = (u - long * 0.8) ** 2 + (v + short * 0.5) ** 2 < (3, 4, 2.5, 3.5)[outline] ** 2
    picture = numpy.full((SIDE, SIDE, 3), random.uniform(60, 200, 3), numpy.float32)
    for _ in range(random.integers(3, 9)):  # twigs and leaves
        a, b, c = random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-30, 30)
        picture[numpy.abs(a * (x - 16) + b * (y - 16) + c) < random.uniform(0.5, 2)] = random.uniform(20, 220, 3)
    coat, mark = random.uniform(20, 235, 3), random.uniform(20, 235, 3)
    while numpy.abs(coat - mark).sum() < 160:
        mark = random.uniform(20, 235, 3)
    picture[body | tail] = coat
    picture[head] = mark if plumage == 1 else coat
    if plumage == 2:
        picture[body & (numpy.abs(u) < 1.6)] = mark  # a bar across the wing
    if plumage == 3:
        picture[body & (v > short * 0.25)] = mark  # the breast
    picture = picture * random.uniform(0.6, 1.2) + random.normal(0, 14, picture.shape)
    return numpy.clip(picture, 0, 255)


def pictures(count, seed):
    random = numpy.random.default_rng(seed)
    labels = random.integers(0, CLASSES, count)
    return numpy.stack([draw(random, label) for label in labels]).round().astype(numpy.uint8), labels


def tensor(images):
    return torch.from_numpy(images).permute(0, 3, 1, 2).float().sub_(MEAN).div_(STD)


def networks():
    torch.manual_seed(7)
    yield "v2", torchvision.models.mobilenet_v2(num_classes=CLASSES, width_mult=0.35, dropout=0.0)
    yield "v3", torchvision.models.mobilenet_v3_small(num_classes=CLASSES, width_mult=0.5, dropout=0.0)


def train(network, images, labels, epochs):
    # Full strides leave one pixel of 32x32 too early: the first convolution keeps the size.
    network.features[0][0].stride = (1, 1)
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3, weight_decay=1e-4)
    batch, steps = 128, epochs * (len(images) // 128)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 6e-3, total_steps=steps)
    network.train()
    for epoch in range(epochs):
        order = torch.randperm(len(images))
        for start in range(0, len(images) - batch + 1, batch):
            part = order[start:start + batch]
            loss = torch.nn.functional.cross_entropy(network(images[part]), labels[part], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        print(f"epoch {epoch + 1} of {epochs}: loss {loss.item():.3f}", flush=True)
    return network.eval()


def save_pictures(folder, count, seed):
    images, labels = pictures(count, seed)
    for i, (image, label) in enumerate(zip(images, labels)):
        place = folder / f"bird{label:02d}"
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(place / f"{i:05d}.png")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--test", type=int, default=2000, help="pictures to judge on")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    save_pictures(options.folder / "calibration", 256, 1)
    save_pictures(options.folder / "test", options.test, 2)
    images, labels = pictures(16000, 3)
    images, labels = tensor(images), torch.from_numpy(labels)
    for name, network in networks():
        train(network, images, labels, options.epochs)
        path = options.folder / f"{name}.onnx"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(network, (torch.zeros(1, 3, SIDE, SIDE),), str(path), opset_version=17, dynamo=False,
                              input_names=["input"], output_names=["logits"])
        path.with_suffix(".recipe.json").write_text(json.dumps({"mean": [MEAN] * 3, "std": [STD] * 3, "output": "logits"}))
        path.with_suffix(".labels.txt").write_text("".join(f"bird{i:02d}\n" for i in range(CLASSES)))


if __name__ == "__main__":
    main()
