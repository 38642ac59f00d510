#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains and exports the demonstration model: a small classifier of the visitors that kinglet's demo source draws.

    python3 train.py [--kinglet PROGRAM] [--work FOLDER] [--epochs N] [--out FOLDER]

Frames are drawn by `kinglet demo-frames` (never stored in the repository), resized as the recipe says, learnt in a few
minutes on one core, and checked on frames of seeds that were not learnt. Writes kinglet-demo.onnx,
kinglet-demo.labels.txt and kinglet-demo.recipe.json. Debian 13: python3-torch, python3-onnx, python3-pil, python3-numpy."""
import argparse
import csv
import json
import pathlib
import subprocess
import sys
import time

import numpy as np
import onnx
import torch
from PIL import Image
from torch import nn

NAME = "kinglet-demo"
ABOUT = "Demonstration only: tells the drawn visitors of kinglet's demo source apart, not real birds."
SIZE = 96
# (name, seed, count, width x height); seeds from 1000 on belong to tests and are never learnt.
TRAINING = [("train_4x3", 1, 7000, "320x240"), ("train_16x9", 2, 3500, "320x180")]
CHECK = [("check_4x3", 900, 450, "320x240"), ("check_16x9", 901, 450, "640x360")]


def draw(kinglet, work, sets):
    """A folder with pictures and labels.csv for each of the sets."""
    work.mkdir(parents=True, exist_ok=True)
    for name, seed, count, size in sets:
        folder = work / f"{name}_{seed}_{count}"
        if not (folder / "labels.csv").exists():
            subprocess.run([kinglet, "demo-frames", "--seed", str(seed), "--count", str(count), "--size", size,
                            "--out", str(folder)], check=True)
        yield folder


def frames(kinglet, work, sets):
    """Pixels [N,3,SIZE,SIZE] as bytes, labels [N], and the label names, of all sets in order."""
    pictures, labels, names = [], [], {}
    for folder in draw(kinglet, work, sets):
        with open(folder / "labels.csv", newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                image = Image.open(folder / row["file"]).resize((SIZE, SIZE), Image.BILINEAR)
                pictures.append(np.asarray(image).transpose(2, 0, 1))
                labels.append(int(row["index"]))
                names[int(row["index"])] = row["label"]
    return torch.from_numpy(np.stack(pictures)), torch.tensor(labels), [names[i] for i in sorted(names)]


def convolution(inputs, outputs, stride, groups=1, kernel=3, dilation=1):
    return [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2 * dilation, dilation, groups, bias=False),
            nn.BatchNorm2d(outputs), nn.ReLU6()]


def separable(inputs, outputs, stride, dilation=1):
    return convolution(inputs, inputs, stride, inputs, dilation=dilation) + convolution(inputs, outputs, 1, kernel=1)


def network(classes):
    return nn.Sequential(
        *convolution(3, 16, 2), *convolution(16, 24, 2),
        *separable(24, 48, 1), *separable(48, 64, 2), *separable(64, 96, 1), *separable(96, 128, 2),
        *separable(128, 160, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(160, classes))


def normalised(pictures):
    return ((pictures.float() - 127.5) / 127.5).contiguous(memory_format=torch.channels_last)


def learn(model, pictures, labels, epochs, batch=64):
    order = torch.Generator().manual_seed(7)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=1e-3)
    steps = epochs * (len(labels) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=4e-3, total_steps=steps)
    loss_of = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        model.train()
        started, total = time.monotonic(), 0.0
        for part in torch.randperm(len(labels), generator=order).split(batch):
            if len(part) < batch:
                continue
            gain = 0.8 + 0.4 * torch.rand((batch, 1, 1, 1), generator=order)
            loss = loss_of(model((normalised(pictures[part]) + 1) * gain - 1), labels[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += float(loss.detach())
        print(f"epoch {epoch + 1}: loss {total / (len(labels) // batch):.4f}, {time.monotonic() - started:.0f} s", flush=True)


def accuracy(model, pictures, labels):
    model.eval()
    with torch.no_grad():
        best = torch.cat([model(normalised(part)).argmax(1) for part in pictures.split(256)])
    return float((best == labels).float().mean()), best


def store(model, size, output, stem, about, names, recipe):
    """Model, labels and recipe as files named by `stem`; the path of the first."""
    model = model.eval().to(memory_format=torch.contiguous_format)
    # PRESERVE leaves the batch normalisations in the file: folding them is the program's work.
    path = stem.with_name(stem.name + ".onnx")
    torch.onnx.export(model, torch.zeros(1, 3, size, size), str(path), opset_version=17, input_names=["image"],
                      output_names=[output], training=torch.onnx.TrainingMode.PRESERVE,
                      do_constant_folding=False, dynamo=False)
    stored = onnx.load(path)
    stored.producer_name, stored.producer_version = "kinglet models/demo/" + pathlib.Path(sys.argv[0]).name, "1"
    onnx.helper.set_model_props(stored, {"description": about, "licence": "Apache-2.0"})
    onnx.checker.check_model(stored)
    onnx.save(stored, path)
    stem.with_name(stem.name + ".labels.txt").write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    stem.with_name(stem.name + ".recipe.json").write_text(json.dumps(recipe, indent=2) + "\n", encoding="utf-8")
    return path


def options_of(about, epochs):
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinglet", default="kinglet")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("demo-frames"))
    parser.add_argument("--out", type=pathlib.Path, default=here)
    parser.add_argument("--epochs", type=int, default=epochs)
    return parser.parse_args()


def make_repeatable():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)


def main():
    options = options_of(__doc__, epochs=9)
    make_repeatable()
    pictures, labels, names = frames(options.kinglet, options.work, TRAINING)
    model = network(len(names)).to(memory_format=torch.channels_last)  # twice as fast on a CPU
    print(f"{len(labels)} frames, {sum(p.numel() for p in model.parameters())} parameters", flush=True)
    learn(model, pictures, labels, options.epochs)
    check_pictures, check_labels, _ = frames(options.kinglet, options.work, CHECK)
    share, best = accuracy(model, check_pictures, check_labels)
    print(f"accuracy on {len(check_labels)} frames of other seeds: {share:.4f}")
    for wrong, count in zip(*np.unique([f"{names[a]} taken for {names[b]}" for a, b in zip(check_labels, best) if a != b],
                                       return_counts=True)):
        print(f"  {count} x {wrong}")
    recipe = {"resize_mode": "stretch", "interpolation": "bilinear", "antialias": True, "regions": "whole", "color_order": "rgb",
              "mean": [127.5, 127.5, 127.5], "std": [127.5, 127.5, 127.5], "output": "probabilities"}
    store(nn.Sequential(model, nn.Softmax(1)), SIZE, "probabilities", options.out / NAME, ABOUT, names, recipe)


if __name__ == "__main__":
    main()
