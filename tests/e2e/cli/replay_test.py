# SPDX-License-Identifier: Apache-2.0
"""`kinglet replay`: visits of a scene, the same bytes in every run, two configurations side by side."""
import json
import unittest

from support import CliTest, kinglet, main


class Replay(CliTest):
    def test_a_scene_gives_visits_faster_than_it_lasted(self):
        text = self.assert_done(kinglet("replay", "demo:1", "--for", "20s", "--set", "source.size=320x180")).text()
        self.assertIn("grey-naped-demopecker", text)
        self.assertIn("200 frames", text)
        self.assertRegex(text, r"answers: \d+ \w+.*; not looked at: (none|\d+ \w+)")

    def test_json_has_the_visits_of_the_api_and_the_same_bytes_each_time(self):
        command = ("replay", "demo:1", "--for", "20s", "--set", "source.size=320x180", "--json")
        first = self.assert_done(kinglet(*command)).text()
        self.assertEqual(self.assert_done(kinglet(*command)).text(), first)
        report = json.loads(first)
        self.assertEqual(sum(report["images"]["by_outcome"].values()), report["frames"])
        self.assertRegex(report["visits"][0]["id"], "^vis_")
        self.assertEqual({visit["state"] for visit in report["visits"]}, {"ended"})
        for visit in report["visits"]:
            self.assertTrue(0 < visit["named_at_seconds"] <= report["duration_seconds"], visit["named_at_seconds"])

    def test_a_recording_gives_the_visits_of_what_was_recorded(self):
        file = self.folder / "scene.kgr"
        told = self.assert_done(kinglet("record", "demo:1?fps=max", "-o", file, "--frames", 120, "--size", "320x180", "--json")).json()
        first = self.assert_done(kinglet("replay", file, "--json")).text()
        self.assertEqual(self.assert_done(kinglet("replay", "recording:" + str(file), "--json")).text(), first)
        report = json.loads(first)
        self.assertEqual((report["frames"], report["errors"]), (120, 0))
        self.assertAlmostEqual(report["duration_seconds"], told["duration_seconds"], delta=told["duration_seconds"] / 20,
                               msg="the times of the recording, not those of the scene")

    def test_a_recording_that_is_cut_off_is_told_and_used(self):
        file = self.folder / "scene.kgr"
        self.assert_done(kinglet("record", "demo:1?fps=max", "-o", file, "--frames", 20, "--size", "320x180"))
        file.write_bytes(file.read_bytes()[:-200])
        ended = self.assert_done(kinglet("replay", file))
        self.assertIn("cut off", ended.err)
        self.assertIn("19 frames", ended.text())
        file.write_bytes(file.read_bytes()[:200])
        self.assert_refused(kinglet("replay", file), 65, "no whole frame")
        self.assert_refused(kinglet("replay", self.file("no.kgr", b"x" * 99)), 65, "no.kgr")
        self.assert_refused(kinglet("replay", self.folder / "none.kgr"), 66, "none.kgr")

    def test_two_configurations_are_compared(self):
        strict = self.folder / "strict.toml"
        strict.write_text('[decide]\nblock = ["grey-naped-demopecker"]\n[source]\nsize = "320x180"\n')
        plain = self.folder / "plain.toml"
        plain.write_text('[source]\nsize = "320x180"\n')
        command = ("replay", "demo:1", "--for", "20s", "--compare", strict, plain)
        text = self.assert_done(kinglet(*command)).text()
        self.assertIn(f"only {plain}: grey-naped-demopecker", text)
        self.assertNotIn(f"only {strict}", text)
        report = json.loads(self.assert_done(kinglet(*command, "--json")).text())
        self.assertEqual(report["only_in_a"], [])
        self.assertEqual(len(report["only_in_b"]), 1)

    def test_what_cannot_be_replayed_is_refused(self):
        self.assert_refused(kinglet("replay", "libcamera:"), 64, "cannot be replayed")
        self.assert_refused(kinglet("replay", "demo:1", "--for", "soon"), 64, "expected a time")
        self.assert_refused(kinglet("replay", "images:/nowhere"), 66, "cannot be read")
        wrong = self.folder / "wrong.toml"
        wrong.write_text("[decide]\nmin_scor = 1\n")
        self.assert_refused(kinglet("replay", "demo:1", "--config", wrong), 78, "min_scor")


if __name__ == "__main__":
    main()
