#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which engines are measured: a peer that cannot run a model is left out with its reason, kinglet itself never."""
import argparse
import tempfile
import unittest
from pathlib import Path

import compare
from worker import NotReady

READY = "#!/bin/sh\necho ready\nwhile read -r words; do echo 3 1.5 2.0 0.9; done\n"
REFUSES = "#!/bin/sh\necho 'bench_bare: no bare form of Concat' >&2\nexit 1\n"


class WhoIsMeasured(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.left_out = []

    def measure(self, ours, bare):
        for name, text in {"bench_worker": ours, "bench_bare": bare, "python3": REFUSES}.items():
            (self.folder / name).write_text(text, encoding="utf-8")
            (self.folder / name).chmod(0o755)
        # `env` finds the third program, in place of ONNX Runtime's, where this folder comes first.
        asked = argparse.Namespace(worker=str(self.folder / "bench_worker"), exec=f"env PATH={self.folder}:/usr/bin:/bin", node=None,
                                   before=None, threads=1, rounds=3, milliseconds=1)
        return compare.measure(asked, "model.onnx", self.left_out.append)

    def test_a_peer_that_cannot_run_the_model_is_left_out_and_the_others_are_measured(self):
        rounds = self.measure(READY, REFUSES)
        self.assertEqual(rounds, {"kinglet": [[1.5, 2.0, 0.9]] * 3})
        self.assertEqual([why.split(": ", 1)[0] for why in self.left_out], ["bare XNNPACK", "ORT 1.21"])
        self.assertTrue(self.left_out[0].endswith("is not ready: bench_bare: no bare form of Concat"), self.left_out[0])
        self.assertEqual(sorted(self.measure(READY, READY)), ["bare XNNPACK", "kinglet"])

    def test_without_kinglet_itself_there_is_nothing_to_compare(self):
        with self.assertRaisesRegex(NotReady, "no bare form of Concat"):
            self.measure(REFUSES, READY)


if __name__ == "__main__":
    unittest.main()
