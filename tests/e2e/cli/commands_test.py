# SPDX-License-Identifier: Apache-2.0
"""What the commands print, write and end with when all is well, and that nothing half-written stays when it is not."""
import json
import os
import platform
import pty
import re
import struct
import subprocess
import unittest

from support import DEMO, KINGLET, PATIENCE, SOURCE_DIR, CliTest, kinglet, main, model, node, png, value_info

COMMANDS = re.findall(r'^KINGLET_COMMAND\("([a-z-]+)"', (SOURCE_DIR / "cli" / "commands.def").read_text(), re.M)


def npy(shape, values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)!r}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}f", *values)


def read_npy(data):
    length = struct.unpack("<H", data[8:10])[0]
    header, body = data[10:10 + length].decode(), data[10 + length:]
    shape = tuple(int(n) for n in re.findall(r"\d+", re.search(r"'shape': \(([^)]*)\)", header)[1]))
    return shape, struct.unpack(f"<{len(body) // 4}f", body)


# y = 2 * x, an answer that one can check by head.
def doubling():
    return model([node("Add", ["x", "x"], ["y"], "twice")], [value_info("x", [1, 4])], [value_info("y", [1, 4])])


class Help(CliTest):
    def test_every_command_tells_how_it_is_called_with_an_example(self):
        for name in COMMANDS:
            with self.subTest(command=name):
                ended = self.assert_done(kinglet(name, "--help"))
                self.assertEqual(ended.err, "")
                text = ended.text()
                self.assertIn(f"usage: kinglet {name}", text)
                self.assertIn("example: kinglet " + name, text)
                for option in ("--json", "--quiet", "--verbose", "--color"):
                    self.assertIn(option, text)
                self.assertNotIn("\n\n\n", text)

    def test_the_list_names_every_command(self):
        for flag in ("--help", "-h", "help"):
            text = self.assert_done(kinglet(flag)).text()
            for name in COMMANDS:
                self.assertRegex(text, rf"\n  {name} ")

    def test_the_version(self):
        answer = self.assert_done(kinglet("version", "--json")).json()
        self.assertRegex(answer["version"], r"^\d+\.\d+\.\d+")
        self.assertEqual(kinglet("--version").out, kinglet("version").out)

    def test_completions_name_every_command(self):
        for shell in ("bash", "zsh", "fish"):
            text = self.assert_done(kinglet("completion", shell)).text()
            for name in COMMANDS:
                self.assertIn(name, text)


