#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What threads are worth while others keep the cores busy: a model with one thread and with several, in turns, beside loops
that never end. Prints a run's mean and median in milliseconds, and the ratio of several threads to one, of the means and of
the medians: each the median of the rounds. What else the machine does counts as well: its load before and after is printed.

  busy.py --worker PATH/bench_worker [--before PATH/bench_worker] [--threads 2] [--busy 0,1,2,25] [--rounds 12] MODEL...
"""
import argparse
import os
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from worker import Worker, in_turns


@contextmanager
def loops(count):
    running = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in running:
            loop.kill()
            loop.wait()


def measure(options, builds, model):
    workers = {(build, threads): Worker([program, "session", model, str(threads)])
               for build, program in builds.items() for threads in (1, options.threads)}
    rounds = {name: [] for name in workers}
    for name, worker in in_turns(workers, options.rounds):
        start = time.monotonic()
        runs, _, median, _ = worker.ask(options.milliseconds)
        rounds[name].append(((time.monotonic() - start) * 1000 / int(runs), float(median)))
        time.sleep(0.02)
    for worker in workers.values():
        worker.end()
    return rounds


def middle(rounds, index):
    return statistics.median(figures[index] for figures in rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worker", required=True)
    parser.add_argument("--before", help="the worker of another build, beside")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--busy", default="0,1,2,25", help="how many loops run beside")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--milliseconds", type=int, default=300)
    parser.add_argument("models", nargs="+")
    options = parser.parse_args()
    builds = {"now": options.worker} | ({"before": options.before} if options.before else {})
    print(f"| model | loops | load | build | 1 thread | {options.threads} threads | ratio |\n" + "| --- " * 7 + "|")
    for model in options.models:
        for busy in map(int, options.busy.split(",")):
            with loops(busy):
                before = os.getloadavg()[0]
                rounds = measure(options, builds, model)
                load = f"{before:.0f} to {os.getloadavg()[0]:.0f}"
            for build in builds:
                one, many = rounds[build, 1], rounds[build, options.threads]
                cells = [f"{middle(one, 0):.2f} ({middle(one, 1):.2f})", f"{middle(many, 0):.2f} ({middle(many, 1):.2f})"]
                ratios = [[b / a for a, b in zip(*pair)] for pair in zip(one, many)]
                cells.append(f"{middle(ratios, 0):.2f} ({middle(ratios, 1):.2f})")
                print(f"| {Path(model).stem} | {busy} | {load} | {build} | " + " | ".join(cells) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
