# SPDX-License-Identifier: Apache-2.0
"""kinglet record: a bounded, whole file, whatever ends it."""
import os
import signal
import subprocess

from support import KINGLET, PATIENCE, CliTest, kinglet, main, png


class Record(CliTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "it.kgr"

    def record(self, *arguments, **how):
        return kinglet("record", *arguments, "-o", self.out, **how)

    def frames_in(self, file):
        """How many whole frames the recording has, by recording it again."""
        again = self.folder / "again.kgr"
        ended = self.assert_done(kinglet("record", f"recording:{file}?once&fps=max", "-o", again, "--json", "--force"))
        again.unlink()
        return ended.json()["frames"]

    def test_so_many_frames(self):
        ended = self.assert_done(self.record("demo:3?fps=200", "--frames", 7, "--size", "128x96", "--json"))
        told = ended.json()
        self.assertEqual((told["frames"], told["ended_by"]), (7, "frames"))
        self.assertEqual(told["size_bytes"], self.out.stat().st_size)
        self.assertEqual(self.frames_in(self.out), 7)
        self.assert_folder_holds("it.kgr")

    def test_so_many_seconds(self):
        told = self.assert_done(self.record("demo:?fps=50", "--seconds", 2, "--size", "64x64", "--json")).json()
        self.assertEqual(told["ended_by"], "seconds")
        self.assertGreater(told["frames"], 0)

    def test_so_many_bytes(self):
        told = self.assert_done(self.record("demo:?fps=200", "--bytes", "256KiB", "--size", "128x96", "--json")).json()
        self.assertEqual(told["ended_by"], "bytes")
        self.assertLessEqual(self.out.stat().st_size, 256 * 1024)
        self.assertGreater(self.out.stat().st_size, 200 * 1024)

    def test_as_jpeg_is_smaller(self):
        self.assert_done(self.record("demo:3?fps=200", "--frames", 5, "--size", "320x240"))
        whole = self.out.stat().st_size
        self.assert_done(self.record("demo:3?fps=200", "--frames", 5, "--size", "320x240", "--jpeg", 80, "--force"))
        self.assertLess(self.out.stat().st_size, whole / 5)
        self.assertEqual(self.frames_in(self.out), 5)

    def test_the_end_of_the_source_is_the_end(self):
        pictures = self.folder / "pictures"
        pictures.mkdir()
        for name in ("a.png", "b.png"):
            (pictures / name).write_bytes(png())
        told = self.assert_done(self.record(f"images:{pictures}?once&fps=100", "--json")).json()
        self.assertEqual((told["frames"], told["ended_by"]), (2, "source"))

    def test_a_signal_ends_it_with_a_whole_file(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            process = subprocess.Popen([KINGLET, "record", "demo:?fps=200", "--size", "64x64", "-o", self.out, "--force"],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            while not any(path.stat().st_size > 100_000 for path in self.folder.glob("it.kgr.*")):
                self.assertIsNone(process.poll())
            process.send_signal(number)
            process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, code)
            self.assertGreater(self.frames_in(self.out), 1)
            self.assert_folder_holds("it.kgr")

    def test_a_signal_ends_it_while_it_waits_for_the_camera(self):
        process = subprocess.Popen([KINGLET, "record", "exec:sleep 1000", "-o", self.out],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while not list(self.folder.glob("it.kgr.*")):
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 130)
        self.assert_folder_holds()

    def test_what_came_before_a_source_was_lost_is_kept(self):
        program = self.folder / "program"
        program.write_text("#!/bin/sh\nprintf 'YUV4MPEG2 W2 H2 F25:1\\nFRAME\\nabcdef'\necho it broke >&2\nexit 3\n")
        program.chmod(0o755)
        ended = self.record(f"exec:{program}?format=y4m")
        self.assertEqual(ended.code, 69, ended)
        self.assertIn("it broke", ended.err)
        self.assertEqual(self.frames_in(self.out), 1)

    def test_leaves_nothing_behind_when_nothing_came(self):
        self.assert_refused(self.record("images:/nowhere"), 66, "/nowhere")
        self.assert_refused(self.record("exec:false"), 69, "exit code 1")
        self.assert_refused(self.record("demo:", "--bytes", "1KiB"), 64, "1KiB")
        self.assert_folder_holds()

    def test_keeps_a_file_that_is_there(self):
        self.out.write_text("mine")
        self.assert_refused(self.record("demo:", "--frames", 1), 73, "exists", hint="--force")
        self.assertEqual(self.out.read_text(), "mine")

    def test_a_full_disk(self):
        ended = self.record("demo:?fps=200", "--size", "320x240", largest_file=500_000)
        self.assert_refused(ended, 74, "it.kgr")
        self.assert_folder_holds()

    def test_wrong_usage(self):
        self.assert_refused(self.record("dem:"), 64, "dem", hint="demo:")
        self.assert_refused(self.record("demo:", "--bytes", "much"), 65, "much")
        self.assert_refused(self.record("demo:", "--size", "big"), 64, "big")
        self.assert_refused(self.record("demo:", "--seconds", 0), 64)

    def test_takes_source_and_size_from_the_configuration(self):
        config = self.file("kinglet.toml", '[source]\nspec = "demo:3?fps=200"\nsize = "96x64"\n')
        self.assert_done(self.record("--config", config, "--frames", 2))
        self.assertEqual(self.out.stat().st_size, 28 + len("demonstration scene 96x64, seed 3") + 2 * (48 + 96 * 64 * 3 // 2) + 16)
        bad = self.file("bad.toml", '[source]\nsize = "no"\n')
        self.assert_refused(self.record("--config", bad, "--force"), 78, "bad.toml")


if __name__ == "__main__":
    os.environ.pop("KINGLET_SOURCE", None)
    main()
