#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times kinglet, a bare XNNPACK subgraph and ONNX Runtime on the same models in one go: one process an engine, all
loaded, told in turn to run for a moment, many rounds. Prints a table for docs/benchmarks.md: the least time of each, and the median
over the rounds of its ratio to kinglet in the same round.

  compare.py --worker PATH/bench_worker [--before PATH/bench_worker] [--exec "./dev exec"] [--node FOLDER] [--threads 1] [--rounds 12] MODEL...

bench_bare stands beside bench_worker. With --before another worker is the only peer: another build of kinglet, or ncnn's
(ncnn/worker.cpp). MODEL may be OURS=THEIRS: kinglet runs the one, a peer the other, such as the 8-bit form that ONNX Runtime
likes best (quantize/uint8.py), or ncnn's form of a network (ncnn/networks.py).

--exec is put before the commands that need the Debian environment; --node is a folder where `npm install
onnxruntime-node` was run (left out without it)."""
import argparse
import os
import shlex
import statistics
import sys
import time
from pathlib import Path

from worker import NotReady, Worker, in_turns

HERE = Path(__file__).resolve().parent
# Seconds. Threads of the engine that was loaded last still turn; whoever tries then whether two threads pay finds that they
# do not, and kinglet believes that for a quarter of a second of its runs.
SETTLES = 0.5


def commands(options, model):
    shell = shlex.split(options.exec)
    threads = str(options.threads)
    ours, *others = [str(Path(file).resolve()) for file in model.split("=")]
    theirs = others[0] if others else ours
    yield "kinglet", shell + [options.worker, "session", ours, threads]
    if options.before:
        yield "before", shell + [options.before, "session", theirs, threads]
        return
    if "_qdq" not in ours and not others:
        yield "bare XNNPACK", shell + [str(Path(options.worker).with_name("bench_bare")), ours, threads]
    yield "ORT 1.21", shell + ["python3", str(HERE / "ort_worker.py"), theirs, threads]
    if options.node:
        package = Path(options.node).resolve() / "node_modules" / "onnxruntime-node"
        yield "ORT 1.30", ["node", str(HERE / "ort_worker.js"), str(package), theirs, threads]


def start(options, model, left_out):
    """A worker for each engine; a peer that cannot run the model is left out, with its reason."""
    for name, command in commands(options, model):
        try:
            yield name, Worker(command)
        except NotReady as reason:
            if name == "kinglet":
                raise
            left_out(f"{name}: {reason}")


def warn(line):
    print(f"left out: {line}", file=sys.stderr)


def measure(options, model, left_out=warn):
    workers = dict(start(options, model, left_out))
    rounds = {name: [] for name in workers}
    time.sleep(SETTLES)
    try:
        for name, worker in in_turns(workers, options.rounds):
            _, *times = worker.ask(options.milliseconds)
            rounds[name].append([float(number) for number in times])  # least, median, share inside XNNPACK
            time.sleep(0.02)  # the other's spinning threads go to sleep
    finally:
        for worker in workers.values():
            worker.end()
    return rounds


def peers(options):
    return ["before"] if options.before else ["bare XNNPACK", "ORT 1.21", "ORT 1.30"]


def row(options, model, rounds):
    ours = [least for least, _, _ in rounds["kinglet"]]
    cells = [Path(model.split("=")[0]).stem, f"{min(ours):.3f}"]
    for name in peers(options):
        if name not in rounds:
            cells.append("-")
            continue
        theirs = [least for least, _, _ in rounds[name]]
        ratio = statistics.median(mine / other for mine, other in zip(ours, theirs))
        cells.append(f"{min(theirs):.3f} ({min(ours) / min(theirs):.3f}, {ratio:.3f})" if options.before else
                     f"{min(theirs):.3f} ({min(ours) / min(theirs):.2f}, {ratio:.2f})")
    outside = statistics.median(1 - inside for _, _, inside in rounds["kinglet"])
    return "| " + " | ".join(cells + [f"{100 * outside:.2f} %"]) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worker", required=True)
    parser.add_argument("--before", help="another worker, to compare with in place of others")
    parser.add_argument("--exec", default="")
    parser.add_argument("--node")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--milliseconds", type=int, default=150)
    parser.add_argument("--nice", type=int, default=0, help="negative: before other programs (needs root)")
    parser.add_argument("models", nargs="+")
    options = parser.parse_args()
    os.nice(options.nice)
    print(f"{options.threads} thread(s), ms: least of {options.rounds} rounds "
          "(kinglet / peer: of the least, median of the rounds)\n")
    columns = ["model", "kinglet", *peers(options), "outside XNNPACK"]
    print("| " + " | ".join(columns) + " |\n|" + " --- |" * len(columns))
    for model in options.models:
        print(row(options, model, measure(options, model)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
