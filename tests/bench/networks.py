#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes networks of the shape of torchvision's with random weights, for measuring memory and time where those are not
at hand: batch normalisation is folded, the stride of a bottleneck is in its 3x3 layer.

  networks.py resnet18|resnet50|squeezenet|efficientnet_b0|mobilenet_v3 FILE.onnx"""
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTHS = (64, 128, 256, 512)
# Of each stage: how much wider inside, kernel, stride, output channels, blocks.
STAGES = [(1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3), (6, 5, 1, 112, 3), (6, 5, 2, 192, 4), (6, 3, 1, 320, 1)]
# Of each block: kernel, channels inside, output channels, gated, activation, stride.
V3_BLOCKS = [(3, 16, 16, 0, "Relu", 1), (3, 64, 24, 0, "Relu", 2), (3, 72, 24, 0, "Relu", 1), (5, 72, 40, 1, "Relu", 2),
             (5, 120, 40, 1, "Relu", 1), (5, 120, 40, 1, "Relu", 1), (3, 240, 80, 0, "HardSwish", 2), (3, 200, 80, 0, "HardSwish", 1),
             (3, 184, 80, 0, "HardSwish", 1), (3, 184, 80, 0, "HardSwish", 1), (3, 480, 112, 1, "HardSwish", 1),
             (3, 672, 112, 1, "HardSwish", 1), (5, 672, 160, 1, "HardSwish", 2), (5, 960, 160, 1, "HardSwish", 1),
             (5, 960, 160, 1, "HardSwish", 1)]
FIRES = [(16, 64), (16, 64), None, (32, 128), (32, 128), None, (48, 192), (48, 192), (64, 256), (64, 256)]


class Writer:
    def __init__(self):
        self.random = numpy.random.default_rng(50)
        self.nodes, self.weights = [], []

    def weight(self, shape, scale):
        name = f"w{len(self.weights)}"
        numbers = (self.random.standard_normal(shape) * scale).astype(numpy.float32)
        self.weights.append(numpy_helper.from_array(numbers, name))
        return name

    def node(self, kind, *inputs, **attributes):
        out = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [out], name=f"{kind}_{len(self.nodes)}", **attributes))
        return out

    def conv(self, x, channels, to, kernel, stride=1, pad=None, group=1):
        each = channels // group
        weight = self.weight((to, each, kernel, kernel), (2 / (each * kernel * kernel)) ** 0.5)
        return self.node("Conv", x, weight, self.weight((to,), 0.01), kernel_shape=[kernel, kernel],
                         strides=[stride, stride], pads=[kernel // 2 if pad is None else pad] * 4, group=group)

    def relu_conv(self, *args, **more):
        return self.node("Relu", self.conv(*args, **more))

    def bottleneck(self, x, channels, width, stride):
        inner = self.relu_conv(self.relu_conv(x, channels, width, 1), width, width, 3, stride)
        return self.ended(x, channels, self.conv(inner, width, 4 * width, 1), 4 * width, stride)

    def basic_block(self, x, channels, width, stride):
        inner = self.conv(self.relu_conv(x, channels, width, 3, stride), width, width, 3)
        return self.ended(x, channels, inner, width, stride)

    def ended(self, x, channels, inner, to, stride):
        beside = x if channels == to else self.conv(x, channels, to, 1, stride)
        return self.node("Relu", self.node("Add", inner, beside))

    def silu(self, x):
        return self.node("Mul", x, self.node("Sigmoid", x))

    def inverted(self, x, channels, wider, kernel, stride, to):
        inside, inner = wider * channels, x
        if wider > 1:
            inner = self.silu(self.conv(inner, channels, inside, 1))
        inner = self.silu(self.conv(inner, inside, inside, kernel, stride, group=inside))
        seen = self.node("GlobalAveragePool", inner)
        seen = self.conv(self.silu(self.conv(seen, inside, channels // 4, 1)), channels // 4, inside, 1)
        inner = self.conv(self.node("Mul", inner, self.node("Sigmoid", seen)), inside, to, 1)
        return self.node("Add", inner, x) if stride == 1 and to == channels else inner

    def v3_block(self, x, channels, kernel, inside, to, gated, activation, stride):
        inner = x if inside == channels else self.node(activation, self.conv(x, channels, inside, 1))
        inner = self.node(activation, self.conv(inner, inside, inside, kernel, stride, group=inside))
        if gated:
            squeezed = (inside // 4 + 4) // 8 * 8
            seen = self.relu_conv(self.node("GlobalAveragePool", inner), inside, squeezed, 1)
            seen = self.conv(seen, squeezed, inside, 1)
            inner = self.node("Mul", inner, self.node("HardSigmoid", seen, alpha=1 / 6, beta=0.5))
        inner = self.conv(inner, inside, to, 1)
        return self.node("Add", inner, x) if stride == 1 and to == channels else inner

    def fire(self, x, channels, squeezed, to):
        x = self.relu_conv(x, channels, squeezed, 1)
        return self.node("Concat", self.relu_conv(x, squeezed, to, 1), self.relu_conv(x, squeezed, to, 3), axis=1)


def resnet(writer, block, counts, widening):
    x = writer.relu_conv("image", 3, 64, 7, 2)
    x = writer.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for width, count in zip(WIDTHS, counts):
        for i in range(count):
            x = block(x, channels, width, 2 if i == 0 and width > 64 else 1)
            channels = widening * width
    x = writer.node("Flatten", writer.node("GlobalAveragePool", x))
    return writer.node("Gemm", x, writer.weight((1000, channels), 0.02), writer.weight((1000,), 0.01), transB=1)


def squeezenet(writer):
    x, channels = writer.relu_conv("image", 3, 64, 3, 2, pad=0), 64
    for fire in [None] + FIRES:
        if fire is None:
            x = writer.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
        else:
            x, channels = writer.fire(x, channels, *fire), 2 * fire[1]
    return writer.node("Flatten", writer.node("GlobalAveragePool", writer.relu_conv(x, channels, 1000, 1)))


def efficientnet(writer):
    x, channels = writer.silu(writer.conv("image", 3, 32, 3, 2)), 32
    for wider, kernel, stride, to, count in STAGES:
        for i in range(count):
            x = writer.inverted(x, channels, wider, kernel, stride if i == 0 else 1, to)
            channels = to
    x = writer.node("Flatten", writer.node("GlobalAveragePool", writer.silu(writer.conv(x, channels, 1280, 1))))
    return writer.node("Gemm", x, writer.weight((1000, 1280), 0.02), writer.weight((1000,), 0.01), transB=1)


def mobilenet_v3(writer):
    x, channels = writer.node("HardSwish", writer.conv("image", 3, 16, 3, 2)), 16
    for block in V3_BLOCKS:
        x, channels = writer.v3_block(x, channels, *block), block[2]
    x = writer.node("HardSwish", writer.conv(x, channels, 960, 1))
    x = writer.node("Flatten", writer.node("GlobalAveragePool", x))
    x = writer.node("Gemm", x, writer.weight((1280, 960), 0.02), writer.weight((1280,), 0.01), transB=1)
    return writer.node("Gemm", writer.node("HardSwish", x), writer.weight((1000, 1280), 0.02), writer.weight((1000,), 0.01), transB=1)


def main():
    writer = Writer()
    x = {"resnet18": lambda: resnet(writer, writer.basic_block, (2, 2, 2, 2), 1),
         "resnet50": lambda: resnet(writer, writer.bottleneck, (3, 4, 6, 3), 4),
         "squeezenet": lambda: squeezenet(writer), "efficientnet_b0": lambda: efficientnet(writer),
         "mobilenet_v3": lambda: mobilenet_v3(writer)}[sys.argv[1]]()
    graph = helper.make_graph(
        writer.nodes, sys.argv[1], [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 224, 224])],
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, [1, 1000])], writer.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, sys.argv[2])


main()