class Classify(CliTest):
    def setUp(self):
        super().setUp()
        frames = self.folder / "frames"
        self.assert_done(kinglet("demo-frames", "--seed", 2000, "--count", 9, "--size", "320x240", "--out", frames))
        rows = [line.split(",") for line in (frames / "labels.csv").read_text().splitlines()[1:]]
        self.expected = {row[0]: row[2] for row in rows}
        self.frames = frames

    def test_names_the_visitors_of_a_folder(self):
        answer = self.assert_done(kinglet("classify", DEMO, self.frames, "--json", "--top", 2)).json()
        self.assertEqual([os.path.basename(p["file"]) for p in answer["pictures"]], sorted(self.expected))
        right = sum(p["top"][0]["label"] == self.expected[os.path.basename(p["file"])] for p in answer["pictures"])
        self.assertGreaterEqual(right, 8)
        for picture in answer["pictures"]:
            self.assertEqual(len(picture["top"]), 2)
            self.assertGreaterEqual(picture["top"][0]["score"], picture["top"][1]["score"])
            self.assertEqual(picture["input"], {"width_px": 320, "height_px": 240, "orientation_applied": False})
        self.assertTrue(answer["model"]["digest"].startswith("sha256:"))

    def test_as_text_nothing_but_the_result_is_on_stdout(self):
        ended = self.assert_done(kinglet("classify", DEMO, self.frames / "frame_000000.png", "--top", 1))
        self.assertEqual(ended.err, "")
        self.assertRegex(ended.text(), r"^\S+frame_000000\.png  320x240\n  [01]\.\d{4}  \S.*\n$")

    def test_a_picture_on_standard_input_gives_the_same(self):
        path = self.frames / "frame_000001.png"
        named = self.assert_done(kinglet("classify", DEMO, path, "--json")).json()["pictures"][0]
        piped = self.assert_done(kinglet("classify", DEMO, "-", "--json", stdin=path.read_bytes())).json()["pictures"][0]
        self.assertEqual(named["top"], piped["top"])

    def test_what_had_to_be_guessed_is_said_once_and_not_with_quiet(self):
        alone = self.file("alone.onnx", DEMO.read_bytes())
        picture = self.frames / "frame_000000.png"
        ended = self.assert_done(kinglet("classify", alone, picture))
        self.assertEqual(ended.err.count("no recipe: "), 1)
        self.assertEqual(ended.err.count("no labels: "), 1)
        self.assertIn("class ", ended.text())
        self.assertEqual(self.assert_done(kinglet("classify", alone, picture, "-q")).err, "")

    @unittest.skipIf(platform.machine() == "aarch64", "this processor may compute in float16")
    def test_float16_that_the_processor_has_not_is_said(self):
        reason = "this processor has no float16 arithmetic"
        picture = self.frames / "frame_000000.png"
        asked = self.assert_done(kinglet("classify", DEMO, picture, "--precision", "float16"))
        self.assertIn(f"computed in float32: {reason}", asked.err)
        self.assertNotIn("float16", self.assert_done(kinglet("classify", DEMO, picture)).err)
        plan = self.assert_done(kinglet("inspect", DEMO, "--json")).json()["plan"]
        self.assertEqual(plan["precision"], {"used": "float32", "reason": reason})
        self.assertEqual(plan["float16_mac_ratio"], 0)
        self.assert_refused(kinglet("bench", DEMO, "--float16"), 69, reason)


class Run(CliTest):
    def test_numbers_in_numbers_out(self):
        twice = self.file("twice.onnx", doubling())
        x = self.file("x.npy", npy([1, 4], [1, -2, 3.5, 0]))
        out = self.folder / "y.npy"
        self.assert_done(kinglet("run", twice, "--input", f"x={x}", "--output", f"y={out}"))
        self.assertEqual(read_npy(out.read_bytes()), ((1, 4), (2, -4, 7, 0)))
        piped = self.assert_done(kinglet("run", twice, "--input", x, "--output", "-"))
        self.assertEqual(piped.out, out.read_bytes())

    def test_an_output_that_is_there_is_kept_without_force(self):
        twice = self.file("twice.onnx", doubling())
        x = self.file("x.npy", npy([1, 4], [1, 2, 3, 4]))
        there = self.file("y.npy", b"mine")
        self.assert_refused(kinglet("run", twice, "--input", x, "--output", there), 73, there, hint="--force")
        self.assertEqual(there.read_bytes(), b"mine")
        self.assert_done(kinglet("run", twice, "--input", x, "--output", there, "--force"))

    def test_standard_output_takes_one_thing(self):
        twice = self.file("twice.onnx", doubling())
        x = self.file("x.npy", npy([1, 4], [1, 2, 3, 4]))
        self.assert_refused(kinglet("run", twice, "--input", x, "--output", "-", "--output", "-"), 64, "one tensor")
        self.assertEqual(kinglet("run", twice, "--input", x, "--output", "-", "--json").code, 64)
        answer = self.assert_done(kinglet("run", twice, "--input", x, "--json")).json()
        self.assertEqual(answer["outputs"], [{"name": "y", "type": "f32", "shape": [1, 4]}])

    def test_what_does_not_fit_is_refused(self):
        twice = self.file("twice.onnx", doubling())
        other = self.file("x.npy", npy([1, 5], [0] * 5))
        self.assert_refused(kinglet("run", twice, "--input", other), 65, other, "[1,5]", "[1,4]")
        self.assert_refused(kinglet("run", twice), 64, '"x"', hint="--input x=")
        self.assert_refused(kinglet("run", twice, "--input", f"z={other}"), 64, '"z"')
        self.assert_refused(kinglet("run", twice, "--input", f"x={self.file('no.npy', b'no')}"), 65, "no.npy")


    def test_made_up_inputs_repeat(self):
        out = [self.folder / f"{i}.npy" for i in range(3)]
        for seed, path in zip((7, 7, 8), out):
            self.assert_done(kinglet("run", DEMO, "--made-up", seed, "--output", path))
        self.assertEqual(out[0].read_bytes(), out[1].read_bytes())
        self.assertNotEqual(out[0].read_bytes(), out[2].read_bytes())
        self.assertEqual(read_npy(out[0].read_bytes())[0], (1, 9))

    def test_a_picture_is_prepared_by_the_recipe(self):
        picture, out = self.file("p.png", png(64, 48)), self.folder / "y.npy"
        self.assert_done(kinglet("run", DEMO, "--image", picture, "--output", out))
        best = self.assert_done(kinglet("classify", DEMO, picture, "--json")).json()["pictures"][0]["top"][0]
        scores = read_npy(out.read_bytes())[1]
        self.assertEqual(scores.index(max(scores)), best["index"])
        self.assert_refused(kinglet("run", DEMO, "--image", picture, "--made-up", 1), 64, "--image")
        self.assert_refused(kinglet("run", DEMO, "--image", self.file("no.png", b"no")), 65, "no.png")


