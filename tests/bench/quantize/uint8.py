#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The int8 form that ONNX Runtime likes best on x86-64 (uint8 activations, int8 weights, one scale a channel), by its own
quantiser. Calibrated on noise: good for timing, not for answers.

  uint8.py FLOAT.onnx OUT.onnx"""
import sys
import tempfile
from pathlib import Path

from measure import (CalibrationDataReader, QuantFormat, QuantType, numpy, onnx, quant_pre_process,
                     quantize_static)


class Noise(CalibrationDataReader):
    def __init__(self, model):
        border = onnx.load(model).graph.input[0]
        shape = [size.dim_value or 1 for size in border.type.tensor_type.shape.dim]
        random = numpy.random.default_rng(1)
        self.batches = iter([{border.name: random.uniform(-1, 1, shape).astype(numpy.float32)} for _ in range(4)])

    def get_next(self):
        return next(self.batches, None)


def main():
    model, out = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        ready = str(Path(folder) / "ready.onnx")
        quant_pre_process(model, ready, skip_symbolic_shape=True)
        quantize_static(ready, out, Noise(ready), quant_format=QuantFormat.QDQ, activation_type=QuantType.QUInt8,
                        weight_type=QuantType.QInt8, per_channel=True)


if __name__ == "__main__":
    main()
