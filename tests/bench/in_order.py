#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cycles that a model of a processor without branches that miss and caches gives the loops of products.

  in_order.py [--cpu cortex-a53] [--mca llvm-mca-19] [--least 16] [--of bytes|floats] FILE...

Of each loop of a program, library or object for arm64 with so many multiplications of bytes (or of 16 bits) or floats, innermost
ones and those around them (run through once, every branch forward not taken): its address, instructions, multiplications,
cycles a turn. The model is LLVM's (llvm-mca): it takes a load of 16 bytes for one of 8."""
import argparse
import re
import subprocess

MULTIPLIES = {"bytes": re.compile(r"^(smull2?|smlal2?|sdot)\b"), "floats": re.compile(r"^fmla\b")}
LINE = re.compile(r"^\s*([0-9a-f]+):\t(\S+)\s*(.*)$")


def instructions(path):
    """(address, name, operands) of each."""
    text = subprocess.run(["aarch64-linux-gnu-objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True).stdout
    for line in text.splitlines():
        if found := LINE.match(line):
            address, name, operands = found.groups()
            yield int(address, 16), name, operands.split("//")[0].strip()


def target(name, operands):
    """Where a branch goes."""
    if not re.match(r"(b(\..+)?|cbn?z|tbn?z)$", name):
        return None
    found = re.search(r"([0-9a-f]+)(?: <.*>)?$", operands)
    return int(found.group(1), 16) if found else None


def loops(code, longest=1200):
    at = {}  # of the function that is read; each of an object begins at 0
    for end, (address, name, operands) in enumerate(code):
        at[address] = end
        to = target(name, operands)
        if to is not None and to < address and end - at.get(to, end - longest) < longest and name != "b":
            yield at[to], end


def cycles(options, body):
    turns = 200
    text = "".join(f"{name} {operands}\n" for _, name, operands in body if target(name, operands) is None) + "b.ne #-4\n"
    told = subprocess.run([options.mca, "-mtriple=aarch64-linux-gnu", f"-mcpu={options.cpu}", "-mattr=+dotprod,+fullfp16,+i8mm", f"-iterations={turns}"],
                          input=text, capture_output=True, text=True, check=False)
    found = re.search(r"Total Cycles:\s+(\d+)", told.stdout)
    return f"{int(found.group(1)) / turns:.1f} cycles" if found else told.stderr.splitlines()[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpu", default="cortex-a53")
    parser.add_argument("--mca", default="llvm-mca-19")
    parser.add_argument("--least", type=int, default=16)
    parser.add_argument("--of", choices=MULTIPLIES, default="bytes")
    parser.add_argument("files", nargs="+", metavar="FILE")
    options = parser.parse_args()
    for path in options.files:
        code = list(instructions(path))
        for begin, end in loops(code):
            body = code[begin : end + 1]
            products = sum(bool(MULTIPLIES[options.of].match(name)) for _, name, _ in body)
            if products >= options.least:
                print(f"{path.rsplit('/', 1)[-1]} {body[0][0]:#x}: {len(body)} instructions, {products} multiplications, {cycles(options, body)}", flush=True)


if __name__ == "__main__":
    main()
