# SPDX-License-Identifier: Apache-2.0
"""A model is a stranger until a process of its own has run it: whatever it does there, the daemon goes on and says why."""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

from support import KINGLETD, PATIENCE, SOURCE_DIR, Daemon, ScratchFolder, main
from made_files import FLOAT, channel_means, heavy, outgrown_relu  # after support, which finds it

KINGLET = os.environ["KINGLET"]
DEMO = SOURCE_DIR / "models" / "demo" / "kinglet-demo.onnx"
SETS = ["source=demo:1", "gate.motion=false", "http.rate=1000"]
CLASSES = 1 << 18  # of 192 weights each: 201 MB
MISBEHAVES = """#!/bin/sh
echo $$ >> {folder}/asked
case "$*" in
*/abort*) echo "kinglet: Assertion failed" >&2; kill -ABRT $$ ;;
*/fault*) kill -SEGV $$ ;;
*/eats*) ulimit -v {memory} ;;
*/spins*) ulimit -t 1; while :; do :; done ;;
*/lies*) echo '{{"valid": true, "classes": "many", "data_files": []}}'; exit 0 ;;
*/talks*) exec yes ;;
*/hangs*) exec sleep 600 ;;
esac
exec {kinglet} "$@"
"""


class StrangeModels(ScratchFolder):
    def setUp(self):
        super().setUp()
        self.state = self.folder / "state"
        self.models = self.state / "models"
        self.models.mkdir(parents=True)
        self.asked = self.folder / "asked"
        self.asked.write_text("")

    def misbehaving(self):
        """kingletd beside a tool that does what the name of the model says, and else its work."""
        bin_folder = self.folder / "usr" / "bin"
        bin_folder.mkdir(parents=True)
        (self.folder / "usr" / "share").symlink_to(Path(KINGLETD).parent.parent / "share")
        shutil.copy2(KINGLETD, bin_folder / "kingletd")
        tool = bin_folder / "kinglet"
        tool.write_text(MISBEHAVES.format(folder=self.folder, kinglet=KINGLET, memory=200_000))
        tool.chmod(0o755)
        return bin_folder / "kingletd"

    def start(self, *sets, program=KINGLETD, **options):
        daemon = Daemon(sets=[*SETS, f"store.path={self.state}", *sets], program=program, **options)
        self.addCleanup(daemon.stop)
        return daemon

    def put(self, name, model=None):
        path = self.models / f"{name}.onnx"
        path.write_bytes(model or channel_means(FLOAT, 1, 0))
        return path

    def put_heavy(self, name):
        path = self.put(name, heavy(CLASSES, name + ".bin"))
        with open(self.models / (name + ".bin"), "wb") as weights:
            weights.truncate(CLASSES * 192 * 4)
        return path

    def listed(self, daemon):
        def items():
            found = daemon.ask("/api/v1/models").json()["items"]
            return found if all(one["state"] != "checking" for one in found) else None
        return {one["name"]: one for one in daemon.until(items, "all models checked")}

    def children(self):
        return [int(line) for line in self.asked.read_text().split()]

    def test_a_tiny_file_that_a_library_aborts_on_does_not_end_the_daemon(self):
        self.assertLess(len(self.put("tiny", outgrown_relu()).read_bytes()), 400)
        daemon = self.start()
        daemon.first_prediction()
        self.assertIn("tiny", self.listed(daemon))
        self.assertEqual(daemon.stop()[0], 0)
        checked = subprocess.run([KINGLET, "models", "check", self.models / "tiny.onnx", self.put("good")],
                                 capture_output=True, text=True)
        self.assertIn(checked.returncode, (0, 1), checked.stderr)
        self.assertIn("good: good, 3 classes", checked.stdout)

    def test_whatever_a_model_does_is_listed_with_the_reason(self):
        reasons = {"abort": "signal 6 (Aborted): kinglet: Assertion failed", "fault": "signal 11",
                   "eats": "MiB of memory", "spins": "signal ", "lies": "nothing sensible", "talks": "more than an answer"}
        # Each with bytes of its own: the same bytes are the same model, under every name.
        for size, name in enumerate(reasons, start=8):
            if name == "eats":
                self.put_heavy(name)
            else:
                self.put(name, channel_means(FLOAT, 1, 0, size=size))
        self.put("good")
        daemon = self.start(program=self.misbehaving())
        daemon.first_prediction()
        models = self.listed(daemon)
        self.assertEqual(models["good"]["state"], "valid", models["good"])
        for name, reason in reasons.items():
            self.assertEqual(models[name]["state"], "invalid", models[name])
            self.assertIn(reason, models[name]["reason"])
            self.assertNotIn(str(self.folder), models[name]["reason"])
        # One child each, however often somebody asks, also while they are at work.
        self.listed(daemon)
        self.assertEqual(len(self.children()), len(models))
        seen = daemon.ask("/api/v1/stats").json()["images"]["total"]
        daemon.until(lambda: daemon.ask("/api/v1/stats").json()["images"]["total"] > seen, "more answers")
        self.assertEqual(daemon.stop()[0], 0)

    def choose(self, name):
        (self.state / "model.json").write_text(json.dumps({"file": name + ".onnx", "configured": ""}))

    def test_a_start_goes_on_with_the_model_before_when_the_chosen_one_kills(self):
        self.put("abort")
        self.choose("abort")
        daemon = self.start(program=self.misbehaving())
        daemon.first_prediction()
        self.assertEqual(daemon.ask("/api/v1/model").json()["name"], "kinglet-demo")
        self.assertIn("signal 6", daemon.says("that was activated cannot be used"))
        daemon.stop()
        self.assertEqual(sum("that was activated cannot be used" in line for line in daemon.lines), 1, daemon.lines)

    def test_a_start_without_another_model_is_not_ready_and_says_why(self):
        model = self.put("abort")
        daemon = self.start(f"model.path={model}", program=self.misbehaving())
        ready = daemon.ask("/readyz")
        self.assertEqual(ready.status, 503)
        self.assertIn("signal 6", ready.body.decode())
        self.assertEqual(daemon.ask("/livez").status, 200)
        self.assertEqual(daemon.stop()[0], 0)

    def test_with_strict_the_exit_code_keeps_the_service_manager_from_trying_again(self):
        model = self.put("abort")
        daemon = Daemon("--strict", sets=[*SETS, f"store.path={self.state}", f"model.path={model}"],
                        program=self.misbehaving(), wait=False)
        self.addCleanup(daemon.stop)
        self.assertEqual(daemon.process.wait(PATIENCE), 65)
        unit = (SOURCE_DIR / "systemd" / "kingletd.service").read_text()
        self.assertIn("65", re.search("RestartPreventExitStatus=(.*)", unit)[1].split())

    def test_a_model_is_proven_once(self):
        model = self.put("good")
        program = self.misbehaving()
        daemon = self.start(f"model.path={model}", program=program)
        daemon.first_prediction()
        digest = daemon.ask("/api/v1/model").json()["digest"]
        daemon.stop()
        self.assertEqual(len(self.children()), 1)
        self.assertEqual((self.state / "proofs.json").stat().st_mode & 0o777, 0o600)
        # As it lies there, and the same bytes in another place.
        moved = self.models / "moved.onnx"
        shutil.copy(model, moved)
        for path in (model, moved, moved):
            daemon = self.start(f"model.path={path}", program=program)
            daemon.first_prediction()
            self.assertEqual(daemon.ask("/api/v1/model").json()["digest"], digest)
            daemon.stop()
        self.assertEqual(len(self.children()), 1)
        # Other bytes, or another recipe, are another model.
        moved.write_bytes(channel_means(FLOAT, 1, 0, size=8))
        moved.with_suffix(".recipe.json").write_text('{"mean": [128, 128, 128], "std": [128, 128, 128]}')
        self.start(f"model.path={moved}", program=program).stop()
        self.assertEqual(len(self.children()), 2)

    def test_another_build_or_processor_proves_again(self):
        model = self.put("good")
        program = self.misbehaving()
        self.start(f"model.path={model}", program=program).stop()
        note = self.state / "proofs.json"
        proofs = json.loads(note.read_text())
        for other in ({**proofs, "made_with": "sha256:0"}, {"made_with": proofs["made_with"], "proofs": [7, {"path": 1}]}, []):
            asked = len(self.children())
            note.write_text(json.dumps(other))
            daemon = self.start(f"model.path={model}", program=program)
            daemon.first_prediction()
            daemon.stop()
            self.assertEqual(len(self.children()), asked + 1)

    def test_where_proofs_cannot_be_kept_they_last_as_long_as_the_process(self):
        (self.state / "proofs.json").mkdir()
        model = self.put("good")
        daemon = self.start(f"model.path={model}", program=self.misbehaving())
        daemon.first_prediction()
        daemon.says("proven is forgotten")
        self.assertEqual(self.listed(daemon)["good"]["state"], "valid")
        self.assertEqual(len(self.children()), 1)

    def test_without_the_tool_no_stranger_is_loaded(self):
        program = self.misbehaving()
        (program.parent / "kinglet").unlink()
        daemon = self.start(f"model.path={self.put('good')}", program=program, env={"PATH": "/nowhere"})
        self.assertIn("which checks models", daemon.ask("/readyz").body.decode())
        daemon.stop()
        self.start(program=program, env={"PATH": "/nowhere"}).first_prediction()

    def ended(self, child):
        try:
            return Path(f"/proc/{child}/stat").read_text().rsplit(") ", 1)[1].startswith("Z")
        except FileNotFoundError:
            return True

    def test_a_check_under_way_ends_with_the_daemon(self):
        self.put("hangs")
        daemon = self.start(program=self.misbehaving())
        daemon.first_prediction()
        daemon.ask("/api/v1/models")
        daemon.until(self.children, "a child")
        code, seconds = daemon.stop()
        self.assertEqual(code, 0)
        self.assertLess(seconds, 10)
        daemon.until(lambda: self.ended(self.children()[0]), "the end of the child")

    def test_a_start_that_waits_for_a_check_ends_at_once_with_its_child(self):
        model, program = self.put_heavy("large"), self.misbehaving()

        def held():
            """A start whose check is stopped in the middle, or None: on a busy machine the check may be over before we come."""
            self.asked.write_text("")
            (self.state / "proofs.json").unlink(missing_ok=True)
            daemon = self.start(f"model.path={model}", program=program, wait=False)
            child = Path("/proc") / str(daemon.until(self.children, "a child")[0])
            with contextlib.suppress(OSError):  # it has gone
                while (child / "oom_score_adj").read_text() != "1000\n":
                    time.sleep(0.001)
                os.kill(int(child.name), signal.SIGSTOP)  # from now on it does not end by itself
            if not self.ended(child.name):
                return daemon, child
            daemon.stop()
            return None
        daemon, child = next(found for found in (held() for _ in range(20)) if found)
        code, seconds = daemon.stop()
        self.assertEqual(code, 0)
        self.assertLess(seconds, 10)
        daemon.until(lambda: self.ended(child.name), "the end of the child")

    def test_a_check_is_bounded_and_the_first_to_go(self):
        model = self.put_heavy("large")

        def limits(child):
            """Those that it has set itself, if it is seen while they hold."""
            found, place = "", Path(f"/proc/{child.pid}")
            while child.poll() is None and not re.search(r"Max data size +3000000000 ", found):
                if (place / "oom_score_adj").read_text() == "1000\n":
                    found = (place / "limits").read_text()
                time.sleep(0.001)
            return found
        for _ in range(20):  # on a busy machine it may be over before we look
            child = subprocess.Popen([KINGLET, "models", "prove", "--memory=3000000000", "--seconds=50", model],
                                     stdout=subprocess.PIPE, text=True)
            seen = limits(child)
            verdict = json.loads(child.communicate()[0])
            if "3000000000" in seen:
                break
        self.assertRegex(seen, r"Max cpu time +50 ")
        self.assertRegex(seen, r"Max core file size +0 ")
        self.assertEqual((verdict.get("classes"), verdict.get("data_files")), (CLASSES, ["large.bin"]), verdict)

    def test_data_beside_a_model_belongs_to_its_proof(self):
        name = self.put("beside", heavy(8, "beside.bin"))
        data = self.models / "beside.bin"
        data.write_bytes(bytes(8 * 192 * 4))
        program = self.misbehaving()
        for asked in (1, 1, 2):
            if asked == 2:
                data.write_bytes(bytes(8 * 192 * 4 - 1) + b"\x3c")
            daemon = self.start(f"model.path={name}", program=program)
            daemon.first_prediction()
            daemon.stop()
            self.assertEqual(len(self.children()), asked)


if __name__ == "__main__":
    main()
