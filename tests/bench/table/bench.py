#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of `./dev bench`: kinglet beside a bare XNNPACK subgraph, ONNX Runtime 1.21 and 1.30 on the same models, in
turn in one run; with --arm the instructions that one inference takes on the cores of Raspberry Pis.

  bench.py --build FOLDER --work FOLDER [--arm [--memory --plugin FILE] [--core NAME]... | --as-avx2] [--threads 1,2] [--rounds N]
           [--processes N] [--node FOLDER] [--check | --keep] [--small | --model NAME...]

--memory: in place of instructions what comes from memory, by a model of caches (from_memory.py), of models with many weights.
--as-avx2 hides from all engines what else the processor has (tests/support/avx2_alone.py).
--check fails where a figure is worse than the kept one by more than its spread (instructions: 1 %, memory: 3 %); --keep puts what was
measured, with commit and day, into kept.jsonl; docs/bench.md is written from that. Exit codes: 0; 1: worse than before, kinglet failed, or --check
did not measure what is kept of these models for such a processor; 64; 77: no emulator, or no corpus (and nothing else amiss)."""
import argparse
import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parent.parent.parent / "support")]
import avx2_alone  # noqa: E402
import compare  # noqa: E402
import from_memory  # noqa: E402
import kept  # noqa: E402
import page  # noqa: E402
from models import MODELS, ROOT, Broken, Maker, Missing, NotHere, named  # noqa: E402
from worker import NotReady  # noqa: E402

COUNTER = ROOT.parent / "shared" / "tools" / "count-instructions"
MACHINE = COUNTER.with_name("emulated-pi")
COUNTER_LACKS = 2  # the emulator or its own reader; 1 is the program's end
CORES = ["cortex-a53", "cortex-a72", "cortex-a76"]
HALF_CORES = ["cortex-a76"]  # that compute with float16
KEPT = kept.KEPT
# ns from core to core: 27 to 47 were measured of two that share a cache, 155 to 178 of two that do not.
NEAR = 100
# compare.py's names: the 8-bit forms have no bare subgraph.
PEERS = ["bare XNNPACK", "ORT 1.21", "ORT 1.30"]


def count(options, maker, row, _):
    for core in [core for core in options.core if not row.half or core in HALF_CORES]:
        done = subprocess.run(
            [str(COUNTER), "-c", core, "-n", "1", "-k", "2", "-t", "--", str(options.build / "bin" / "bench_worker"), "once", "half" if row.half else "session",
             str(maker.ours(row)), "{}"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise (NotHere if done.returncode == COUNTER_LACKS else Broken)(f"on {core}: {(done.stderr.strip() or 'nothing').splitlines()[-1]}")
        yield kept.Count(row.name, core, options.build.name, round(int(done.stdout.split("\t")[1]) / 1e6, 3))


def memory(options, maker, row, _):
    machine = from_memory.Machine(MACHINE, options.plugin)
    for core in [core for core in options.core if core in from_memory.CACHES and row.half == (core in HALF_CORES)]:
        run = from_memory.Run(options.build / "bin" / "bench_worker", core, "half" if row.half else "session")
        try:
            found = from_memory.brought(machine, run, maker.ours(row))
        except from_memory.NotThere as reason:
            raise NotHere(str(reason)) from None
        except from_memory.Ended as reason:
            raise Broken(f"on {core}: {reason}") from None
        yield kept.Memory(row.name, core, options.build.name, round(found.megabytes, 1))


def place_of_cores(options):
    """near or far from each other, of the first two; nothing where there are no two. A virtual machine's host may move them."""
    done = subprocess.run([str(options.build / "bin" / "core_distance")], capture_output=True, text=True, check=False)
    return "" if done.returncode != 0 else "near" if float(done.stdout) < NEAR else "far"


def joined(sets):
    """The rounds of each engine that ran in all of them."""
    return {name: [one for rounds in sets for one in rounds[name]] for name in sets[0] if all(name in rounds for rounds in sets)}


