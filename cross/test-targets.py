#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says what ninja has to build for the tests that match: a C++ case by the sources of its program, a script by the programs
that ctest hands it. Exit code 1: none that it knows matches, so everything has to be built to know. With --labels: which
scripts match, a line for each label. With --for-ctest: REGEX with the cases of the programs that it names as a whole, since
ctest knows no program.

Usage: test-targets.py [--labels | --for-ctest] BUILD_FOLDER REGEX"""
import re
import sys
from pathlib import Path

CASE = re.compile(r"^\s*TEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.MULTILINE)
PREFIX = re.compile(r"INSTANTIATE_TEST_SUITE_P\(\s*(\w*)\s*,\s*(\w+)")
LABELS = re.compile(r' LABELS "([^"]*)"')
TEST = re.compile(r"^add_test\(\[=\[(.+?)\]=\] (.*)\)$")


def case_names(source):
    try:
        text = source.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        sys.exit(f"test-targets.py: {source} has gone since the build was configured: ./dev build tests does that anew")
    prefixes = {suite: prefix for prefix, suite in PREFIX.findall(text)}
    for suite, case in CASE.findall(text):
        prefix = prefixes.get(suite)
        yield f"{prefix}/{suite}.{case}/" if prefix else f"{suite}.{case}"


def programs(build):
    """Each C++ program of tests with the names under which ctest may know it."""
    for line in (build / "test_programs.txt").read_text(encoding="utf-8").splitlines():
        program, *sources = line.split("\t")
        yield program, [program, *(name for source in sources for name in case_names(Path(source)))]


def scripts(build):
    """Each test that is no such program, with the files of the build that it names and its labels."""
    inside = re.compile(re.escape(str(build)) + r'/([^";:=\s]+)')
    for file in build.rglob("CTestTestfile.cmake"):
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        for index, line in enumerate(lines):
            match = TEST.match(line)
            if match:
                properties = lines[index + 1] if index + 1 < len(lines) else ""
                labels = LABELS.search(properties)
                yield match[1], inside.findall(match[2] + properties), labels[1].split(";") if labels else []


def print_labels(build, wanted):
    for name, _, labels in scripts(build):
        for label in labels if wanted.search(name) else []:
            print(f"{name}\t{label}")
    return 0


def print_for_ctest(build, regex):
    cases = dict(programs(build))
    suites = {name.rstrip("/").split("/")[-1].split(".")[0] for part in regex.split("|") for name in cases.get(part, [])[1:]}
    # One group for all of them: CMake has room for 32 groups.
    print(regex + (rf"|(^|/)({'|'.join(sorted(suites))})\." if suites else ""))
    return 0


def main():
    *flags, folder, regex = sys.argv[1:]
    build, wanted = Path(folder).resolve(), re.compile(regex)
    if flags == ["--labels"]:
        return print_labels(build, wanted)
    if flags == ["--for-ctest"]:
        return print_for_ctest(build, regex)
    targets = {program for program, names in programs(build) if any(wanted.search(name) for name in names)}
    matches = bool(targets)
    known = {line.split(":")[0][len("build "):] for line in (build / "build.ninja").read_text().splitlines()
             if line.startswith("build ")}
    for name, files, _ in scripts(build):
        if wanted.search(name):
            matches = True
            targets.update(file for file in files if file in known)
    for target in sorted(targets):
        print(target)
    return 0 if matches else 1


sys.exit(main())
