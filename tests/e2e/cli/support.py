# SPDX-License-Identifier: Apache-2.0
"""Runs the built kinglet and judges what it says; standard library only."""
import csv
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

KINGLET = os.environ["KINGLET"]
SOURCE_DIR = Path(os.environ["SOURCE_FOLDER"])
sys.path.insert(0, str(SOURCE_DIR / "tests" / "support"))
from made_files import constant, field, model, node, png, reducible, value_info, varint  # noqa: E402,F401
DEMO = SOURCE_DIR / "models" / "demo" / "kinglet-demo.onnx"
DEMO_RECIPE = DEMO.with_suffix(".recipe.json")
DEMO_LABELS = DEMO.with_suffix(".labels.txt")
CORPUS = Path(os.environ.get("KINGLET_CORPUS", SOURCE_DIR / ".." / "shared" / "corpus"))
HAVE_CORPUS = (CORPUS / "corpus.json").exists()
PATIENCE = 120  # seconds: only a failing test waits so long


class Ended:
    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout
        self.err = process.stderr.decode("utf-8", "replace")

    def text(self):
        return self.out.decode()

    def json(self):
        return json.loads(self.out)

    def __str__(self):
        return f"exit code {self.code}\nstdout: {self.out[:2000]!r}\nstderr: {self.err}"


def limit_file_size(size):
    """What a full disk looks like without one: a write past `size` fails (EFBIG), since Python ignores SIGXFSZ."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def kinglet(*arguments, stdin=b"", env=None, largest_file=None, stdout=subprocess.PIPE, cwd=None):
    setup = None if largest_file is None else limit_file_size(largest_file)
    process = subprocess.run([KINGLET, *map(str, arguments)], input=stdin, stdout=stdout, stderr=subprocess.PIPE,
                             timeout=PATIENCE, env={**os.environ, **(env or {})}, preexec_fn=setup,
                             restore_signals=largest_file is None, cwd=cwd, check=False)
    return Ended(process)


class CliTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def file(self, name, content=b""):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def assert_done(self, ended, code=0):
        self.assertEqual(ended.code, code, ended)
        return ended

    def assert_refused(self, ended, code, *words, hint=None):
        """One line that says it all, at most one hint, nothing on stdout, the contract's exit code."""
        self.assertEqual(ended.code, code, ended)
        self.assertEqual(ended.out or b"", b"", ended)
        lines = ended.err.splitlines()
        self.assertEqual(sum(line.startswith("kinglet: ") for line in lines), 1, ended)
        said = [line for line in lines if line.startswith(("kinglet: ", "hint: "))]
        self.assertLessEqual(len(said), 2, ended)
        self.assertTrue(said[0].startswith("kinglet: "), ended)
        for word in words:
            self.assertIn(str(word), said[0], ended)
        if hint is not None:
            self.assertEqual(len(said), 2, ended)
            self.assertIn(str(hint), said[1], ended)

    def assert_folder_holds(self, *names):
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), sorted(names))


def sort_by_label(pictures, to):
    """The pictures that labels.csv names, in a folder a label."""
    with open(pictures / "labels.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            folder = to / row["label"]
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy(pictures / row["file"], folder)


def main():
    unittest.main(verbosity=2, argv=sys.argv)
