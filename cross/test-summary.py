#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Passes ctest's output through and puts the skipped cases, counted by reason, before ctest's own last lines, and where cases
failed the first that each said of it behind them: who sees only the end of a long output, sees that. With --unlock: that
open file is unlocked when the first test starts, by when ctest has read which there are.

Usage: ctest --output-junit FILE ... | test-summary.py [--unlock NUMBER] FILE [NESTED_FILE...]
"""
import collections
import fcntl
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

# Cases that run ctest in another build: what they print is in that build's own file.
NESTED = ("sanitizer.", "arm64.", "emulation.")
STARTS = re.compile(r"^ +Start +\d+: ")
SUMMARY = re.compile(r"^\d+% tests passed")
SAYS_WHY = re.compile(r": Failure$|\w+Sanitizer: |: runtime error: |^Traceback |^\w*Error: |^FAIL: |^\[  FAILED  \]")
TOLD_LINES = 20


def reasons_of(output):
    """The lines after GoogleTest's "file:line: Skipped" and the rest of a script's "skipped: ..." lines."""
    lines = [line.strip() for line in output.splitlines()]
    for index, line in enumerate(lines):
        if line.endswith(": Skipped") and index + 1 < len(lines):
            yield lines[index + 1]
        elif line.lower().startswith("skipped: "):
            yield line[len("skipped: "):]


def skipped_reasons(path):
    """Reasons of the skipped cases of one JUnit file; a file that is absent or broken has none.

    A program that counts as one case may have skipped some of its own.
    """
    try:
        cases = ElementTree.parse(path).getroot().iter("testcase")
    except (OSError, ElementTree.ParseError):
        return
    for case in cases:
        reasons = list(reasons_of(case.findtext("system-out") or ""))
        if case.find("skipped") is not None:
            yield reasons[0] if reasons else "no reason given"
        elif not case.get("name", "").startswith(NESTED):
            yield from reasons


def print_reasons(paths):
    counts = collections.Counter(reason for path in paths for reason in skipped_reasons(path))
    if not counts:
        return
    print(f"\nSkipped, by reason ({counts.total()} cases):")
    for reason, count in counts.most_common():
        print(f"  {count:5d}  {reason}")


def why_of(output):
    """What a failed case said from the first line on that says why; its last lines where none does."""
    lines = output.rstrip().splitlines()
    first = next((i for i, line in enumerate(lines) if SAYS_WHY.search(line)), max(0, len(lines) - TOLD_LINES))
    return lines[first:first + TOLD_LINES]


def print_failures(paths):
    for path in paths:
        try:
            cases = ElementTree.parse(path).getroot().iter("testcase")
        except (OSError, ElementTree.ParseError):
            continue
        for case in cases:
            if case.find("failure") is None:
                continue
            build = "" if path == paths[0] else f" of {pathlib.Path(path).stem.removeprefix('junit-')}"
            print(f"\n{case.get('name')}{build} failed:")
            for line in why_of(case.findtext("system-out") or ""):
                print(f"  {line}")


def main(paths):
    lock, held = None, []
    if paths[0] == "--unlock":
        lock, paths = int(paths[1]), paths[2:]
    for line in sys.stdin:
        if lock is not None and STARTS.match(line):
            fcntl.flock(lock, fcntl.LOCK_UN)
            lock = None
        if held or SUMMARY.match(line):
            held.append(line)
        else:
            print(line, end="", flush=True)
    print_reasons(paths)
    print()
    sys.stdout.writelines(held)
    print_failures(paths)


if __name__ == "__main__":
    main(sys.argv[1:])
