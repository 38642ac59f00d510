#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kept table: what counts as worse, what is never compared, when a check fails, and the page that is written from it."""
import argparse
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import bench
import kept
import page
from kept import Count, Memory, Time
from models import MODELS


def count(millions):
    return Count("bird", "cortex-a72", "arm64", millions)


def memory(megabytes):
    return Memory("bird", "cortex-a72", "arm64", megabytes)


def time(ratio, spread=0.02, features="avx2"):
    return Time("bird", features, 1, "ORT 1.30", ratio, spread, 5.0)


class WhatIsWorse(unittest.TestCase):
    def worse(self, before, after):
        return kept.compare({before.key: before}, [after])

    def test_a_percent_more_instructions_is_worse_and_half_a_percent_is_not(self):
        self.assertEqual(self.worse(count(100), count(100.9)), ([], 1))
        lines, _ = self.worse(count(100), count(101.2))
        self.assertEqual(lines, ["bird on cortex-a72: 101.20 M instructions, kept are 100.00 (+1.2%)"])

    def test_three_percent_more_from_memory_is_worse_and_two_are_not(self):
        self.assertEqual(self.worse(memory(100), memory(102)), ([], 1))
        lines, _ = self.worse(memory(100), memory(104))
        self.assertEqual(lines, ["bird on cortex-a72: 104.0 MB from memory, kept are 100.0 (+4.0%)"])
        self.assertEqual(self.worse(memory(100), count(200)), ([], 0))

    def test_a_ratio_is_worse_when_the_spreads_no_longer_touch(self):
        self.assertEqual(self.worse(time(0.90), time(0.93)), ([], 1))
        lines, _ = self.worse(time(0.90), time(0.95))
        self.assertEqual(len(lines), 1)
        self.assertIn("0.95 ± 0.02, kept is 0.90 ± 0.02", lines[0])

    def test_a_processor_of_another_kind_and_another_build_are_not_compared(self):
        self.assertEqual(self.worse(time(0.5), time(0.9, features="avx2 amx_int8")), ([], 0))
        self.assertEqual(self.worse(count(50), Count("bird", "cortex-a72", "arm64-tests", 90)), ([], 0))

    def test_cores_that_share_a_cache_and_cores_that_do_not_are_not_compared(self):
        near, far = (replace(time(ratio), cores=cores) for ratio, cores in ((0.5, "near"), (0.9, "far")))
        self.assertEqual(self.worse(near, far), ([], 0))
        self.assertEqual(len(self.worse(near, replace(far, cores="near"))[0]), 1)
        self.assertEqual(kept.lacking({near.key: near}, [far]), [])

    def test_what_is_faster_is_no_fault(self):
        self.assertEqual(self.worse(count(100), count(50)), ([], 1))


# In place of the tool that counts: the last word but one is the model.
COUNTER = """#!/bin/sh
for word; do model=$before; before=$word; done
case $model in {case} esac
printf 'cortex\\t%s\\n' "${{millions}}000000"
"""
SMALL = [row for row in MODELS if row.small]


