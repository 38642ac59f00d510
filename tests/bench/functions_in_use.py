#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which of their functions kinglet and kingletd call while a model is loaded and run, and while the drawn scene is looked at, in the
order of the first call: cmake/functions_in_use.txt, by which a release lays its functions side by side (cmake/options.cmake).
Each function begins with a breakpoint that goes with the first call. x86-64 alone; the names are those of every processor.

  ./dev exec python3 tests/bench/functions_in_use.py --bin build/release/bin --write MODEL...
"""
import argparse
import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

LIST = Path(__file__).resolve().parents[2] / "cmake" / "functions_in_use.txt"
BREAKPOINT = b"\xcc"
TRACE_ME, POKE_USER, PEEK_USER, CONTINUE, SET_OPTIONS = 0, 6, 3, 7, 0x4200
FOLLOW_THREADS, END_WITH_US = 8, 1 << 20
INSTRUCTION_POINTER = 16 * 8  # of user_regs_struct
EVERY_THREAD = 0x40000000

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def ptrace(request, process, address=0, data=0):
    return libc.ptrace(request, process, address, data)


def functions(program):
    """Names of sections by address in the file, which are those of the functions: a constructor that two names call has the second's.
    What GCC put aside as unlikely, or runs once before main, has other places."""
    listing = subprocess.run(["nm", "--defined-only", program], check=True, capture_output=True, text=True).stdout
    found = {}
    for address, kind, name in re.findall(r"^([0-9a-f]+) (\w) (\S+)$", listing, re.MULTILINE):
        if kind in "tTwW" and not re.search(r"\.cold|\.localalias|^_init$|^_fini$|^_start$|^_GLOBAL__", name):
            found.setdefault(int(address, 16), []).append(name)
    return {address: [name for name in names if re.sub(r"([CD])1E", r"\g<1>2E", name) not in set(names) - {name}]
            for address, names in found.items()}


def place_of(process, program):
    """Where the file's address 0 lies."""
    for line in Path(f"/proc/{process}/maps").read_text().splitlines():
        if line.endswith(str(program)):
            return int(line.split("-")[0], 16) - int(line.split()[2], 16)
    raise RuntimeError(f"{program} is not there")


def calls(program, *arguments):
    """Names of the program's functions in the order of their first calls."""
    process = os.fork()
    if process == 0:
        ptrace(TRACE_ME, 0)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execv(program, [str(program), *arguments])
    os.waitpid(process, 0)
    ptrace(SET_OPTIONS, process, 0, FOLLOW_THREADS | END_WITH_US)
    base = place_of(process, program)
    names = {base + address: name for address, name in functions(program).items()}
    before, called = {}, {}
    with open(f"/proc/{process}/mem", "r+b", buffering=0) as memory:

        def swap(address, byte):
            memory.seek(address)
            old = memory.read(1)
            memory.seek(address)
            memory.write(byte)
            return old

        for address in names:
            before[address] = swap(address, BREAKPOINT)
        ptrace(CONTINUE, process)
        while True:
            thread, status = os.waitpid(-1, EVERY_THREAD)
            if os.WIFEXITED(status) or os.WIFSIGNALED(status):
                if thread == process:
                    break
                continue
            number = os.WSTOPSIG(status)
            at = ptrace(PEEK_USER, thread, INSTRUCTION_POINTER) - 1
            if number == signal.SIGTRAP and status >> 16 == 0 and at in names:
                if at not in called:
                    called[at] = names[at]
                    swap(at, before[at])
                ptrace(POKE_USER, thread, INSTRUCTION_POINTER, at)
                number = 0
            elif number in (signal.SIGTRAP, signal.SIGSTOP):
                number = 0
            ptrace(CONTINUE, thread, 0, number)
    if status != 0:
        sys.exit(f"{program} {' '.join(arguments)}: ended with {status}")
    return [name for names in called.values() for name in names]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=Path, help="folder of the programs, with their symbols")
    parser.add_argument("--write", action="store_true", help="anew what the build reads, and not to stdout")
    parser.add_argument("models", nargs="+", help="ONNX files; the last one is the daemon's")
    options = parser.parse_args()
    programs = options.bin.resolve()
    found = []
    for threads in ("1", "2"):
        for model in options.models:
            found += calls(programs / "kinglet", "bench", model, "--threads", threads, "--runs", "3")
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "kinglet.toml"
        settings.touch()
        sets = ["http.listen=127.0.0.1:0", f"model.path={options.models[-1]}", "source=demo:", "source.size=640x480",
                "inference.threads=1", f"store.path={folder}/state"]
        words = [word for one in sets for word in ("--set", one)]
        found += calls(programs / "kingletd", "--config", str(settings), *words, "--for", "60s")
    text = "\n".join(["# What tests/bench/functions_in_use.py found; made anew by it, not by hand.", *dict.fromkeys(found)]) + "\n"
    if options.write:
        LIST.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
