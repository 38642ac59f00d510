#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a network of ResNet-50's shape with random weights, for measuring memory and time where torchvision's is not
at hand: batch normalisation is folded, the stride is in the 3x3 layer.

  resnet50.py FILE.onnx"""
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

BLOCKS = [(64, 3), (128, 4), (256, 6), (512, 3)]


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

    def conv(self, x, channels, to, kernel, stride=1):
        weight = self.weight((to, channels, kernel, kernel), (2 / (channels * kernel * kernel)) ** 0.5)
        return self.node("Conv", x, weight, self.weight((to,), 0.01), kernel_shape=[kernel, kernel],
                         strides=[stride, stride], pads=[kernel // 2] * 4)

    def block(self, x, channels, width, stride):
        inner = self.node("Relu", self.conv(x, channels, width, 1))
        inner = self.node("Relu", self.conv(inner, width, width, 3, stride))
        inner = self.conv(inner, width, 4 * width, 1)
        beside = x if channels == 4 * width else self.conv(x, channels, 4 * width, 1, stride)
        return self.node("Relu", self.node("Add", inner, beside))


def main():
    writer = Writer()
    x = writer.node("Relu", writer.conv("image", 3, 64, 7, 2))
    x = writer.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for width, count in BLOCKS:
        for i in range(count):
            x = writer.block(x, channels, width, 2 if i == 0 and width > 64 else 1)
            channels = 4 * width
    x = writer.node("Flatten", writer.node("GlobalAveragePool", x))
    x = writer.node("Gemm", x, writer.weight((1000, channels), 0.02), writer.weight((1000,), 0.01), transB=1)
    graph = helper.make_graph(
        writer.nodes, "resnet50", [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 224, 224])],
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, [1, 1000])], writer.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, sys.argv[1])


main()
