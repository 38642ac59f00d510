#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks as PyTorch writes them today (torchvision's, random weights, a small picture): what the passes make of them
runs in ONNX Runtime with the same answers, in no more nodes than expected. Usage: check_exported.py OPTIMIZE_ONNX"""
import sys
import tempfile
import warnings
from pathlib import Path

import check_passes  # skips without onnx and onnxruntime
import onnx

try:
    import torch
    import torchvision.models as nets
except ImportError as missing:
    print(f"skipped: python3-torch and python3-torchvision are needed ({missing})")
    sys.exit(77)


def small_vision_transformer(weights=None):
    return nets.VisionTransformer(image_size=32, patch_size=8, num_layers=2, num_heads=2, hidden_dim=16, mlp_dim=32)


def small_swin_transformer(weights=None):
    return nets.SwinTransformer(patch_size=[4, 4], embed_dim=8, depths=[2, 2], num_heads=[1, 2], window_size=[4, 4])


# Title, network, as it is exported, nodes at most after the passes. The exporter folds BatchNormalization itself unless
# told to preserve it; it writes equal initial weights once, with an Identity for each other reader.
NETS = [
    ("resnet18", nets.resnet18, {}, 49),
    ("resnet18_unfolded", nets.resnet18, {"training": torch.onnx.TrainingMode.PRESERVE, "do_constant_folding": False}, 49),
    ("mobilenet_v3_small", nets.mobilenet_v3_small, {}, 122),
    ("shufflenet_v2_x0_5", nets.shufflenet_v2_x0_5, {}, 186),
    ("shufflenet_v2_x0_5_free_batch", nets.shufflenet_v2_x0_5,
     {"input_names": ["x"], "dynamic_axes": {"x": {0: "N"}}}, 186),
    ("small_vision_transformer", small_vision_transformer, {}, 90),
    ("small_swin_transformer", small_swin_transformer, {}, 176),
]


def export(build, path, how):
    torch.manual_seed(1)
    network = build(weights=None).eval()
    if "training" in how:  # statistics that a training would leave
        for layer in network.modules():
            if isinstance(layer, torch.nn.BatchNorm2d):
                torch.nn.init.normal_(layer.running_mean, std=0.1)
                torch.nn.init.uniform_(layer.running_var, 0.5, 1.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(network, torch.zeros(1, 3, 32, 32), str(path), opset_version=17, dynamo=False, **how)


def check_net(program, build, how, most_after, folder, name):
    path = folder / f"{name}.onnx"
    export(build, path, how)
    before = len(onnx.load(path).graph.node)
    if fault := check_passes.check_model(program, path, folder):
        return fault
    after = len(onnx.load(folder / f"{name}.out.onnx").graph.node)
    return None if after <= most_after else f"{before} -> {after} nodes, expected at most {most_after}"


def main():
    with tempfile.TemporaryDirectory() as name:
        faults = [(title, check_net(sys.argv[1], build, how, most_after, Path(name), title))
                  for title, build, how, most_after in NETS]
    return check_passes.tell(faults, f"{len(NETS)} exported networks")


if __name__ == "__main__":
    sys.exit(main())