class Bench(CliTest):
    def test_as_json(self):
        answer = self.assert_done(kinglet("bench", DEMO, "--json", "--runs", 5, "--warmup", 1, "--nodes", "--threads", 1)).json()
        self.assertEqual(answer["runs"], 5)
        self.assertEqual(answer["threads"], 1)
        self.assertEqual(answer["alone_ratio"], 0)
        latency = answer["latency_ms"]
        self.assertLessEqual(0, latency["min"])
        for low, high in (("min", "p50"), ("p50", "p90"), ("p90", "p99"), ("p99", "max")):
            self.assertLessEqual(latency[low], latency[high])
        self.assertGreater(answer["memory"]["peak_bytes"], 1_000_000)
        self.assertGreater(len(answer["nodes"]), 5)

    def test_how_often_its_threads_slept(self):
        sleeps = self.assert_done(kinglet("bench", DEMO, "--json", "--runs", 20, "--threads", 2)).json()["sleeps_per_run"]
        self.assertTrue(0 <= sleeps < 1000, sleeps)
        self.assertRegex(self.assert_done(kinglet("bench", DEMO, "--runs", 5, "--threads", 1)).text(), r"sleeps per run \d+\.\d\d\n")

    def test_by_xnnpack_alone(self):
        answer = self.assert_done(kinglet("bench", DEMO, "--json", "--runs", 1, "--nodes", "--threads", 1, "--xnnpack")).json()
        self.assertEqual({node["backend"] for node in answer["nodes"]}, {"xnnpack"})

    def test_two_models_in_turns(self):
        twice = self.file("twice.onnx", doubling())
        answer = self.assert_done(kinglet("bench", DEMO, "--against", twice, "--runs", 12, "--json", "--threads", 1)).json()
        self.assertEqual(answer["runs"], 12)
        self.assertLess(answer["ratio"]["p50"], 1)
        self.assertLessEqual(answer["ratio"]["min"], answer["ratio"]["p50"])
        self.assertGreater(answer["latency_ms"]["p50"], answer["against_latency_ms"]["p50"])
        self.assertIn("ratio ", self.assert_done(kinglet("bench", DEMO, "--against", twice, "--runs", 3)).text())
        self.assert_refused(kinglet("bench", DEMO, "--against", twice, "--nodes"), 64, "--against")

    def test_a_run_allocates_nothing(self):
        answer = self.assert_done(kinglet("bench", DEMO, "--json", "--runs", 5)).json()
        if "allocations_per_run" not in answer:
            self.skipTest("this build does not count allocations")
        self.assertEqual(answer["allocations_per_run"], 0)

    def test_as_text(self):
        text = self.assert_done(kinglet("bench", DEMO, "--runs", 3)).text()
        for word in ("P50", "P99", "IMAGES/S", "peak memory"):
            self.assertIn(word, text)

    def test_packed_weights_are_found_the_second_time(self):
        packed = self.folder / "packed"
        for found in (False, True):
            answer = self.assert_done(kinglet("bench", DEMO, "--json", "--runs", 1, "--packed", packed)).json()["packed"]
            self.assertEqual((answer["found"], answer["problem"]), (found, ""))


