#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes torchvision's networks of those that ncnn measures itself by, so that an inference multiplies as often as kinglet's.

  networks.py NCNN/benchmark/models FOLDER

Some of ncnn's come from elsewhere: their bottlenecks have the step of two in the first layer, there is a convolution beside the
first block or before the first depthwise layer, pictures are larger, HardSwish is a HardSigmoid and a product. Each is changed
where it differs, and written with the millions of its multiplications; `worker.cpp` runs it."""
import re
import sys
from pathlib import Path

STEP, SIDE = " 3=2", " 1=3"
AS_THEY_ARE = ("efficientnet_b0", "regnety_400m")


def hints(line):
    """The shapes of a layer's outputs: [[dimensions, width, height, channels], ...]."""
    found = re.search(r"-23330=(\S+)", line)
    numbers = [int(number) for number in found.group(1).split(",")][1:]
    return [numbers[at : at + 4] for at in range(0, len(numbers), 4)]


def with_hints(line, shapes):
    numbers = [number for shape in shapes for number in shape]
    return re.sub(r"-23330=\S+", "-23330=" + ",".join(map(str, [len(numbers), *numbers])), line)


def is_named(line, kind, name):
    words = line.split()
    return words[:1] == [kind] and re.fullmatch(name, words[1]) is not None


def resnet18(lines):
    """Nothing stands beside the first block."""
    kept = [line for line in lines if not is_named(line, "Convolution", "res2a_branch1")]
    return [line.replace("res2a_branch1_scale2a_branch1", "pool1_splitncnn_1") for line in kept]


def resnet50(lines):
    """The step of a bottleneck is in its 3x3 layer."""
    out = []
    for line in lines:
        if is_named(line, "Convolution", "res[345]a_branch2a"):
            shapes = [[kind, 2 * width, 2 * height, channels] for kind, width, height, channels in hints(line)]
            line = with_hints(line.replace(STEP, ""), shapes)
        elif is_named(line, "Convolution", "res[345]a_branch2b"):
            line = line.replace(SIDE, SIDE + STEP)
        out.append(line)
    return out


def mobilenet_v2(lines):
    """The first depthwise layer reads the first convolution."""
    kept = [line for line in lines if not is_named(line, "Convolution", "conv2_1/expand")]
    return [line.replace("conv2_1/expand/bn_relu2_1/expand", "conv1/bn_relu1") for line in kept]


def squeezenet(lines):
    """Pictures of 224x224, and no padding of the last layer."""
    sides = {227: 224, 113: 111, 56: 55, 28: 27, 14: 13, 16: 13}
    out = []
    for line in lines:
        shapes = [[kind, sides.get(width, width), sides.get(height, height), channels] if kind == 3 else [kind, width, height, channels]
                  for kind, width, height, channels in hints(line)]
        line = with_hints(line.replace("0=227 1=227", "0=224 1=224"), shapes)
        out.append(line.replace(" 4=1", "") if is_named(line, "Convolution", "conv10") else line)
    return out


def mobilenet_v3(lines):
    """HardSwish in one layer. What is left differs from torchvision's: it multiplies 246 million times for 217."""
    out = []
    at = 0
    while at < len(lines):
        split, sigmoid, product = [line.split() for line in lines[at : at + 3]] if at + 3 <= len(lines) else ([], [], [])
        if split[:1] == ["Split"] and sigmoid[:1] == ["HardSigmoid"] and product[:1] == ["BinaryOp"] and set(product[4:6]) == {split[5], sigmoid[5]}:
            out.append(f"HardSwish hard{at} 1 1 {split[4]} {product[6]} -23330={product[7].split('=')[1]}")
            at += 3
        else:
            out.append(lines[at])
            at += 1
    return out


CHANGED = {"resnet18": resnet18, "resnet18_int8": resnet18, "resnet50": resnet50, "resnet50_int8": resnet50, "mobilenet_v2": mobilenet_v2,
           "squeezenet": squeezenet, "mobilenet_v3": mobilenet_v3} | {name: list for name in AS_THEY_ARE}


def multiplications(lines):
    """Millions."""
    total = 0
    for line in lines:
        words = line.split()
        weights = dict(word.split("=", 1) for word in words if "=" in word)
        if words[0] == "InnerProduct":
            total += int(weights["2"])
        elif words[0] in ("Convolution", "ConvolutionDepthWise"):
            _, width, height, _ = hints(line)[0]
            total += int(weights["6"]) * width * height
    return total / 1e6


def outputs(line):
    words = line.split()
    inputs, count = int(words[2]), int(words[3])
    return words[4 + inputs : 4 + inputs + count]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    models, folder = map(Path, sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    for name, change in CHANGED.items():
        magic, _, *layers = (models / f"{name}.param").read_text().splitlines()
        layers = change(layers)
        blobs = {blob for line in layers for blob in outputs(line)}
        (folder / f"{name}.param").write_text("\n".join([magic, f"{len(layers)} {len(blobs)}", *layers]) + "\n")
        print(f"{name}: {multiplications(layers):.1f} million multiplications")


if __name__ == "__main__":
    main()
