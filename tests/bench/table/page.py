# SPDX-License-Identifier: Apache-2.0
"""docs/bench.md from what is kept: tables of instructions and of what comes from memory, and one of times for each kind of processor.

  page.py    writes it"""
from kept import KEPT, Count, Memory, Time, read
from models import MODELS, ROOT

PAGE = ROOT / "docs" / "bench.md"

HEAD = """# Speed beside others, kept

Written by `./dev bench [--arm [--memory]] --keep` from `tests/bench/table/kept.jsonl`; `./dev bench [--arm [--memory]] --check` measures
again and fails where a row got worse by more than its spread. What the figures mean, what was tried and where one ran is told in
[benchmarks.md](benchmarks.md). The last column is the commit that was measured, and the day; + stands for a tree that had more than
that commit, - for figures from before this was kept (2026-11-27 or earlier).
"""
ARM = """
## Instructions on the cores of Raspberry Pis

Millions of one inference with one thread, counted on emulated cores: the same on every run and every machine. They know
nothing of caches, memory or pipelines. CI counts the small models of each run and fails above 1 % more.
"""
MEMORY = """
## What comes from memory on the cores of Raspberry Pis

Megabytes of one inference with one thread, by a model of a Pi's two caches beside the emulated core, of models whose weights are more than
these hold (`./dev bench --arm --memory`; more than 3 % more is worse; benchmarks.md, "What comes from memory").
"""
TIMES = """
## Times on {features}

kinglet's time by the peer's in the same round: below 1 kinglet is faster. The median of the rounds (since 2026-11-30 of three processes of each
engine), and half of what lies between its quarters; of two threads the cores shared a cache (*near*), did not (*far*) or *moved* meanwhile, where
it is told; in 8 bits ONNX Runtime has the form that it runs fastest. ms: the least of kinglet's rounds. No bare subgraph stands beside
models of 8 bits, whose scales it would have to be told, nor beside ConvNeXt-T and ViT-B/32, whose normalisations, transpositions and attention
nobody has written for it (`tests/bench/bare_subgraph.cpp`); other gaps were not measured. Where peers were measured at different times a model
has a row for each.
"""


def lines_of(columns, rows):
    return ["", "| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)] + ["| " + " | ".join(row) + " |" for row in rows] + [""]


def order(names):
    place = {row.name: i for i, row in enumerate(MODELS)}
    return sorted(names, key=lambda name: (place.get(name, len(place)), name))


def measured(figures):
    """When each of them was, once."""
    return ", ".join(sorted({f"{figure.commit} {figure.day}" if figure.commit else "-" for figure in figures}))


def of_cores(figures, build):
    cores = sorted({figure.core for figure in figures})
    found = {(figure.model, figure.core): figure for figure in figures if figure.build == build}
    rows = []
    for model in order({model for model, _ in found}):
        there = [found.get((model, core)) for core in cores]
        rows.append([model, *[f"{figure.amount:.{figure.DIGITS}f}" if figure else "-" for figure in there], measured(filter(None, there))])
    return lines_of(["model", *cores, "of"], rows)


def times(figures):
    """A row for each measurement: of peers that were measured at different times each stands beside its own milliseconds."""
    peers = sorted({figure.peer for figure in figures})
    measurements = {}
    for figure in figures:
        measurements.setdefault((figure.model, figure.threads, figure.cores, figure.day, figure.commit, figure.ms), {})[figure.peer] = figure
    rows = []
    for name in order({figure.model for figure in figures}):
        for (model, threads, cores, _, _, ms), there in sorted(measurements.items()):
            if model != name:
                continue
            ratios = [f"{there[peer].ratio:.2f} ± {there[peer].spread:.2f}" if peer in there else "-" for peer in peers]
            rows.append([model, f"{threads}, {cores}" if cores else str(threads), f"{ms:.3f}", *ratios, measured(there.values())])
    return lines_of(["model", "threads", "ms", *peers, "of"], rows)


def text_of(kept):
    figures = list(kept.values())
    text = [HEAD]
    for kind, head in ((Count, ARM), (Memory, MEMORY)):
        if of_kind := [figure for figure in figures if isinstance(figure, kind)]:
            text += [head, *of_cores(of_kind, "arm64")]
    timed = [figure for figure in figures if isinstance(figure, Time)]
    for features in sorted({figure.features for figure in timed}):
        text += [TIMES.format(features=features), *times([figure for figure in timed if figure.features == features])]
    return "\n".join(text).replace("\n\n\n", "\n\n").rstrip() + "\n"


def write(kept, path):
    path.write_text(text_of(kept), encoding="utf-8")


if __name__ == "__main__":
    write(read(KEPT), PAGE)
