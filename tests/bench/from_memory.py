#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one inference brings from memory on a Raspberry Pi, by a model of its caches beside an emulated processor.

  from_memory.py --plugin LIBFROM_MEMORY --worker BENCH_WORKER --machine EMULATED_PI [--cpu cortex-a72|cortex-a76]
                 [--form session|half] [--places N] MODEL...

Of each model: millions of bytes behind the second cache, of instructions executed, and bytes behind the first cache; with
--places the instructions that most of the first come from. One thread; the caches are those of a Pi 4 (Cortex-A72: 32 KiB, and
1 MiB that its four cores share) or Pi 5 (Cortex-A76: 64 and 512 KiB; there, another 2 MiB lie before the memory).
A run of three inferences less one of one; half a minute and more each. What a processor fetches early is not told apart."""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

CACHES = {"cortex-a72": "l1=32,l1ways=2,l2=1024,l2ways=16", "cortex-a76": "l1=64,l1ways=4,l2=512,l2ways=8"}
LINE = 64
OF_THE_MACHINE = re.compile(r"/lib(c|m)\.so")  # must fit its loader


def collected(worker, model, folder):
    """What the machine gets."""
    (folder / "lib").mkdir(parents=True)
    shutil.copy(worker, folder / "worker")
    shutil.copy(model, folder / "model.onnx")
    told = subprocess.run(["qemu-aarch64", "-E", "LD_TRACE_LOADED_OBJECTS=1", worker], capture_output=True, text=True, check=True).stdout
    for path in re.findall(r" => (/\S+)", told):
        if not OF_THE_MACHINE.search(path):
            shutil.copy(path, folder / "lib")


def emulator_with(plugin, caches, result, folder):
    """A folder whose qemu-system-aarch64 has the plug-in."""
    folder.mkdir()
    emulator = folder / "qemu-system-aarch64"
    emulator.write_text(f'#!/bin/sh\nexec {shutil.which("qemu-system-aarch64")} -plugin {plugin},out={result},{caches} "$@"\n')
    emulator.chmod(0o755)
    return folder


class Ended(Exception):
    """The machine did not run to its end; what it said."""


class NotThere(Exception):
    """A program that this needs, and who has it."""


def counted(machine, run, model, times, work):
    """(instructions, lines behind the first cache, behind the second), [address, lines, instruction]."""
    folder, result = work / f"app{times}", work / f"counts{times}"
    collected(run.worker, model, folder)
    path = emulator_with(machine.plugin.resolve(), CACHES[run.cpu], result, work / f"bin{times}")
    command = f"mkdir -p /out; LD_LIBRARY_PATH=/app/lib ./worker once {run.form} model.onnx {times}"
    ended = subprocess.run([machine.program, "--cpu", run.cpu, "--cores", "1", "--memory", "1800", "--timeout", "1200", folder, command],
                           env={**os.environ, "PATH": f"{path}:{os.environ['PATH']}"}, capture_output=True, text=True, check=False)
    if ended.returncode != 0 or not result.exists():
        raise Ended(f"the machine ended with {ended.returncode}: {ended.stdout[-300:]}{ended.stderr[-300:]}")
    first, *places = result.read_text().splitlines()
    numbers = [int(word) for word in first.split()[1::2]]
    return numbers, [place.split(" ", 2) for place in places]


@dataclass(frozen=True)
class Machine:
    program: Path  # ../shared/tools/emulated-pi
    plugin: Path


@dataclass(frozen=True)
class Run:
    worker: Path
    cpu: str
    form: str = "session"  # or half


@dataclass(frozen=True)
class Brought:
    """By one inference. Of a place: address, lines in three inferences and the load, instruction."""
    megabytes: float
    millions: float  # of instructions
    behind_first: float  # megabytes
    places: list


def brought(machine, run, model):
    """Raises Ended and NotThere."""
    for program in ("qemu-aarch64", "qemu-system-aarch64"):
        if shutil.which(program) is None:
            raise NotThere(f"{program} is not installed; ./dev exec --with build,test,arm64,emulation has it")
    with tempfile.TemporaryDirectory() as work:
        one, _ = counted(machine, run, model, 1, Path(work))
        three, places = counted(machine, run, model, 3, Path(work))
    instructions, first, second = ((many - few) / 2e6 for many, few in zip(three, one))
    return Brought(second * LINE, instructions, first * LINE, places)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--plugin", "--worker", "--machine"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--cpu", choices=CACHES, default="cortex-a72")
    parser.add_argument("--form", choices=("session", "half"), default="session")
    parser.add_argument("--places", type=int, default=0)
    parser.add_argument("models", type=Path, nargs="+", metavar="MODEL")
    options = parser.parse_args()
    for path in (options.plugin, options.worker, options.machine, *options.models):
        if not path.is_file():
            parser.error(f"{path}: no such file; docs/benchmarks.md, \"What comes from memory\", has what builds each")
    for model in options.models:
        try:
            found = brought(Machine(options.machine, options.plugin), Run(options.worker, options.cpu, options.form), model)
        except (Ended, NotThere) as reason:
            sys.exit(f"from_memory: {model}: {reason}")
        print(f"{model.name}: {found.megabytes:.1f} MB from memory, {found.millions:.2f} M instructions, {found.behind_first:.0f} MB behind the first cache", flush=True)
        for address, lines, text in found.places[:options.places]:
            print(f"  {address} {int(lines) * LINE / 1e6:8.1f} MB in three and the load  {text}")


if __name__ == "__main__":
    main()
