#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time and peak memory of making a model file ready to run, kinglet beside ONNX Runtime, a process a turn, in turn.
Prints a table for docs/benchmarks.md: the median time of the turns and the largest memory.

  load.py --kinglet PATH/kinglet [--rounds 5] MODEL...

kinglet: the whole life of `kinglet inspect MODEL`, from exec to exit. ONNX Runtime (Debian's, one thread): making the
InferenceSession alone, without the start of Python and its modules, at no and at full optimisation; its memory is what
that adds to the process."""
import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path


def spawn(command):
    """(seconds, MB at the peak, what it printed)"""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    text = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")
    return seconds, used.ru_maxrss * 1024 / 1e6, text


def load_in_ort(model, level):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(seconds, (after - before) * 1024 / 1e6)


def turns(options, model):
    rows = {"kinglet": [], "ORT_DISABLE_ALL": [], "ORT_ENABLE_ALL": []}
    for _ in range(options.rounds):
        rows["kinglet"].append(spawn([options.kinglet, "inspect", model])[:2])
        for level in ("ORT_DISABLE_ALL", "ORT_ENABLE_ALL"):
            text = spawn([sys.executable, __file__, "--ort", level, model])[2]
            rows[level].append(tuple(float(word) for word in text.split()))
    return rows


def cell(pairs):
    return f"{statistics.median(s for s, _ in pairs):.3f} s, {max(mb for _, mb in pairs):.0f} MB"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--kinglet")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ort", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ort:
        load_in_ort(options.models[0], options.ort)
        return
    print("| model | file | kinglet | ORT, as it is | ORT, optimised |\n| --- | --- | --- | --- | --- |")
    for model in options.models:
        rows = turns(options, model)
        size = Path(model).stat().st_size / 1e6
        print(f"| {Path(model).stem} | {size:.1f} MB | {cell(rows['kinglet'])} | {cell(rows['ORT_DISABLE_ALL'])} | "
              f"{cell(rows['ORT_ENABLE_ALL'])} |", flush=True)


if __name__ == "__main__":
    main()