def rounds_of(options, asked, model, left_out):
    """The rounds of several processes of each engine, a set of them after the other, since where its memory lies makes a
    process a few percent quicker or slower than the next; and where the cores were: of several threads it takes sets until
    enough had them in one place, or three times as many."""
    several, sets, places = asked.threads > 1, [], []
    for nth in range(options.processes * (3 if several else 1)):
        before = place_of_cores(options) if several else ""
        sets.append(compare.measure(asked, model, left_out if nth == 0 else lambda _: None))
        after = place_of_cores(options) if several else ""
        places.append(before if before == after else "moved")
        of_this = [one for one, place in zip(sets, places) if place == places[-1]]
        if places[-1] != "moved" and len(of_this) == options.processes:
            return joined(of_this), places[-1]
    return joined(sets), "moved"


def times(options, maker, row, left_out):
    if row.half:
        raise Missing("float16 is counted only")
    model = str(maker.ours(row))
    if row.source == "int8":
        model += f"={maker.theirs(row)}"
    for threads in options.threads:
        asked = argparse.Namespace(worker=str(options.worker), exec="", node=options.node, before=None,
                                   threads=threads, rounds=options.rounds, milliseconds=options.milliseconds)
        rounds, cores = rounds_of(options, asked, model, lambda why: left_out(f"{row.name} beside {why}"))
        ours = [least for least, _, _ in rounds["kinglet"]]
        for peer in (name for name in PEERS if name in rounds):
            ratios = sorted(mine / theirs for mine, (theirs, _, _) in zip(ours, rounds[peer]))
            low, middle, high = statistics.quantiles(ratios, n=4)
            yield kept.Time(row.name, options.features, threads, peer, round(middle, 3), round((high - low) / 2, 3), round(min(ours), 3), cores)


def say(figure):
    if isinstance(figure, kept.Emulated):
        print(f"{figure.model:28} {figure.core:11} {figure.amount:9.{figure.DIGITS}f} {figure.UNIT}", flush=True)
    else:
        where = f", cores {figure.cores}" if figure.cores else ""
        print(f"{figure.model:28} {figure.threads} thread(s) {figure.ms:8.3f} ms  {figure.ratio:.2f} ± {figure.spread:.2f} of {figure.peer}{where}", flush=True)


class Run:
    """What was measured, and what was not, with the reason."""

    def __init__(self):
        self.figures, self.left_out, self.broken, self.not_here = [], [], [], []

    def measure(self, options, rows):
        maker = Maker(options.work)
        for row in rows:
            try:
                for figure in options.way(options, maker, row, self.left_out.append):
                    say(figure)
                    self.figures.append(figure)
            except NotHere as reason:
                self.not_here.append(row.name)
                self.left_out.append(f"{row.name}: {reason}")
            except Missing as reason:
                self.left_out.append(f"{row.name}: {reason}")
            except (Broken, NotReady) as reason:
                self.broken.append(f"{row.name}: {reason}")
        return self

    def told(self):
        for line in self.left_out:
            print(f"left out: {line}")
        for line in self.broken:
            print(f"failed: {line}")
        return self


def asked(options, rows):
    """Whether a kept figure is of what this run was to measure."""
    names, here = {row.name for row in rows}, options.features
    if options.arm:
        kind = kept.Memory if options.memory else kept.Count
        return lambda figure: (isinstance(figure, kind) and figure.model in names and figure.core in options.core
                               and figure.build == options.build.name)
    return lambda figure: (isinstance(figure, kept.Time) and figure.model in names and figure.threads in options.threads
                           and figure.features == here)


