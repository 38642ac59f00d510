#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's Python package behind the protocol of bench_worker. Usage: ort_worker.py MODEL THREADS"""
import os
import sys
import time

stderr = os.dup(2)
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # Debian's build complains of schemas that it registers twice
import numpy  # noqa: E402
import onnxruntime  # noqa: E402

os.dup2(stderr, 2)

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(sys.argv[2])
options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
border = session.get_inputs()[0]
shape = [size if isinstance(size, int) else 1 for size in border.shape]
# Bound once, so that no copy of Python's is timed.
binding = session.io_binding()
binding.bind_cpu_input(border.name, numpy.random.default_rng(1).uniform(-1, 1, shape).astype(numpy.float32))
binding.bind_output(session.get_outputs()[0].name)
for _ in range(3):
    session.run_with_iobinding(binding)
print("ready", onnxruntime.__version__, flush=True)
for line in sys.stdin:
    end = time.perf_counter() + float(line) / 1000
    runs = []
    while not runs or time.perf_counter() < end:
        start = time.perf_counter()
        session.run_with_iobinding(binding)
        runs.append((time.perf_counter() - start) * 1000)
    runs.sort()
    print(len(runs), f"{runs[0]:.5f} {runs[len(runs) // 2]:.5f} 1", flush=True)
