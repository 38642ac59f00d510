# SPDX-License-Identifier: Apache-2.0
"""Runs the built kinglet and judges what it says; standard library only."""
import json
import os
import resource
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib
from pathlib import Path

KINGLET = os.environ["KINGLET"]
SOURCE_DIR = Path(os.environ["SOURCE_FOLDER"])
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


def main():
    unittest.main(verbosity=2, argv=sys.argv)


# A picture as a PNG of one colour.
def png(width=8, height=8, color=(90, 120, 60)):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes(color) * width for _ in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


# ONNX files as bytes: just enough of protobuf to write small models, right and wrong ones.
def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value if isinstance(value, bytes) else value.encode()
    return varint(number << 3 | 2) + varint(len(data)) + data


def value_info(name, shape, kind=1):
    dims = b"".join(field(1, field(1, size)) for size in shape)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, dims)))


def constant(name, shape, fill=0.01):
    count = 1
    for size in shape:
        count *= size
    return (b"".join(field(1, size) for size in shape) + field(2, 1) + field(8, name)
            + field(9, struct.pack("<f", fill) * count))


def node(operator, inputs, outputs, name):
    return (b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) + field(3, name)
            + field(4, operator))


def model(nodes, inputs, outputs, constants=(), opset=13):
    graph = (b"".join(field(1, n) for n in nodes) + field(2, "test") + b"".join(field(5, c) for c in constants)
             + b"".join(field(11, i) for i in inputs) + b"".join(field(12, o) for o in outputs))
    return field(1, 8) + field(2, "test") + field(7, graph) + field(8, field(1, "") + field(2, opset))


# A convolution followed by a batch normalisation and an identity: work for the passes.
def reducible():
    nodes = [node("Conv", ["image", "w"], ["a"], "conv"),
             node("BatchNormalization", ["a", "s", "b", "m", "v"], ["c"], "norm"), node("Identity", ["c"], ["y"], "same")]
    numbers = [constant("w", [4, 3, 3, 3], 0.1), constant("s", [4], 2.0), constant("b", [4], 0.5),
               constant("m", [4], 0.1), constant("v", [4], 1.0)]
    return model(nodes, [value_info("image", [1, 3, 8, 8])], [value_info("y", [1, 4, 6, 6])], numbers)