def check(before, run, is_asked):
    worse, compared = kept.compare(before, run.figures)
    lacking = [figure for figure in kept.lacking(before, run.figures) if is_asked(figure) and figure.model not in run.not_here]
    print(f"{compared} of {len(run.figures)} figures have a kept one to be compared with, {len(worse)} are worse")
    for line in worse:
        print(f"worse: {line}")
    for figure in lacking:
        print(f"not measured, but kept: {figure.title}")
    nothing = compared == 0 and not run.not_here
    if nothing:
        print("nothing is kept of these models here: --keep does that")
    return bool(worse or lacking or nothing)


def rows_of(options):
    if options.memory:
        return [row for row in MODELS if row.large]
    return [row for row in MODELS if row.small or not options.small]


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--arm", action="store_true")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--plugin", type=Path)
    parser.add_argument("--core", action="append", choices=CORES)
    parser.add_argument("--threads", type=lambda text: [int(word) for word in text.split(",")], default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5, help="of each set of processes")
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--milliseconds", type=int, default=80)
    parser.add_argument("--node", type=Path)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--model", action="append")
    parser.add_argument("--as-avx2", action="store_true")
    end = parser.add_mutually_exclusive_group()
    end.add_argument("--check", action="store_true")
    end.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    if options.memory and not options.arm:
        parser.error("--memory is measured on the cores of Raspberry Pis: give --arm, too")
    if options.memory and not options.plugin:
        parser.error("--memory wants --plugin libfrom_memory.so, of the native build; ./dev bench gives it")
    options.way = memory if options.memory else count if options.arm else times
    options.core = options.core or CORES
    options.build = options.build.resolve()
    options.worker, options.features = options.build / "bin" / "bench_worker", kept.features()
    if options.processes < 1 or options.rounds * options.processes < 3:
        parser.error("--rounds, --processes: at least 3 rounds in all, of which a spread can be told")
    return options


def as_avx2(options):
    """Copies of all engines that are told of AVX2 alone."""
    answering, folder = options.build / "bin" / "libavx2_alone.so", options.work / "avx2_alone"
    options.worker, environment = avx2_alone.prepare(answering, options.worker, folder)
    shutil.copy(options.build / "bin" / "bench_bare", options.worker.parent)  # asks by XNNPACK's library alone
    packages = folder / "packages"
    avx2_alone.copy_package(Path(importlib.util.find_spec("onnxruntime").origin).parent, packages)
    for library in (options.node or folder).glob("node_modules/onnxruntime-node/bin/*/linux/x64/libonnxruntime.so.*"):
        avx2_alone.copy(library, folder / "lib")
    os.environ |= environment | {"PYTHONPATH": str(packages)}
    options.features = f"avx2 alone, of {options.features}"


def main():
    options = read_options()
    if not (options.build / "bin" / "bench_worker").exists():
        there = (options.build / "CTestTestfile.cmake").exists()
        print(f"bench: {options.build.name} has no bench_worker" if there else f"skipped: {options.build.name} is not built")
        return 1 if there else 77
    tool = MACHINE if options.memory else COUNTER
    if options.arm and not tool.exists():
        print(f"skipped: nothing here that measures it (../shared/tools/{tool.name})")
        return 77
    if options.as_avx2:
        as_avx2(options)
    try:
        rows = named(options.model) if options.model else rows_of(options)
    except Missing as reason:
        print(f"bench: {reason}", file=sys.stderr)
        return 64
    run, before, fault = Run().measure(options, rows).told(), kept.read(KEPT), False
    if options.keep:
        commit = kept.commit_of(ROOT, KEPT.relative_to(ROOT), page.PAGE.relative_to(ROOT))
        kept.write(KEPT, kept.merged(before, kept.stamped(run.figures, commit)))
        page.write(kept.read(KEPT), page.PAGE)
    else:
        fault = check(before, run, asked(options, rows)) and options.check
    if run.not_here:
        print(f"skipped: {len(run.not_here)} models, for want of a corpus or of an emulator")
    return 1 if run.broken or fault else 77 if run.not_here else 0


if __name__ == "__main__":
    sys.exit(main())
