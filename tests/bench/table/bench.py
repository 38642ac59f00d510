#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of `./dev bench`: kinglet beside a bare XNNPACK subgraph, ONNX Runtime 1.21 and 1.30 on the same models, in
turn in one run; with --arm the instructions that one inference takes on the cores of Raspberry Pis.

  bench.py --build FOLDER --work FOLDER [--arm [--core NAME]...] [--threads 1,2] [--rounds N] [--node FOLDER]
           [--check | --keep] [--small | --model NAME...]

--check fails where a figure is worse than the kept one by more than its spread (instructions: 1 %); --keep puts what was
measured into kept.jsonl; docs/bench.md is written from that. Exit codes: 0, 1 worse than before, 64, 77 nothing could be measured."""
import argparse
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import compare  # noqa: E402
import kept  # noqa: E402
import page  # noqa: E402
from models import MODELS, ROOT, Maker, Missing, named  # noqa: E402
from worker import NotReady  # noqa: E402

COUNTER = ROOT.parent / "shared" / "tools" / "count-instructions"
CORES = ["cortex-a53", "cortex-a72", "cortex-a76"]
HALF_CORES = ["cortex-a76"]  # that compute with float16
KEPT = Path(__file__).resolve().parent / "kept.jsonl"
# compare.py's names: the 8-bit forms have no bare subgraph.
PEERS = ["bare XNNPACK", "ORT 1.21", "ORT 1.30"]


def count(options, maker, row, _):
    for core in [core for core in options.core if not row.half or core in HALF_CORES]:
        done = subprocess.run(
            [str(COUNTER), "-c", core, "-n", "1", "-k", "2", "-t", "--", str(options.build / "bin" / "bench_worker"), "once", "half" if row.half else "session",
             str(maker.ours(row)), "{}"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Missing(f"{COUNTER.name} ends with {done.returncode}: {(done.stderr.strip() or 'nothing').splitlines()[-1]}")
        yield kept.Count(row.name, core, options.build.name, round(int(done.stdout.split("\t")[1]) / 1e6, 3))


def times(options, maker, row, left_out):
    if row.half:
        raise Missing("float16 is counted only")
    model = str(maker.ours(row))
    if row.source == "int8":
        model += f"={maker.theirs(row)}"
    for threads in options.threads:
        asked = argparse.Namespace(worker=str(options.build / "bin" / "bench_worker"), exec="", node=options.node, before=None,
                                   threads=threads, rounds=options.rounds, milliseconds=options.milliseconds)
        rounds = compare.measure(asked, model, lambda why: left_out(f"{row.name} beside {why}"))
        ours = [least for least, _, _ in rounds["kinglet"]]
        for peer in (name for name in PEERS if name in rounds):
            ratios = sorted(mine / theirs for mine, (theirs, _, _) in zip(ours, rounds[peer]))
            low, middle, high = statistics.quantiles(ratios, n=4)
            yield kept.Time(row.name, kept.features(), threads, peer, round(middle, 3), round((high - low) / 2, 3), round(min(ours), 3))


def say(figure):
    if isinstance(figure, kept.Count):
        print(f"{figure.model:28} {figure.core:11} {figure.millions:9.2f} M instructions", flush=True)
    else:
        print(f"{figure.model:28} {figure.threads} thread(s) {figure.ms:8.3f} ms  {figure.ratio:.2f} ± {figure.spread:.2f} of {figure.peer}", flush=True)


def measure(options, rows):
    """Figures, and why there are none of the other models."""
    maker, figures, left_out = Maker(options.work), [], []
    for row in rows:
        try:
            for figure in (count if options.arm else times)(options, maker, row, left_out.append):
                say(figure)
                figures.append(figure)
        except (Missing, NotReady) as reason:
            left_out.append(f"{row.name}: {reason}")
    return figures, left_out


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--arm", action="store_true")
    parser.add_argument("--core", action="append", choices=CORES)
    parser.add_argument("--threads", type=lambda text: [int(word) for word in text.split(",")], default=[1, 2])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--milliseconds", type=int, default=80)
    parser.add_argument("--node", type=Path)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--model", action="append")
    end = parser.add_mutually_exclusive_group()
    end.add_argument("--check", action="store_true")
    end.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    options.core = options.core or CORES
    options.build = options.build.resolve()
    if options.rounds < 3:
        parser.error("--rounds: at least 3, of which a spread can be told")
    return options


def main():
    options = read_options()
    if not (options.build / "bin" / "bench_worker").exists():
        print(f"skipped: {options.build.name} is not built")
        return 77
    if options.arm and not COUNTER.exists():
        print("skipped: no tool that counts instructions (../shared/tools/count-instructions)")
        return 77
    try:
        rows = named(options.model) if options.model else [row for row in MODELS if row.small or not options.small]
    except Missing as reason:
        print(f"bench: {reason}", file=sys.stderr)
        return 64
    figures, left_out = measure(options, rows)
    for line in left_out:
        print(f"left out: {line}")
    if not figures:
        print("skipped: nothing could be measured")
        return 77
    before = kept.read(KEPT)
    if options.keep:
        kept.write(KEPT, before | {figure.key: figure for figure in figures})
        page.write(kept.read(KEPT), ROOT / "docs" / "bench.md")
        return 0
    worse, compared = kept.compare(before, figures)
    print(f"{compared} of {len(figures)} figures have a kept one to be compared with, {len(worse)} are worse")
    for line in worse:
        print(f"worse: {line}")
    return 1 if options.check and worse else 0


if __name__ == "__main__":
    sys.exit(main())
