# SPDX-License-Identifier: Apache-2.0
"""The tool and the running daemon: over the socket in the file system, which needs no token, and over HTTP."""
import json
import os
import shutil
import subprocess
import unittest
from pathlib import Path

from support import PATIENCE, SOURCE_DIR, Daemon, ScratchFolder, main

KINGLET = os.environ["KINGLET"]
DEMO = SOURCE_DIR / "models" / "demo" / "kinglet-demo.onnx"


class Tool(ScratchFolder):
    def setUp(self):
        super().setUp()
        self.socket = self.folder / "http.sock"
        self.config = self.folder / "kinglet.toml"
        self.state = self.folder / "state"
        self.state.mkdir()
        self.config.write_text(f'source = "demo:1"\ngate.motion = false\nstore.path = "{self.state}"\n'
                               f'[http]\nlisten = ["127.0.0.1:0", "unix:{self.socket}"]\n')

    def start(self, *sets):
        daemon = Daemon("--config", str(self.config), sets=[f'http.listen=["127.0.0.1:0", "unix:{self.socket}"]', *sets])
        self.addCleanup(daemon.stop)
        return daemon

    def kinglet(self, *arguments, code=0, **named):
        ended = subprocess.run([KINGLET, *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE, **named)
        self.assertEqual(ended.returncode, code, ended.stdout + ended.stderr)
        return ended

    def ask(self, *arguments, **named):
        """A command that knows the daemon by the configuration."""
        return self.kinglet(*arguments, "--config", self.config, **named)


class Models(Tool):
    def put(self, name):
        folder = self.state / "models"
        folder.mkdir(exist_ok=True)
        self.kinglet("quantize", DEMO, "--fp16", "weights", "-o", folder / f"{name}.onnx", "-q")
        shutil.copy(DEMO.with_suffix(".labels.txt"), folder / f"{name}.labels.txt")
        shutil.copy(DEMO.with_suffix(".recipe.json"), folder / f"{name}.recipe.json")
        return folder / f"{name}.onnx"

    def test_models_are_listed_checked_activated_and_removed(self):
        self.put("half")
        spare = self.put("spare")
        (self.state / "models" / "cut.onnx").write_bytes(DEMO.read_bytes()[:1000])
        daemon = self.start()
        self.assertIn("cut: ", self.ask("models", "check", code=1).stdout)
        self.assertIn("half: good, 9 classes", self.ask("models", "check", "half").stdout)
        self.assertIn("did you mean half?", self.ask("models", "check", "hlf", code=66).stderr)
        daemon.until(lambda: "checking" not in self.ask("models", "list").stdout, "all checked")
        lines = self.ask("models", "list").stdout.splitlines()
        self.assertRegex("\n".join(lines), r"kinglet-demo +valid +\S+ \S+ +answering")
        self.assertRegex("\n".join(lines), r"cut +invalid ")
        self.assertIn("answers from now on", self.ask("models", "activate", "half").stderr)
        self.assertEqual(daemon.ask("/api/v1/model").json()["name"], "half")
        self.assertIn("activated", self.ask("models", "remove", "half", "--yes", code=75).stderr)
        self.ask("models", "remove", "spare", code=64)
        self.ask("models", "remove", "spare", "--yes")
        self.assertEqual([path.name for path in spare.parent.glob("spare*")], [])
        self.ask("models", "activate", "cut", code=65)
        self.ask("models", "activate", "none", code=66)

    def test_a_trial_ends_with_the_word_of_the_rule(self):
        self.put("half")
        self.start()
        kept = self.ask("models", "activate", "half", "--trial", "--frames", 3, "--max-time", 0.01, code=1)
        self.assertIn("the model before answers on", kept.stderr)
        taken = self.ask("models", "activate", "half", "--trial", "--frames", 3, "--max-time", 100, "--json")
        job = json.loads(taken.stdout)
        self.assertEqual((job["activated"], job["trial"]["agreement_ratio"]), (True, 1))

    def test_what_quantize_makes_is_handed_over(self):
        daemon = self.start()
        self.kinglet("demo-frames", "--count", 24, "--out", self.folder / "frames", "-q")
        ended = self.ask("quantize", DEMO, "-o", self.folder / "small.onnx", "--images", self.folder / "frames",
                         "--activate", "--trial", "--frames", 5, "--min-agreement", 0.5, "--max-time", 100)
        self.assertIn("answers from now on", ended.stderr)
        self.assertIn("5 frames: the same species in", ended.stdout)
        model = daemon.ask("/api/v1/model").json()
        self.assertEqual((model["name"], model["labels"]["named"]), ("small", True))
        self.assertTrue((self.state / "models" / "small.labels.txt").exists())

    def test_the_cameras_own_pictures_calibrate(self):
        daemon = self.start()
        daemon.until(lambda: self.frames(daemon) >= 2, "two pictures")
        ended = self.ask("quantize", DEMO, "-o", self.folder / "small.onnx", "--from-daemon", "--most-images", 2)
        self.assertIn("pictures of the daemon", ended.stderr)
        self.assertTrue((self.folder / "small.onnx").exists())

    def test_without_a_picture_of_the_camera_nothing_is_calibrated(self):
        self.start("source=images:/nowhere")
        refused = self.ask("quantize", DEMO, "-o", self.folder / "small.onnx", "--from-daemon", code=69)
        self.assertIn("no picture yet", refused.stderr)
        self.assertFalse((self.folder / "small.onnx").exists())

    def frames(self, daemon):
        """How many are there; what comes is whole."""
        token = self.folder / "frames-token"
        if not token.exists():
            token.write_text(self.ask("token", "add", "frames", "--role", "admin").stdout.strip())
        owner = {"Authorization": "Bearer " + token.read_text()}
        reply = daemon.ask("/api/v1/cameras/camera/frames?last=5", headers=owner)
        self.assertEqual((reply.status, reply.headers["content-type"]), (200, "multipart/mixed; boundary=kinglet"))
        *parts, end = reply.body.split(b"--kinglet")[1:]
        self.assertEqual(end, b"--\r\n")
        for part in parts:
            head, picture = part.split(b"\r\n\r\n", 1)
            self.assertIn(f"Content-Length: {len(picture) - 2}".encode(), head)
            self.assertEqual(picture[:2] + picture[-4:], b"\xff\xd8\xff\xd9\r\n")
        self.assertEqual(int(reply.headers["x-frames"]), len(parts))
        self.assertEqual(daemon.ask("/api/v1/cameras/camera/frames").status, 401)
        self.assertEqual(daemon.ask("/api/v1/cameras/other/frames", headers=owner).status, 404)
        return len(parts)

    def test_who_may_not_is_told_what_to_do(self):
        self.put("half")
        daemon = self.start()
        address = "http://{}:{}".format(*daemon.url)
        refused = self.kinglet("models", "activate", "half", "--daemon", address, code=77)
        self.assertIn("token", refused.stderr)
        token = self.folder / "token"
        token.write_text(self.ask("token", "add", "--role", "admin").stdout)
        daemon.until(lambda: subprocess.run([KINGLET, "models", "activate", "half", "--daemon", address, "--token-file", token],
                                            capture_output=True).returncode == 0, "the token counts")
        self.assertIn("does not answer", self.kinglet("models", "list", "--daemon", "unix:/nowhere.sock", code=69).stderr)
        self.kinglet("models", "list", "--daemon", "feeder", code=64)


class Now(Tool):
    def test_the_state_is_told_in_a_few_lines(self):
        daemon = self.start()
        daemon.first_prediction()
        text = self.ask("status").stdout
        for line in ("camera   streaming", "model    kinglet-demo", "newest   ", "history  "):
            self.assertIn(line, text)
        status = json.loads(self.ask("status", "--json").stdout)
        self.assertEqual(status["model"]["name"], "kinglet-demo")
        self.assertEqual(status["readiness"]["status"], "pass")
        self.kinglet("status", "--daemon", "http://{}:{}".format(*daemon.url))
        daemon.stop()
        self.assertIn("does not answer", self.ask("status", code=69).stderr)

    def test_a_daemon_that_is_not_ready_is_told_by_the_exit_code(self):
        daemon = self.start("source=images:/nowhere")
        daemon.until(lambda: daemon.ask("/readyz").status == 503, "no camera")
        self.assertIn("fail     camera: ", self.ask("status", code=1).stdout)

    def test_what_happens_comes_line_by_line(self):
        self.start()
        lines = self.ask("events", "--types", "prediction,stats", "--count", 4).stdout.splitlines()
        self.assertEqual(len(lines), 4)
        self.assertRegex(lines[0], r"^\d{4}-\d\d-\d\dT[\d:.]+Z (prediction|stats) +\S")
        for line in self.ask("events", "--types", "prediction", "--count", 3, "--json").stdout.splitlines():
            event = json.loads(line)
            self.assertEqual(event["type"], "prediction")
            self.assertIn("outcome", event["prediction"])
        self.assertIn("visit.start", self.ask("events", "--types", "nonsense", code=64).stderr)

    def test_events_end_with_the_daemon(self):
        daemon = self.start()
        process = subprocess.Popen([KINGLET, "events", "--config", self.config], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        daemon.until(lambda: daemon.ask("/api/v1/stats").json()["streams"]["sse"] == 1, "a reader")
        daemon.stop()
        _, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 69)
        self.assertIn("the events ended", errors)


class Doctor(Tool):
    CHECKS = ["camera", "memory", "power", "clock", "disk", "model", "network", "update"]

    def test_it_says_what_the_daemon_says(self):
        daemon = self.start()
        daemon.first_prediction()
        found = json.loads(self.ask("doctor", "--json").stdout)
        self.assertEqual([check["name"] for check in found["checks"]], self.CHECKS)
        camera, model = found["checks"][0], found["checks"][5]
        self.assertEqual((camera["status"], camera["facts"]["state"]), ("warn", "streaming"))  # drawn birds are no camera
        self.assertEqual((model["status"], model["facts"]["name"]), ("pass", "kinglet-demo"))
        self.assertEqual([check["name"] for check in daemon.ask("/api/v1/doctor").json()["checks"]], self.CHECKS)
        self.assertRegex(self.ask("doctor").stdout, r"warn +camera +")

    def test_what_is_wrong_is_named_with_what_helps(self):
        daemon = self.start("source=images:/nowhere")
        daemon.until(lambda: daemon.ask("/readyz").status == 503, "no camera")
        text = self.ask("doctor", code=1).stdout
        self.assertRegex(text, r"fail +camera +absent: .*/nowhere")

    def test_without_a_daemon_it_looks_for_itself(self):
        found = json.loads(self.ask("doctor", "--json", code=1).stdout)
        checks = {check["name"]: check for check in found["checks"]}
        self.assertEqual(list(checks), self.CHECKS)
        self.assertIn("does not answer", checks["camera"]["detail"])
        self.assertEqual(checks["model"]["status"], "pass")
        self.assertIn("free_bytes", checks["disk"]["facts"])

    def test_a_bundle_has_what_helps_and_no_secret(self):
        daemon = self.start('source="mjpeg:http://anna:s3cr3t@127.0.0.1:9/stream"')
        token = self.ask("token", "add", "--role", "admin").stdout.strip()
        daemon.until(lambda: daemon.ask("/readyz").status == 503, "no camera")
        bundle = self.folder / "feeder.json"
        self.ask("doctor", "--bundle", bundle, code=1)
        text = bundle.read_text()
        self.assertNotIn("s3cr3t", text)
        self.assertNotIn(token, text)
        self.assertEqual(bundle.stat().st_mode & 0o777, 0o600)
        found = json.loads(text)
        self.assertEqual(found["missing"], {})
        self.assertEqual(found["answers"]["/api/v1/config"]["keys"]["source.spec"]["value"],
                         "mjpeg:http://***@127.0.0.1:9/stream")
        self.assertTrue(found["answers"]["/api/v1/log"][0]["text"])
        self.ask("doctor", "--bundle", bundle, code=73)


if __name__ == "__main__":
    main()
