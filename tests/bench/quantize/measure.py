#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The networks of train.py quantised by kinglet and by ONNX Runtime's recipes, and what each loses on the test pictures.

  measure.py FOLDER --kinglet PROGRAM [--spread]

--spread: also the v2 network whose channels were scaled by powers of two (its float answers stay): what equalisation is for.
Prints a Markdown table: top-1, agreement with the float network, bytes."""
import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

stderr = os.dup(2)
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # Debian's build complains of schemas that it registers twice
import numpy
import onnx
import onnx.reference  # before onnxruntime: both register the schemas
import onnxruntime
from onnx import numpy_helper
from onnxruntime.quantization import (CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_dynamic,
                                      quantize_static)
from onnxruntime.quantization.shape_inference import quant_pre_process
from PIL import Image
os.dup2(stderr, 2)


def load(folder):
    files = sorted(folder.glob("*/*.png"))
    images = numpy.stack([numpy.asarray(Image.open(file)) for file in files]).astype(numpy.float32)
    return (images.transpose(0, 3, 1, 2) - 127.5) / 127.5, numpy.array([int(file.parent.name[4:]) for file in files])


class Reader(CalibrationDataReader):
    def __init__(self, images):
        self.images = iter(images)

    def get_next(self):
        image = next(self.images, None)
        return None if image is None else {"input": image[None]}


def answers(model, images):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return numpy.concatenate([session.run(None, {"input": image[None]})[0] for image in images]).argmax(1)


def recipes():
    minmax = {"calibrate_method": CalibrationMethod.MinMax}
    u8s8 = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8}
    yield "ORT QDQ per tensor, MinMax", {**u8s8, **minmax}
    yield "ORT QDQ per channel, MinMax", {**u8s8, **minmax, "per_channel": True}
    yield "ORT QDQ per channel, MinMax, s8 activations", {**u8s8, **minmax, "per_channel": True,
                                                         "activation_type": QuantType.QInt8}
    yield "ORT QDQ per channel, Percentile 99.999", {**u8s8, "calibrate_method": CalibrationMethod.Percentile,
                                                    "per_channel": True, "extra_options": {"CalibPercentile": 99.999}}
    yield "ORT QDQ per channel, Entropy", {**u8s8, "calibrate_method": CalibrationMethod.Entropy, "per_channel": True}
    yield "ORT QOperator per channel, MinMax", {**u8s8, **minmax, "per_channel": True,
                                                "quant_format": QuantFormat.QOperator}


def spread(model, wanted):
    """Channels of Conv, Clip or Relu, Conv scaled by 2^-4..2^4 and back; Clip becomes Relu so that this is exact."""
    proto = onnx.load(str(model))
    graph, random = proto.graph, numpy.random.default_rng(5)
    weights = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Clip":
            node.op_type = "Relu"
            del node.input[1:]
    readers = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)

    def scale(name, factors, axis):
        numbers = numpy_helper.to_array(weights[name])
        shape = [1] * numbers.ndim
        shape[axis] = -1
        weights[name].CopyFrom(numpy_helper.from_array((numbers * factors.reshape(shape)).astype(numpy.float32), name))

    for node in graph.node:
        if node.op_type != "Conv":
            continue
        behind = readers.get(node.output[0], [])
        if len(behind) == 1 and behind[0].op_type == "Relu":
            behind = readers.get(behind[0].output[0], [])
        if len(behind) != 1 or behind[0].op_type != "Conv":
            continue
        channels = numpy_helper.to_array(weights[node.input[1]]).shape[0]
        factors = 2.0 ** random.integers(-4, 5, channels)
        scale(node.input[1], factors, 0)
        scale(node.input[2], factors, 0)
        depthwise = numpy_helper.to_array(weights[behind[0].input[1]]).shape[1] == 1
        scale(behind[0].input[1], 1 / factors, 0 if depthwise else 1)
    onnx.save(proto, str(wanted))


def kinglet(program, *arguments):
    done = subprocess.run([program, *map(str, arguments), "--json", "-q"], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def rows(folder, name, program):
    model = folder / f"{name}.onnx"
    images, labels = load(folder / "test")
    calibration, _ = load(folder / "calibration")
    truth = answers(model, images)

    def row(title, found, file):
        return (title, 100 * (found == labels).mean(), 100 * (found == truth).mean(), Path(file).stat().st_size)

    yield row("float", truth, model)
    ready, out = folder / f"{name}.ready.onnx", folder / f"{name}.ort.onnx"
    quant_pre_process(str(model), str(ready), skip_symbolic_shape=True)
    for title, options in recipes():
        quantize_static(str(ready), str(out), Reader(calibration), **options)
        yield row(title, answers(out, images), out)
    quantize_dynamic(str(ready), str(out), weight_type=QuantType.QUInt8)
    yield row("ORT dynamic, u8 weights", answers(out, images), out)
    for title, options in (("kinglet", []), ("kinglet --max-drop 0.1", ["--max-drop", "0.1"]),
                           ("kinglet --per-tensor", ["--per-tensor"]), ("kinglet --no-equalize", ["--no-equalize"]),
                           ("kinglet --method minmax", ["--method", "minmax"])):
        made = folder / f"{name}.kinglet.onnx"
        kinglet(program, "quantize", model, "-o", made, "--images", folder / "calibration", "--force", *options)
        if not made.exists():
            continue
        judged = kinglet(program, "compare", model, made, "--images", folder / "test", "--most-images", str(len(images)))["judgement"]
        yield (title, 100 * judged["right_after"] / judged["labelled"], judged["agreement_percent"], made.stat().st_size)
        yield row(f"{title}, in ONNX Runtime", answers(made, images), made)
        made.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kinglet", required=True)
    parser.add_argument("--spread", action="store_true")
    options = parser.parse_args()
    names = ["v2", "v3"]
    if options.spread:
        spread(options.folder / "v2.onnx", options.folder / "spread.onnx")
        for ending in ("recipe.json", "labels.txt"):
            (options.folder / f"spread.{ending}").write_bytes((options.folder / f"v2.{ending}").read_bytes())
        names.append("spread")
    for name in names:
        print(f"\n{name}\n\n| recipe | top-1 | agrees | bytes |\n| --- | --- | --- | --- |")
        for title, right, agrees, size in rows(options.folder, name, options.kinglet):
            print(f"| {title} | {right:.2f} | {agrees:.2f} | {size:,} |", flush=True)


if __name__ == "__main__":
    main()
