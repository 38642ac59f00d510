#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kept table: what counts as worse, what is never compared, and the page that is written from it."""
import sys
import tempfile
import unittest
from pathlib import Path

import kept
import page
from kept import Count, Time


def count(millions):
    return Count("bird", "cortex-a72", "arm64", millions)


def time(ratio, spread=0.02, features="avx2"):
    return Time("bird", features, 1, "ORT 1.30", ratio, spread, 5.0)


class WhatIsWorse(unittest.TestCase):
    def worse(self, before, after):
        return kept.compare({before.key: before}, [after])

    def test_a_percent_more_instructions_is_worse_and_half_a_percent_is_not(self):
        self.assertEqual(self.worse(count(100), count(100.9)), ([], 1))
        lines, _ = self.worse(count(100), count(101.2))
        self.assertEqual(lines, ["bird on cortex-a72: 101.20 M instructions, kept are 100.00 (+1.2%)"])

    def test_a_ratio_is_worse_when_the_spreads_no_longer_touch(self):
        self.assertEqual(self.worse(time(0.90), time(0.93)), ([], 1))
        lines, _ = self.worse(time(0.90), time(0.95))
        self.assertEqual(len(lines), 1)
        self.assertIn("0.95 ± 0.02, kept is 0.90 ± 0.02", lines[0])

    def test_a_processor_of_another_kind_and_another_build_are_not_compared(self):
        self.assertEqual(self.worse(time(0.5), time(0.9, features="avx2 amx_int8")), ([], 0))
        self.assertEqual(self.worse(count(50), Count("bird", "cortex-a72", "arm64-tests", 90)), ([], 0))

    def test_what_is_faster_is_no_fault(self):
        self.assertEqual(self.worse(count(100), count(50)), ([], 1))


class WhatIsKept(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name) / "kept.jsonl"

    def test_figures_are_read_as_they_were_written(self):
        figures = {figure.key: figure for figure in (count(100), time(0.9))}
        kept.write(self.path, figures)
        self.assertEqual(kept.read(self.path), figures)

    def test_the_page_has_a_table_of_instructions_and_one_a_kind_of_processor(self):
        figures = [count(120.62), time(0.9), time(0.7, features="avx2 amx_int8")]
        page.write({figure.key: figure for figure in figures}, self.path)
        text = self.path.read_text(encoding="utf-8")
        self.assertIn("| model | cortex-a72 |\n| --- | --- |\n| bird | 120.62 |", text)
        self.assertIn("## Times on avx2\n", text)
        self.assertIn("## Times on avx2 amx_int8\n", text)
        self.assertIn("| bird | 1 | 5.000 | 0.70 ± 0.02 |", text)

    def test_a_processor_is_known_by_what_its_kernels_are_chosen_by(self):
        self.path.write_text("model name : x\nflags\t\t: fpu sse2 avx2 avx512f avx512_vnni\n", encoding="utf-8")
        self.assertEqual(kept.features(self.path), "avx2 avx512f avx512_vnni")
        self.path.write_text("Features\t: fp asimd crc32 asimddp asimdhp\n", encoding="utf-8")
        self.assertEqual(kept.features(self.path), "asimd asimdhp asimddp")


if __name__ == "__main__":
    sys.exit(unittest.main())
