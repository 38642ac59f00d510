# SPDX-License-Identifier: Apache-2.0
"""The tool and the running daemon: over the socket in the file system, which needs no token, and over HTTP."""
import json
import os
import shutil
import subprocess
import unittest
from pathlib import Path

from support import Daemon, ScratchFolder, SOURCE_DIR, main

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
        ended = subprocess.run([KINGLET, *map(str, arguments)], capture_output=True, text=True, timeout=120, **named)
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


if __name__ == "__main__":
    main()
