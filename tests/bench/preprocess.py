#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times what becomes of a camera's frame before the model sees it: kinglet, libyuv with a plain loop, OpenCV where it was
installed, and beside them one inference of MobileNetV2, in one go: one process a way, all loaded, told in turn to run
for a moment, many rounds. Prints a table for docs/benchmarks.md: the least time of each, the median over the rounds of
kinglet's ratio to it in the same round, and kinglet's share of the inference.

  preprocess.py --worker PATH/preprocess_worker --model-worker PATH/bench_worker --model MODEL.onnx
                [--exec "./dev exec"] [--rounds 20] [--milliseconds 60]"""
import argparse
import shlex
import statistics
import sys

from worker import NotReady, Worker, in_turns

SIZES = [(640, 480), (1920, 1080)]
FORMATS = ["nv12", "yuv420", "yuyv"]
TYPES = ["f32", "i8"]


def open_workers(options):
    shell = shlex.split(options.exec)
    workers = {"kinglet": Worker(shell + [options.worker, "kinglet"]), "libyuv": Worker(shell + [options.worker, "libyuv"]),
               "model": Worker(shell + [options.model_worker, "session", options.model, "1"])}
    for name in ("opencv-area", "opencv-linear"):
        try:
            workers[name] = Worker(shell + [options.worker, name])
        except NotReady:
            print(f"{name}: absent (not built: libopencv-imgproc-dev)", file=sys.stderr)
    return workers


def measure(workers, job, options):
    rounds = {name: [] for name in workers}
    for name, worker in in_turns(workers, options.rounds):
        words = [options.milliseconds] if name == "model" else [*job, options.milliseconds]
        rounds[name].append(float(worker.ask(*words)[1]))
    return rounds


def row(job, rounds):
    ours = rounds["kinglet"]
    cells = [f"{job[1]}x{job[2]} {job[0]} to {job[3]}", f"{min(ours):.3f}"]
    for name in ("libyuv", "opencv-area", "opencv-linear"):
        if name not in rounds:
            cells.append("-")
            continue
        ratio = statistics.median(mine / other for mine, other in zip(ours, rounds[name]))
        cells.append(f"{min(rounds[name]):.3f} ({ratio:.2f})")
    shares = sorted(100 * mine / model for mine, model in zip(ours, rounds["model"]))
    low, high = shares[len(shares) // 10], shares[-1 - len(shares) // 10]
    cells.append(f"{statistics.median(shares):.1f} % ({low:.1f} to {high:.1f})")
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worker", required=True)
    parser.add_argument("--model-worker", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--exec", default="")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--milliseconds", type=int, default=60)
    options = parser.parse_args()
    workers = open_workers(options)
    print(f"1 thread, ms: least of {options.rounds} rounds (kinglet / peer: median of the rounds); share: median of the "
          "rounds (tenth to ninetieth percentile)\n")
    print("| frame to 224x224 | kinglet | libyuv and a loop | OpenCV area | OpenCV linear | of the inference |")
    print("| --- | --- | --- | --- | --- | --- |")
    for size in SIZES:
        for name in FORMATS:
            for kind in TYPES:
                job = (name, *size, kind)
                print(row(job, measure(workers, job, options)), flush=True)
    for worker in workers.values():
        worker.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
