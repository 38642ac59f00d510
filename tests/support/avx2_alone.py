#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program as on a processor with AVX2 and nothing more: of a copy of it and of the libraries that ask, each CPUID
is an instruction that no processor has, and libavx2_alone.so answers in its place.

  avx2_alone.py LIBAVX2_ALONE PROGRAM [ARGUMENT...]

Whatever else a processor of that kind has or lacks (caches, ports, clock) stays this one's. Exit codes: the program's; 77:
cannot be done here."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ASKING = ["libcpuinfo.so.0"]  # XNNPACK asks it; how the C library copies is not hidden
CPUID, UNDEFINED = b"\x0f\xa2", b"\x0f\x0b"


class NotHere(Exception):
    pass


def said_by(*command):
    try:
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as reason:
        raise NotHere(f"{command[0]} says nothing of {command[-1]}: {reason}") from reason


def places_of_cpuid(path):
    """Offsets in the file."""
    addresses = [int(word, 16) for word in re.findall(r"^ *([0-9a-f]+):\tcpuid", said_by("objdump", "-d", "--no-show-raw-insn", path), re.M)]
    loaded = [line.split() for line in said_by("readelf", "-lW", path).splitlines() if line.strip().startswith("LOAD")]
    parts = [(int(words[2], 16), int(words[1], 16), int(words[4], 16)) for words in loaded]
    return [address - start + offset for address in addresses for start, offset, size in parts if start <= address < start + size]


def copy(path, folder):
    """Of a program or a library, without CPUID."""
    path = Path(path)
    code = bytearray(path.read_bytes())
    places = places_of_cpuid(path)
    if not places:
        raise NotHere(f"{path.name} does not ask what the processor has")
    for place in places:
        assert code[place:place + 2] == CPUID, f"{path}: no CPUID at {place:#x}"
        code[place:place + 2] = UNDEFINED
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / path.name
    made.unlink(missing_ok=True)  # it may be running
    made.write_bytes(code)
    shutil.copymode(path, made)
    return made


def copy_package(package, folder):
    """Of a folder with libraries, of which some ask."""
    made = folder / package.name
    shutil.rmtree(made, ignore_errors=True)
    shutil.copytree(package, made)
    for library in made.rglob("*.so"):
        if CPUID in library.read_bytes():
            copy(library, library.parent)
    return made


def libraries_of(program):
    return [Path(path) for name, path in re.findall(r"^\s*(\S+) => (\S+)", said_by("ldd", program), re.M) if name in ASKING]


def prepare(answering, program, folder):
    """The copy, and the environment that it runs in."""
    if "avx2" not in Path("/proc/cpuinfo").read_text(encoding="utf-8"):
        raise NotHere("this processor has no AVX2")
    made = copy(program, folder / "bin")
    for library in libraries_of(program):
        copy(library, folder / "lib")
    return made, {"LD_PRELOAD": str(answering), "LD_LIBRARY_PATH": str(folder / "lib")}


def main():
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 64
    with tempfile.TemporaryDirectory() as folder:
        try:
            program, environment = prepare(Path(sys.argv[1]).resolve(), sys.argv[2], Path(folder))
        except NotHere as reason:
            print(f"skipped: {reason}")
            return 77
        return subprocess.run([str(program), *sys.argv[3:]], env=os.environ | environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