class Checked(unittest.TestCase):
    """A build, a corpus and kept figures for `bench.py --check`."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "arm64-tests" / "bin").mkdir(parents=True)
        self.program("arm64-tests/bin/bench_worker", "#!/bin/sh\necho 'bench_worker: out of range' >&2\nexit 1\n")
        (self.folder / "corpus" / "models").mkdir(parents=True)
        for row in SMALL:
            if row.source == "corpus":
                (self.folder / "corpus" / "models" / row.file).touch()

    def program(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")
        (self.folder / name).chmod(0o755)

    def keep(self, *figures):
        kept.write(self.folder / "kept.jsonl", {figure.key: figure for figure in figures})

    def check(self, *more):
        words = ["bench.py", "--build", str(self.folder / "arm64-tests"), "--work", str(self.folder / "work"), "--check",
                 *(more or ["--arm", "--core", "cortex-a72", "--small"])]
        said = io.StringIO()
        with (patch.object(sys, "argv", words), patch.object(bench, "COUNTER", self.folder / "counter"),
              patch.object(bench, "KEPT", self.folder / "kept.jsonl"), contextlib.redirect_stdout(said),
              patch.dict(os.environ, {"KINGLET_CORPUS": str(self.folder / "corpus")})):
            return bench.main(), said.getvalue()


class WhenACheckFails(Checked):
    """Of the small models, as CI asks for it; what the counter says stands for the programs."""

    def setUp(self):
        super().setUp()
        self.keep(*[Count(row.name, "cortex-a72", "arm64-tests", 10) for row in SMALL])
        self.counts("*) millions=10;;")

    def counts(self, case):
        self.program("counter", COUNTER.format(case=case))

    def test_it_does_not_when_all_that_is_kept_was_counted_and_is_no_worse(self):
        code, said = self.check()
        self.assertEqual((code, said.splitlines()[-1]), (0, "3 of 3 figures have a kept one to be compared with, 0 are worse"))

    def test_it_does_when_kinglet_fails_on_one_model_of_several(self):
        self.counts("*flowers*) echo 'the program ended with status 139' >&2; exit 1;; *) millions=10;;")
        code, said = self.check()
        self.assertEqual(code, 1)
        self.assertIn("failed: flowers MobileNetV2 0.35: on cortex-a72: the program ended with status 139\n", said)

    def test_it_does_when_kinglet_fails_on_all_of_them(self):
        self.counts("*) exit 1;;")
        self.assertEqual(self.check()[0], 1)

    def test_it_does_when_the_worker_that_is_timed_does_not_load_the_model(self):
        code, said = self.check("--model", "demo", "--threads", "1", "--rounds", "3", "--milliseconds", "1")
        self.assertEqual(code, 1)
        self.assertRegex(said, "failed: demo: .* is not ready: bench_worker: out of range\n")

    def test_it_does_when_the_worker_ends_while_it_is_timed(self):
        self.program("arm64-tests/bin/bench_worker", "#!/bin/sh\necho ready\nread -r words\nexit 3\n")
        code, said = self.check("--model", "demo", "--threads", "1", "--rounds", "3", "--milliseconds", "1")
        self.assertEqual(code, 1)
        self.assertRegex(said, "failed: demo: .*bench_worker session .* ended with 3 while it was measured\n")

    def test_it_does_when_the_build_is_there_and_the_program_is_not(self):
        (self.folder / "arm64-tests" / "bin" / "bench_worker").unlink()
        self.assertEqual(self.check()[0], 77)
        (self.folder / "arm64-tests" / "CTestTestfile.cmake").touch()
        self.assertEqual(self.check()[0], 1)

    def test_it_does_when_a_kept_row_of_these_models_was_not_measured(self):
        (self.folder / "corpus" / "models" / SMALL[1].file).unlink()
        code, said = self.check()
        self.assertEqual(code, 1)
        self.assertIn("not measured, but kept: flowers MobileNetV2 0.35 on cortex-a72\n", said)

    def test_rows_of_other_cores_builds_and_models_are_not_asked_for(self):
        self.keep(Count("demo", "cortex-a72", "arm64-tests", 10), Count("demo", "cortex-a53", "arm64-tests", 10),
                  Count("demo", "cortex-a72", "arm64", 10), Count("ResNet-18", "cortex-a72", "arm64-tests", 10))
        self.assertEqual(self.check()[0], 0)

    def test_it_does_when_nothing_is_kept_that_could_be_compared(self):
        self.keep(Count("demo", "cortex-a53", "arm64-tests", 10))
        self.assertEqual(self.check()[0], 1)

    def test_it_is_skipped_without_an_emulator_or_a_corpus_unless_something_else_is_amiss(self):
        self.counts("*) echo 'no qemu-aarch64' >&2; exit 2;;")
        self.assertEqual(self.check()[0], 77)
        (self.folder / "corpus").rename(self.folder / "elsewhere")
        self.counts("*) millions=10;;")
        code, said = self.check()
        self.assertEqual(code, 77)
        self.assertIn("1 of 1 figures", said)
        self.counts("*) millions=11;;")
        self.assertEqual(self.check()[0], 1)


class WhatComesFromMemory(Checked):
    """`bench.py --arm --memory --check` of a small model; what the machine says stands for the emulator."""

    def setUp(self):
        super().setUp()
        self.program("machine", "")
        self.keep(Memory("demo", "cortex-a72", "arm64-tests", 10.0), Count("demo", "cortex-a72", "arm64-tests", 10))

    def check_memory(self, **brought):
        with patch.object(bench, "MACHINE", self.folder / "machine"), patch.object(bench.from_memory, "brought", **brought):
            return self.check("--arm", "--memory", "--plugin", "plugin.so", "--core", "cortex-a72", "--model", "demo")

    def test_is_compared_with_what_is_kept_of_it_alone(self):
        code, said = self.check_memory(return_value=bench.from_memory.Brought(10.2, 99, 0, []))
        self.assertEqual((code, said.splitlines()[-1]), (0, "1 of 1 figures have a kept one to be compared with, 0 are worse"))

    def test_fails_a_check_where_it_is_more(self):
        code, said = self.check_memory(return_value=bench.from_memory.Brought(10.4, 1, 0, []))
        self.assertEqual(code, 1)
        self.assertIn("worse: demo on cortex-a72: 10.4 MB from memory, kept are 10.0 (+4.0%)\n", said)

    def test_fails_a_check_where_the_machine_ends_early_and_skips_it_where_there_is_none(self):
        code, said = self.check_memory(side_effect=bench.from_memory.Ended("the machine ended with 3: bench_worker: out of range"))
        self.assertEqual(code, 1)
        self.assertIn("failed: demo: on cortex-a72: the machine ended with 3: bench_worker: out of range\n", said)
        self.assertEqual(self.check_memory(side_effect=bench.from_memory.NotThere("no qemu"))[0], 77)


class RoundsOfSeveralProcesses(unittest.TestCase):
    def figures(self, *of_each, places=(), threads=1, processes=3):
        """Of sets of engines whose processes took so many ms in each of five rounds, with cores in these places before and after each."""
        rounds = [{name: [[ms, ms, 0]] * 5 for name, ms in engines.items()} for engines in of_each]
        options = argparse.Namespace(worker=Path("w"), node=None, threads=[threads], rounds=5, milliseconds=1, processes=processes, features="avx2")
        maker = argparse.Namespace(ours=lambda row: "model.onnx")
        row = next(row for row in MODELS if row.name == "demo")
        with patch.object(bench.compare, "measure", side_effect=rounds), patch.object(bench, "place_of_cores", side_effect=places):
            return list(bench.times(options, maker, row, print))

    def test_are_one_figure_whose_spread_tells_how_far_processes_differ(self):
        found = self.figures({"kinglet": 5.0, "ORT 1.30": 10.0}, {"kinglet": 5.5, "ORT 1.30": 10.0}, {"kinglet": 6.0, "ORT 1.30": 10.0})
        self.assertEqual([(one.peer, one.ratio, one.spread, one.ms, one.cores) for one in found], [("ORT 1.30", 0.55, 0.05, 5.0, "")])

    def test_leave_out_a_peer_that_did_not_start_each_time(self):
        both = {"kinglet": 5.0, "ORT 1.21": 10.0, "ORT 1.30": 8.0}
        self.assertEqual([one.peer for one in self.figures(both, {"kinglet": 5.0, "ORT 1.21": 10.0}, processes=2)], ["ORT 1.21"])

    def test_of_two_threads_are_those_with_the_cores_in_one_place(self):
        near, far = {"kinglet": 5.0, "ORT 1.30": 10.0}, {"kinglet": 9.0, "ORT 1.30": 10.0}
        found = self.figures(near, far, far, near, places="near near far far near far near near".split(), threads=2, processes=2)
        self.assertEqual([(one.ratio, one.spread, one.cores) for one in found], [(0.5, 0.0, "near")])

    def test_of_two_threads_are_all_where_the_cores_never_stay(self):
        found = self.figures(*[{"kinglet": 5.0, "ORT 1.30": 10.0}] * 6, places=["near", "far"] * 6, threads=2, processes=2)
        self.assertEqual([(one.ratio, one.cores) for one in found], [(0.5, "moved")])


class WhatIsKept(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name) / "kept.jsonl"

    def test_figures_are_read_as_they_were_written(self):
        figures = kept.merged({}, [count(100), memory(10), *kept.stamped([time(0.9), replace(time(0.8), cores="far")], "0123abcd")])
        self.assertEqual(len(figures), 4)
        kept.write(self.path, figures)
        self.assertEqual(kept.read(self.path), figures)

    def test_figures_of_before_commits_were_kept_are_read_and_written_as_they_are(self):
        line = '{"kind": "count", "model": "bird", "core": "cortex-a72", "build": "arm64", "millions": 100}\n'
        self.path.write_text(line, encoding="utf-8")
        self.assertEqual(kept.read(self.path), {count(100).key: count(100)})
        kept.write(self.path, kept.read(self.path))
        self.assertEqual(self.path.read_text(encoding="utf-8"), line)

    def test_times_of_near_and_of_far_cores_are_both_kept_and_replace_those_of_which_it_is_not_known(self):
        unknown, moved, near, far = (replace(time(ratio), threads=2, cores=cores)
                                     for ratio, cores in ((0.9, ""), (0.8, "moved"), (0.6, "near"), (0.7, "far")))
        found = kept.merged(kept.merged(kept.merged({unknown.key: unknown}, [moved]), [near]), [far])
        self.assertEqual(list(found.values()), [near, far])
        self.assertIn("| bird | 2, far | 5.000 | 0.70 ± 0.02 |", page.text_of(found))

    def test_every_figure_is_of_a_model_that_is_still_measured(self):
        self.assertEqual({figure.model for figure in kept.read(bench.KEPT).values()} - {row.name for row in MODELS}, set())

    def test_the_page_has_a_table_of_instructions_and_one_a_kind_of_processor(self):
        figures = [count(120.62), memory(56.25), time(0.9), time(0.7, features="avx2 amx_int8")]
        page.write({figure.key: figure for figure in figures}, self.path)
        text = self.path.read_text(encoding="utf-8")
        self.assertIn("| model | cortex-a72 | of |\n| --- | --- | --- |\n| bird | 120.62 | - |", text)
        self.assertIn("| bird | 56.2 | - |", text)
        self.assertIn("## Times on avx2\n", text)
        self.assertIn("## Times on avx2 amx_int8\n", text)
        self.assertIn("| bird | 1 | 5.000 | 0.70 ± 0.02 | - |", text)

    def test_the_page_tells_when_each_row_was_measured(self):
        old, [new] = Count("bird", "cortex-a53", "arm64", 200), kept.stamped([count(100)], "0123abcd")
        text = page.text_of({old.key: old, new.key: new})
        today = new.day
        self.assertRegex(today, r"^20\d\d-\d\d-\d\d$")
        self.assertIn(f"| bird | 200.00 | 100.00 | -, 0123abcd {today} |", text)

    def test_each_ratio_on_the_page_stands_beside_the_milliseconds_it_was_measured_with(self):
        old = Time("bird", "avx2", 1, "ORT 1.21", 0.8, 0.02, 6.0)
        new = kept.stamped([Time("bird", "avx2", 1, peer, 0.9, 0.02, 5.0) for peer in ("ORT 1.30", "bare XNNPACK")], "0123abcd")
        text = page.text_of(kept.merged({old.key: old}, new))
        self.assertIn("| bird | 1 | 6.000 | 0.80 ± 0.02 | - | - | - |", text)
        self.assertIn("| bird | 1 | 5.000 | - | 0.90 ± 0.02 | 0.90 ± 0.02 | 0123abcd ", text)

    def test_the_page_in_the_tree_is_that_of_the_kept_figures(self):
        self.assertEqual(page.PAGE.read_text(encoding="utf-8"), page.text_of(kept.read(bench.KEPT)), "python3 tests/bench/table/page.py writes it")

    def test_a_commit_is_told_apart_from_a_tree_with_more_than_that(self):
        def git(*words):
            subprocess.run(["git", "-C", self.folder.name, "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True, capture_output=True)
        git("init")
        for name in ("kernel", "kept.jsonl"):
            (Path(self.folder.name) / name).write_text("a", encoding="utf-8")
        git("add", ".")
        git("commit", "-m", "a")
        clean = kept.commit_of(self.folder.name)
        self.assertRegex(clean, "^[0-9a-f]{8}$")
        self.path.write_text("b", encoding="utf-8")
        self.assertEqual(kept.commit_of(self.folder.name, "kept.jsonl"), clean)
        (Path(self.folder.name) / "kernel").write_text("b", encoding="utf-8")
        self.assertEqual(kept.commit_of(self.folder.name, "kept.jsonl"), clean + "+")

    def test_a_processor_is_known_by_what_its_kernels_are_chosen_by(self):
        self.path.write_text("model name : x\nflags\t\t: fpu sse2 avx2 avx512f avx512_vnni\n", encoding="utf-8")
        self.assertEqual(kept.features(self.path), "avx2 avx512f avx512_vnni")
        self.path.write_text("Features\t: fp asimd crc32 asimddp asimdhp\n", encoding="utf-8")
        self.assertEqual(kept.features(self.path), "asimd asimdhp asimddp")


if __name__ == "__main__":
    sys.exit(unittest.main())
