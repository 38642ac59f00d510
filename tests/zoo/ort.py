#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's part of the zoo, in a process of its own so that its memory goes with it. Prints one JSON object.

  ort.py answer MODEL INPUT.npy OUTPUT.npy     runs without any optimisation
  ort.py time MODEL INPUT.npy SECONDS          all optimisations, one thread: the least time of a run
  ort.py nodes MODEL                           nodes in the file and after level BASIC"""
import json
import os
import sys
import tempfile
import time
from pathlib import Path

stderr = os.dup(2)
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # Debian's build complains of schemas that it registers twice
try:
    import numpy
    import onnx
    import onnxruntime
except ImportError as missing:
    print(f"skipped: python3-numpy, python3-onnx and python3-onnxruntime are needed ({missing})")
    sys.exit(77)
os.dup2(stderr, 2)

LEVELS = onnxruntime.GraphOptimizationLevel


def session(model, level, saved=None):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    if saved:
        options.optimized_model_filepath = str(saved)
        options.add_session_config_entry("session.optimized_model_external_initializers_file_name", "weights.bin")
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def answer(model, given, wanted):
    made = session(model, LEVELS.ORT_DISABLE_ALL)
    result = made.run(None, {made.get_inputs()[0].name: numpy.load(given)})[0]
    numpy.save(wanted, result)
    return {"shape": list(result.shape)}


def least_time(model, given, seconds):
    made = session(model, LEVELS.ORT_ENABLE_ALL)
    binding = made.io_binding()  # bound once, so that no copy of Python's is timed
    binding.bind_cpu_input(made.get_inputs()[0].name, numpy.load(given))
    binding.bind_output(made.get_outputs()[0].name)
    made.run_with_iobinding(binding)
    least, end = float("inf"), time.perf_counter() + float(seconds)
    while least == float("inf") or time.perf_counter() < end:
        start = time.perf_counter()
        made.run_with_iobinding(binding)
        least = min(least, time.perf_counter() - start)
    return {"ms": least * 1000}


def nodes(model):
    with tempfile.TemporaryDirectory(dir=Path(model).parent) as folder:
        saved = Path(folder) / "basic.onnx"
        session(model, LEVELS.ORT_ENABLE_BASIC, saved)
        basic = len(onnx.load(saved, load_external_data=False).graph.node)
    return {"file": len(onnx.load(model, load_external_data=False).graph.node), "basic": basic}


if __name__ == "__main__":
    verb = {"answer": answer, "time": least_time, "nodes": nodes}[sys.argv[1]]
    print(json.dumps(verb(*sys.argv[2:])))
