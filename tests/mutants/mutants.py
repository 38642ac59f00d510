#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts small faults into a copy of the tree, one at a time, and says whether the tests notice: table.txt names for each
what it is and which test must fail. "check" looks only whether all patches still apply and their tests still exist.
Usage: mutants.py run ROOT [NAME...] | check ROOT | list ROOT"""
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

PATIENCE = 600  # seconds: a test that hangs has noticed
NOT_TRIED = 77


class Mutant:
    """A row of the table: NAME | TEST | WHAT. TEST is PROGRAM:Suite.Case (GoogleTest), or SCRIPT.py:Class.case."""

    def __init__(self, root, line):
        self.name, self.test, self.what = (part.strip() for part in line.split("|"))
        self.place, self.case = self.test.split(":")
        self.is_script = self.place.endswith(".py")
        self.targets = ["kingletd", "kinglet"] if self.is_script else [self.place]
        self.patch = root / "tests/mutants" / (self.name + ".patch")


def read_table(root):
    lines = (root / "tests/mutants/table.txt").read_text().splitlines()
    return [Mutant(root, line) for line in lines if line and not line.startswith("#")]


def hunks(patch):
    """(file, what stands there, what is put there) of a unified diff. Line numbers are not used: texts move."""
    file, before, after = None, [], []
    for line in [*patch.read_text().splitlines(keepends=True), "@@"]:
        if line.startswith(("--- ", "+++ ", "@@")):
            if before != after:
                yield file, "".join(before), "".join(after)
            before, after = [], []
            if line.startswith("+++ "):
                file = line.split()[1].removeprefix("b/")
            continue
        if line[0] in " -":
            before.append(line[1:])
        if line[0] in " +":
            after.append(line[1:])


def changed(root, patch):
    """{file: its text with the fault}. ValueError: the patch does not fit."""
    texts = {}
    for file, before, after in hunks(patch):
        text = texts.get(file) or (root / file).read_text()
        if text.count(before) != 1:
            raise ValueError(f"{file} has {text.count(before)} places like\n{before}")
        texts[file] = text.replace(before, after)
    if not texts:
        raise ValueError("it changes nothing")
    return texts


def faults(root):
    rows = read_table(root)
    stray = {path.stem for path in (root / "tests/mutants").glob("*.patch")} ^ {row.name for row in rows}
    yield from (f"{name}: in the table or among the patches, and not in both" for name in sorted(stray))
    programs = "\n".join(path.read_text() for path in (root / "tests").rglob("CMakeLists.txt"))
    tests = "\n".join(path.read_text() for path in (root / "tests").rglob("*_test.cpp"))
    for row in rows:
        if row.name in stray:
            continue
        try:
            changed(root, row.patch)
        except (OSError, ValueError) as error:
            yield f"{row.name}: does not apply: {error}"
        suite, case = row.case.split(".")
        if row.is_script:
            text = (root / row.place).read_text() if (root / row.place).exists() else ""
            there = f"\nclass {suite}(" in text and f"    def {case}(" in text
        else:
            there = re.search(rf"TEST(_F|_P)?\({suite}, {case}\)", tests) and f"kinglet_test({row.place} " in programs
        if not there:
            yield f"{row.name}: there is no test {row.test}"


class Copy:
    """The tree as it is now, with a build folder of its own that stays for the next time."""

    def __init__(self, root):
        self.root, self.tree = root, root / "build/mutants/tree"
        self.build = self.tree / "build/tests"
        self.tree.mkdir(parents=True, exist_ok=True)
        self.follow()
        shared = self.tree.parent / "shared"
        if (root.parent / "shared").is_dir() and not shared.is_symlink():
            shared.symlink_to(root.parent / "shared")
        self.env = {**os.environ, "CCACHE_BASEDIR": str(self.tree), "PYTHONDONTWRITEBYTECODE": "1",
                    "KINGLETD": str(self.build / "bin/kingletd"), "KINGLET": str(self.build / "bin/kinglet"),
                    "SOURCE_FOLDER": str(self.tree), "PYTHONPATH": str(self.tree / "tests/e2e/daemon")}

    def follow(self):
        listed = subprocess.run(["git", "-C", self.root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                check=True, capture_output=True, text=True).stdout
        wanted = {name for name in listed.split("\0") if name and (self.root / name).is_file()}
        for path in list(self.tree.rglob("*")):
            name = str(path.relative_to(self.tree))
            if path.is_file() and name not in wanted and not name.startswith("build/"):
                path.unlink()
        for name in wanted:
            source, copy = self.root / name, self.tree / name
            if copy.is_file() and copy.read_bytes() == source.read_bytes():
                continue
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)

    def make(self, targets):
        """None, or what the build says."""
        jobs = subprocess.run(["nproc"], capture_output=True, text=True).stdout.strip() or "1"
        commands = [["ninja", "-C", self.build, "-j", jobs, *sorted(set(targets))]]
        if not (self.build / "build.ninja").exists():
            commands.insert(0, ["cmake", "-S", self.tree, "--preset", "tests"])
        for command in commands:
            made = subprocess.run(command, cwd=self.tree, env=self.env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            if made.returncode != 0:
                return (made.stdout + made.stderr)[-3000:]
        return None

    def passes(self, mutant):
        """True, False, or why it was not tried."""
        if mutant.is_script:
            script = self.tree / mutant.place
            command, folder = [sys.executable, script.name, mutant.case], script.parent
        else:
            command, folder = [self.build / "bin" / mutant.place, "--gtest_filter=" + mutant.case], self.build
        try:
            run = subprocess.run(command, cwd=folder, env=self.env, capture_output=True, text=True, errors="replace",
                                 stdin=subprocess.DEVNULL, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            return False
        said = run.stdout + run.stderr
        if run.returncode == NOT_TRIED or "[  SKIPPED ]" in said or "\nOK (skipped" in said:
            return "the test was skipped"
        if "Running 0 tests" in said or "Ran 0 tests" in said:
            return "the test was not found"
        return run.returncode == 0


def judge(copy, mutant):
    """caught, missed, or what stood in the way."""
    texts = changed(copy.tree, mutant.patch)
    try:
        for file, text in texts.items():
            (copy.tree / file).write_text(text)
        problem = copy.make(mutant.targets)
        if problem:
            return "does not build: " + problem
        passes = copy.passes(mutant)
        return passes if isinstance(passes, str) else "missed" if passes else "caught"
    finally:
        for file in texts:
            shutil.copyfile(copy.root / file, copy.tree / file)


def run(root, names):
    rows = read_table(root)
    unknown = set(names) - {row.name for row in rows}
    if unknown:
        sys.exit(f"mutants: there is no {', '.join(sorted(unknown))}; ./dev mutants --list names all")
    rows = [row for row in rows if not names or row.name in names]
    copy = Copy(root)
    print(f"building {len({t for row in rows for t in row.targets})} programs without a fault ...", flush=True)
    if problem := copy.make([target for row in rows for target in row.targets]):
        sys.exit("mutants: the tree does not build: " + problem)
    count = {"caught": 0, "missed": 0}
    begun = time.monotonic()
    sound = {}
    for row in rows:
        if row.test not in sound:
            copy.make(row.targets)  # without the fault of the row before
            sound[row.test] = copy.passes(row)
        if sound[row.test] is True:
            verdict = judge(copy, row)
        else:
            verdict = sound[row.test] or "the test fails without the fault, too"
        count[verdict] = count.get(verdict, 0) + 1
        print(f"{verdict:8} {row.name}: {row.what} ({row.test})", flush=True)
    copy.make([target for row in rows for target in row.targets])
    print(f"{count['caught']} of {len(rows)} caught, {count['missed']} missed, "
          f"{len(rows) - count['caught'] - count['missed']} not tried, in {time.monotonic() - begun:.0f} s")
    return 0 if count["caught"] == len(rows) else 1


def main():
    act, root, names = sys.argv[1], Path(sys.argv[2]).resolve(), sys.argv[3:]
    if act == "list" or "--list" in names:
        for row in read_table(root):
            print(f"{row.name}: {row.what} ({row.test})")
        return 0
    if act == "check":
        found = list(faults(root))
        for fault in found:
            print(f"tests/mutants: {fault}")
        return 1 if found else 0
    return run(root, names)


if __name__ == "__main__":
    sys.exit(main())
