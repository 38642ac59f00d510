#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes torchvision's classifiers as ONNX files, as users export them, without downloading a weight. Every number that
a fresh network leaves at 0 or 1 is given another value, and BatchNormalization gets statistics of its own, so that a
rewrite that loses one of them changes the answer. Files above 2 GB get their weights beside them (external data).

  export.py list
  export.py write NAME... --to FOLDER [--opset 17] [--raw] [--free-batch] [--fresh] [--side N]

--raw leaves BatchNormalization and constants in the file; --free-batch names the first dimension N; --fresh leaves the
network untrained: its equal numbers are written once, with an Identity for each other reader."""
import argparse
import sys
import warnings
from pathlib import Path

try:
    import numpy
    import torch
    import torchvision.models
except ImportError as missing:
    print(f"skipped: python3-numpy, python3-torch and python3-torchvision are needed ({missing})")
    sys.exit(77)

# Side of the picture a family is made for, where it is not 224.
SIDES = {"inception_v3": 299, "swin_v2_t": 256, "swin_v2_s": 256, "swin_v2_b": 256, "efficientnet_b1": 240,
         "efficientnet_b2": 288, "efficientnet_b3": 300, "efficientnet_b4": 380, "efficientnet_b5": 456,
         "efficientnet_b6": 528, "efficientnet_b7": 600, "efficientnet_v2_s": 384, "efficientnet_v2_m": 480,
         "efficientnet_v2_l": 480}


def names():
    return torchvision.models.list_models(module=torchvision.models)


def side_of(name):
    return SIDES.get(name, 224)


def build(name):
    extra = {}
    if name in ("googlenet", "inception_v3"):
        extra = {"aux_logits": False, "init_weights": False, "transform_input": True}
    return torchvision.models.get_model(name, weights=None, **extra)


def spread_numbers(network, random):
    """Biases, affine parts of norms, layer scales and empty heads: away from their neutral start."""
    def normal(tensor, deviation, centre=0.0):
        tensor.data = centre + deviation * torch.randn(tensor.shape, generator=random)

    for key, parameter in network.named_parameters():
        if key.endswith("layer_scale"):  # starts at 1e-6, too small to be seen in an answer
            normal(parameter, 0.05, 0.3)
        elif key.endswith("class_token") or key.endswith("relative_position_bias_table"):
            normal(parameter, 0.3)
        elif key.endswith("bias"):
            normal(parameter, 0.05)
    for layer in network.modules():
        if isinstance(layer, (torch.nn.BatchNorm2d, torch.nn.LayerNorm)) and layer.weight is not None:
            layer.weight.data = 0.7 + 0.6 * torch.rand(layer.weight.shape, generator=random)
        if isinstance(layer, torch.nn.Linear) and not layer.weight.any():
            normal(layer.weight, 0.02)


def settle_statistics(network, side, random):
    """One pass in which each BatchNormalization takes the mean and variance of what it sees."""
    norms = [layer for layer in network.modules() if isinstance(layer, torch.nn.BatchNorm2d)]
    if not norms:
        return
    network.eval()
    for layer in norms:
        layer.train()
        layer.momentum = 1.0
    with torch.no_grad():
        # Statistics far from those of the picture that is asked later make a network that no float can answer: with an
        # offset of 1, PyTorch's own answers of efficientnet_b3 in float and double differ by 0.29 of the largest logit.
        picture = torch.randn(2, 3, side, side, generator=random)
        network(picture + 0.1 * torch.randn(2, 3, 1, 1, generator=random))


def make(name, side, fresh):
    torch.manual_seed(20)
    network = build(name)
    if not fresh:
        random = torch.Generator().manual_seed(21)
        spread_numbers(network, random)
        settle_statistics(network, side, random)
    return network.eval()


def write(name, path, opset, raw=False, free_batch=False, fresh=False, side=0):
    side = side or side_of(name)
    network = make(name, side, fresh)
    mode = torch.onnx.TrainingMode.PRESERVE if raw else torch.onnx.TrainingMode.EVAL
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(network, (torch.zeros(1, 3, side, side),), str(path), opset_version=opset, dynamo=False,
                          input_names=["input"], output_names=["output"], training=mode, do_constant_folding=not raw,
                          dynamic_axes={"input": {0: "N"}, "output": {0: "N"}} if free_batch else None)


def truth(name, given, wanted, fresh=False, side=0):
    """What the network answers in float64: who is nearer to it when two float32 answers differ?"""
    network = make(name, side or side_of(name), fresh).double()
    with torch.no_grad():
        answer = network(torch.from_numpy(numpy.load(given)).double())
    numpy.save(wanted, answer.numpy())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["list", "write", "truth"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--to", default=".", type=Path)
    parser.add_argument("--given", type=Path, help="truth: the input, .npy; --to is then a file")
    parser.add_argument("--opset", type=int, default=17)
    parser.add_argument("--side", type=int, default=0)
    for flag in ("--raw", "--free-batch", "--fresh"):
        parser.add_argument(flag, action="store_true")
    options = parser.parse_args()
    if options.verb == "list":
        print("\n".join(names()))
        return 0
    if options.verb == "truth":
        truth(options.names[0], options.given, options.to, options.fresh, options.side)
        return 0
    options.to.mkdir(parents=True, exist_ok=True)
    for name in options.names:
        write(name, options.to / f"{name}.onnx", options.opset, options.raw, options.free_batch, options.fresh,
              options.side)
    return 0


if __name__ == "__main__":
    sys.exit(main())