class NothingHalfWritten(CliTest):
    def test_a_full_disk(self):
        source = self.file("in.onnx", DEMO.read_bytes())
        ended = kinglet("optimize", source, "-o", self.folder / "out.onnx", largest_file=50_000)
        self.assert_refused(ended, 74, "out.onnx", "cannot write", hint="space")
        self.assert_folder_holds("in.onnx")

    def test_a_full_disk_keeps_what_was_there(self):
        out = self.file("out.onnx", b"mine")
        ended = kinglet("optimize", DEMO, "-o", out, "--force", largest_file=50_000)
        self.assert_refused(ended, 74, "out.onnx")
        self.assertEqual(out.read_bytes(), b"mine")
        self.assert_folder_holds("out.onnx")

    def test_a_full_disk_for_tensors(self):
        twice = self.file("twice.onnx", doubling())
        x = self.file("x.npy", npy([1, 4], [1, 2, 3, 4]))
        ended = kinglet("run", twice, "--input", x, "--output", self.folder / "y.npy", largest_file=64)
        self.assert_refused(ended, 74, "y.npy")
        self.assert_folder_holds("twice.onnx", "x.npy")

    def test_a_folder_that_is_missing(self):
        ended = kinglet("optimize", DEMO, "-o", self.folder / "none" / "out.onnx")
        self.assert_refused(ended, 73, "none/out.onnx", hint="make the folder")
        self.assert_folder_holds()

    def test_standard_output_that_takes_nothing(self):
        with open("/dev/full", "wb") as full:
            ended = kinglet("inspect", DEMO, stdout=full)
        self.assert_refused(ended, 74, "standard output")

    def test_frames_are_not_written_over_others(self):
        (self.folder / "labels.csv").write_text("mine")
        ended = kinglet("demo-frames", "--count", 1, "--out", self.folder)
        self.assert_refused(ended, 73, self.folder, hint="another folder")
        self.assertEqual((self.folder / "labels.csv").read_text(), "mine")


class Terminal(CliTest):
    def on_a_terminal(self, *arguments, env=None):
        """What stderr shows when it is a terminal."""
        leader, follower = pty.openpty()
        process = subprocess.Popen([KINGLET, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=follower,
                                   env={**os.environ, "TERM": "xterm", **(env or {})})
        os.close(follower)
        shown = b""
        try:
            while block := os.read(leader, 65536):
                shown += block
        except OSError:  # the other end was closed
            pass
        os.close(leader)
        self.assertEqual(process.wait(PATIENCE), 0)
        return shown.decode()

    def test_progress_is_drawn_over_itself_and_wiped(self):
        shown = self.on_a_terminal("demo-frames", "--count", 40, "--size", "64x48", "--out", self.folder / "frames")
        self.assertIn("%", shown)
        self.assertTrue(shown.rstrip("\r\n").endswith("\x1b[K") or "\x1b[K" in shown)

    def test_none_with_quiet_and_none_in_a_file(self):
        command = ("demo-frames", "--count", 40, "--size", "64x48", "--out")
        self.assertEqual(self.on_a_terminal(*command, self.folder / "a", "-q"), "")
        self.assertNotIn("\x1b", self.assert_done(kinglet(*command, self.folder / "b")).err)

    def test_colour_only_when_asked_or_on_a_terminal(self):
        picture = self.file("a.png", png())
        self.assertNotIn(b"\x1b", kinglet("classify", DEMO, picture).out)
        self.assertIn(b"\x1b", kinglet("classify", DEMO, picture, "--color", "always").out)


class Config(CliTest):
    def test_show_names_the_origin_of_each_value(self):
        path = self.file("kinglet.toml", "[decide]\nmin_score = 0.7\n")
        answer = self.assert_done(kinglet("config", "show", "--json", "--config", path, "--set", "gate.max_fps=5",
                                          "--set", "decide.scores={a = 0.7, b = 1}",
                                          env={"KINGLET_LOG__LEVEL": "warning"})).json()
        self.assertIn("kinglet.toml:2", answer["decide.min_score"]["source"])
        self.assertEqual(answer["decide.min_score"]["value"], 0.7)
        self.assertEqual(answer["log.level"]["value"], "warning")
        self.assertEqual(answer["http.listen"]["value"], ["[::]:8420"])
        self.assertEqual(answer["decide.scores"]["value"], {"a": 0.7, "b": 1})
        self.assertEqual(answer["gate.max_fps"]["source"], "--set")
        self.assertEqual(answer["log.level"]["source"], "KINGLET_LOG__LEVEL")
        self.assertEqual(answer["http.listen"]["source"], "default")

    def test_the_default_file_is_valid_and_sets_nothing(self):
        path = self.file("kinglet.toml", self.assert_done(kinglet("config", "default")).out)
        self.assertEqual(path.read_bytes(), (SOURCE_DIR / "config" / "kinglet.toml").read_bytes())
        ended = self.assert_done(kinglet("config", "check", "--config", path))
        self.assertEqual(ended.text(), "ok: 1 file read, 0 keys set\n")

    def test_what_is_shown_can_be_used_as_a_file(self):
        changed = ("--set", "decide.min_score=0.7", "--set", 'log.level="warning"', "--set", "source=images:/srv/a b")
        shown = self.file("shown.toml", self.assert_done(kinglet("config", "show", *changed)).out)
        self.assert_done(kinglet("config", "check", "--config", shown))
        values = {key: entry["value"] for key, entry in
                  self.assert_done(kinglet("config", "show", "--json", *changed)).json().items()}
        again = self.assert_done(kinglet("config", "show", "--json", "--config", shown)).json()
        self.assertEqual({key: entry["value"] for key, entry in again.items()}, values)

    def test_page_tells_where_a_browser_finds_it(self):
        def page(*sets):
            return self.assert_done(kinglet("config", "page", "--config", self.file("page.toml"), *sets)).text().splitlines()
        self.assertRegex(page("--set", 'http.listen=["[::]:8421"]')[0], r"^http://[\w.-]+:8421/$")
        self.assertEqual(page("--set", "http.listen=127.0.0.1:8422"), ["http://localhost:8422/"])
        self.assertEqual(page("--set", "http.public_url=https://birds.example"), ["https://birds.example/"])
        told = kinglet("config", "page", "--json", "--config", self.file("page.toml"), "--set", "http.public_url=https://birds.example")
        self.assertEqual(told.json(), {"addresses": ["https://birds.example/"]})

    def test_docs_have_a_row_for_every_key(self):
        keys = json.loads(kinglet("config", "show", "--json", "--config", self.file("k.toml")).out)
        table = self.assert_done(kinglet("config", "docs")).text()
        self.assertGreater(len(keys), 10)
        for key in keys:
            row = re.search(rf"^\| `{re.escape(key)}` \|(.*)\|$", table, re.M)
            self.assertIsNotNone(row, key)
            self.assertTrue(all(cell.strip() for cell in row[1].split("|")), row[0])


if __name__ == "__main__":
    main()
