# SPDX-License-Identifier: Apache-2.0
"""Settings over HTTP: what an owner sets counts at once, is kept over a restart and can be undone; what the owner's files
say, and what stays in them, cannot be set."""
import json
import os
import signal
import stat
import subprocess
import unittest

from support import PATIENCE, Daemon, ScratchFolder, main

KINGLET = os.environ["KINGLET"]
PATCH = {"Content-Type": "application/merge-patch+json"}


class Settings(ScratchFolder):
    def setUp(self):
        super().setUp()
        self.state = self.folder / "state"
        self.file = self.folder / "kinglet.toml"
        self.write("")

    def write(self, text):
        self.file.write_text(f'source = "demo:1"\nstore.path = "{self.state}"\n[gate]\nmotion = false\n{text}')

    def start(self, **more):
        self.daemon = Daemon("--config", str(self.file), **more)
        self.addCleanup(lambda: self.daemon.process.poll() is None and self.daemon.stop())
        return self.daemon

    def claimed(self, **more):
        self.start(**more)
        self.owner = self.daemon.claim()
        return self.daemon

    def get(self, path="/api/v1/config", headers=None):
        return self.daemon.ask(path, headers=self.owner if headers is None else headers)

    def patch(self, change, tag="*", headers=None):
        given = {**(self.owner if headers is None else headers), **PATCH, **({"If-Match": tag} if tag else {})}
        return self.daemon.ask("/api/v1/config", "PATCH", json.dumps(change), given)

    def undo(self):
        return self.daemon.ask("/api/v1/config/undo", "POST", headers=self.owner)

    def key(self, name):
        return self.get().json()["keys"][name]

    def outcome(self):
        return (self.daemon.prediction() or {}).get("outcome")

    def token(self, name, role):
        command = [KINGLET, "token", "add", name, "--role", role, "--set", f"store.path={self.state}"]
        text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout
        return {"Authorization": "Bearer " + text.split()[0]}


class Change(Settings):
    def test_it_counts_at_once_is_kept_and_can_be_undone(self):
        daemon = self.claimed()
        daemon.until(lambda: self.outcome() == "accepted", "a bird")
        reply = self.patch({"decide": {"min_score": 1.0, "min_margin": 1.0}}, self.get().headers["etag"])
        self.assertEqual(reply.status, 200, reply.body)
        key = reply.json()["keys"]["decide.min_score"]
        self.assertEqual((key["value"], key["source"]), (1, f"{self.state}/settings.toml:4"))
        self.assertEqual(reply.json()["settings"], {"file": f"{self.state}/settings.toml", "steps_back": 1})
        daemon.until(lambda: self.outcome() in ("below_threshold", "background", "ambiguous"), "an abstention")
        daemon.says("settings: decide.min_margin = 1, decide.min_score = 1", "by owner")
        self.assertEqual(stat.S_IMODE((self.state / "settings.toml").stat().st_mode), 0o600)

        daemon.stop()
        daemon = self.start()
        daemon.first_prediction()
        self.assertEqual(self.key("decide.min_score")["value"], 1)
        change, = self.get("/api/v1/config/history").json()["items"]
        self.assertEqual(change["by"], "owner")
        self.assertEqual(change["changes"], [{"key": "decide.min_margin", "after": 1}, {"key": "decide.min_score", "after": 1}])

        reply = self.undo()
        self.assertEqual((reply.status, reply.json()["keys"]["decide.min_score"]["value"]), (200, 0.5), reply.body)
        daemon.until(lambda: self.outcome() == "accepted", "a bird again")
        self.assert_problem(self.undo(), 409, "nothing-to-undo")

    def test_null_takes_a_setting_back(self):
        self.claimed()
        self.patch({"gate.max_fps": 4, "decide.scores": {"Plain demothrush": 0.9, "Golden demofinch": 0.8}})
        self.assertEqual(self.key("gate.max_fps")["value"], 4)
        reply = self.patch({"gate": {"max_fps": None}, "decide": {"scores": {"Golden demofinch": None}}})
        keys = reply.json()["keys"]
        self.assertEqual((keys["gate.max_fps"]["value"], keys["gate.max_fps"]["source"]), (10, "default"))
        self.assertEqual(keys["decide.scores"]["value"], {"Plain demothrush": 0.9})
        *_, first = self.get("/api/v1/config/history").json()["items"]
        self.assertIn({"key": "decide.scores", "after": {"Golden demofinch": 0.8, "Plain demothrush": 0.9}}, first["changes"])

    def test_what_only_a_start_takes_waits_and_comes_with_it(self):
        daemon = self.claimed()
        keys = self.patch({"node.name": "garden", "decide.min_score": 0.5}).json()["keys"]
        self.assertEqual(keys["node.name"]["waiting"], "garden")
        self.assertNotIn("waiting", keys["decide.min_score"])
        daemon.says("node.name", "waits for the next start")
        daemon.stop()
        self.start()
        self.assertEqual(self.key("node.name")["value"], "garden")

    def test_the_camera_is_opened_anew_for_its_settings(self):
        daemon = self.claimed()
        daemon.first_prediction()
        daemon.says("camera: streaming")
        seen = len(daemon.lines)
        self.assertEqual(self.patch({"privacy": {"masks": [[0, 0, 0.5, 1]]}}).status, 200)
        daemon.says("camera: streaming", since=seen)


class Refusal(Settings):
    def test_all_faults_are_told_and_nothing_is_changed(self):
        self.claimed()
        reply = self.patch({"decide": {"min_score": 5, "unlisted": "flagg"}, "gate": {"hours": "25:00-26:00", "max_fps": 4},
                            "model": {"path": "/tmp/evil.onnx"}, "http": {"lissten": []}})
        problem = self.assert_problem(reply, 422, "bad-setting")
        self.assertEqual({error["key"] for error in problem["errors"]}, {"model.path", "http.lissten"})
        self.assertIn("http.listen", json.dumps(problem))
        reply = self.patch({"decide": {"min_score": 5, "unlisted": "flagg"}, "gate": {"max_fps": 4}})
        problem = self.assert_problem(reply, 422, "bad-setting")
        self.assertEqual([error["key"] for error in problem["errors"]], ["decide.min_score", "decide.unlisted"])
        self.assertIn("flag", problem["errors"][1]["hint"])
        self.assertIn("06:30-20:00", self.assert_problem(self.patch({"gate.hours": "25:00-26:00"}), 422, "bad-setting")["hint"])
        self.assertEqual(self.key("gate.max_fps")["value"], 10)
        self.assertFalse((self.state / "settings.toml").exists())

    def test_nothing_that_names_a_program_a_file_or_an_address_can_be_set(self):
        self.claimed()
        for key, value in (("source.spec", "exec:id"), ("source", "exec:id"), ("model.path", "/x"), ("http.listen", ["[::]:1"]),
                           ("http.anonymous", "live"), ("mqtt.url", "mqtt://x"), ("webhook.url", "http://x"), ("store.path", "/"),
                           ("decide.region", "/etc/passwd"), ("mqtt.commands", True)):
            with self.subTest(key=key):
                reply = self.patch({key: value})
                self.assertIn(reply.status, (400, 422), reply.body)
        self.assertFalse((self.state / "settings.toml").exists())
        keys = self.get().json()["keys"]
        self.assertFalse(any(key["settable"] for key in keys.values() if key["kind"] in ("path", "listen")))

    def test_what_the_owners_file_says_has_to_be_changed_there(self):
        self.write("max_fps = 7\n")
        self.claimed(env={"KINGLET_DECIDE__MIN_MARGIN": "0.2"}, sets=["decide.min_score=0.5"])
        problem = self.assert_problem(self.patch({"gate.max_fps": 4, "decide.max_rest": 0.5}), 409, "set-in-file")
        self.assertIn(f"{self.file}:5", problem["detail"])
        for key, place in (("decide.min_score", "--set"), ("decide.min_margin", "KINGLET_DECIDE__MIN_MARGIN")):
            self.assertIn(place, self.assert_problem(self.patch({key: 0.9}), 409, "set-in-file")["detail"])
        self.assertEqual(self.key("gate.max_fps")["source"], f"{self.file}:5")
        self.assertEqual(self.key("decide.max_rest")["source"], "default")

    def test_an_owners_file_that_says_it_later_wins(self):
        daemon = self.claimed()
        self.assertEqual(self.patch({"gate.max_fps": 4}).status, 200)
        self.write("max_fps = 7\n")
        daemon.process.send_signal(signal.SIGHUP)
        daemon.until(lambda: self.key("gate.max_fps")["value"] == 7, "the file's value")
        self.assertEqual(self.key("gate.max_fps")["source"], f"{self.file}:5")
        self.write("")
        daemon.process.send_signal(signal.SIGHUP)
        daemon.until(lambda: self.key("gate.max_fps")["value"] == 4, "what was set before")

    def test_only_an_owner_who_has_seen_the_newest_may_change_it(self):
        self.claimed()
        for role, status in (("read", 403), ("live", 403)):
            headers = self.token(role + "er", role)
            for reply in (self.patch({"gate.max_fps": 4}, headers=headers), self.get(headers=headers),
                          self.get("/api/v1/config/history", headers), self.daemon.ask("/api/v1/config/undo", "POST", headers=headers),
                          self.daemon.ask("/api/v1/control/restart", "POST", headers=headers)):
                self.assert_problem(reply, status, "role-too-low")
        self.assert_problem(self.patch({"gate.max_fps": 4}, headers={}), 401, "token-required")
        self.assert_problem(self.patch({"gate.max_fps": 4}, tag=None), 428, "if-match-required")
        tag = self.get().headers["etag"]
        reply = self.patch({"gate.max_fps": 4}, tag)
        self.assertEqual(reply.status, 200)
        self.assertNotEqual(reply.headers["etag"], tag)
        self.assert_problem(self.patch({"gate.max_fps": 5}, tag), 412, "stale-etag")
        self.assertEqual(self.patch({"gate.max_fps": 5}, reply.headers["etag"]).status, 200)

    def test_strange_bodies_are_refused(self):
        self.claimed()
        for body in ("", "{", "[]", "null", '{"decide": 7}', "[" * 9000, '{"decide": {"min_score": 1e999}}', "\xff"):
            reply = self.daemon.ask("/api/v1/config", "PATCH", body.encode("latin-1"), {**self.owner, **PATCH, "If-Match": "*"})
            self.assert_problem(reply, 400, "bad-json")
        for value in ("a\nmodel.path = \"/x\"", "\x00", "\x7f", "\"]", "é" * 200, [None], {}, [[[]]], 10**18, 10**19, True):
            reply = self.patch({"gate.hours": value})
            self.assert_problem(reply, 422, "bad-setting")
        self.assertFalse((self.state / "settings.toml").exists())

    def test_what_could_not_be_written_is_not_taken_up(self):
        self.claimed()
        self.state.rename(self.folder / "away")
        self.assert_problem(self.patch({"gate.max_fps": 4}), 507, "storage-full")
        self.assertEqual(self.key("gate.max_fps")["value"], 10)
        (self.folder / "away").rename(self.state)
        self.assertEqual(self.patch({"gate.max_fps": 4}).status, 200)


class Start(Settings):
    def test_what_does_not_fit_is_left_out_by_name_and_all_else_counts(self):
        self.state.mkdir()
        text = ('mqtt.topic_prefix = "birds/#"\nprivacy.masks = [[0, 0, 0.5, 0.5]]\ndecide.min_score = 7\n'
                'source = "exec:id"\ndecide.of_the_next_version = 1\ngate.max_fps = 4\n')
        (self.state / "settings.toml").write_text(text)
        daemon = self.start()
        self.owner = daemon.claim()
        told = daemon.says("of what was set on the page this does not count")
        for key in ("mqtt.topic_prefix (expected ", "decide.min_score (expected ", "source (", "decide.of_the_next_version ("):
            self.assertIn(key, told)
        self.assertIn("settings.toml.damaged", told)
        self.assertIn("mqtt.topic_prefix", self.get().json()["trouble"])
        self.assertEqual((self.state / "settings.toml.damaged").read_text(), text)
        self.assertEqual(self.key("gate.max_fps")["value"], 4)
        self.assertEqual(self.key("privacy.masks")["value"], [[0, 0, 0.5, 0.5]])
        self.assertEqual(self.key("mqtt.topic_prefix")["source"], "default")
        daemon.process.send_signal(signal.SIGHUP)
        daemon.says("configuration read again")
        daemon.stop()
        daemon = self.start()
        self.assertNotIn("trouble", self.get().json(), "told once")
        self.assertEqual(self.key("gate.max_fps")["value"], 4)

    def test_a_damaged_file_is_set_aside_and_the_rest_starts(self):
        self.state.mkdir()
        for number, text in enumerate((b"\x00\xff\xfe[[", b"decide.min_score = \n", b"x" * 300000)):
            with self.subTest(number=number):
                (self.state / "settings.toml").write_bytes(text)
                daemon = self.start()
                if number == 0:
                    self.owner = daemon.claim()
                self.assertIn("settings.toml.damaged", daemon.says("what was set on the page does not count"))
                self.assertIn("settings.toml", self.get().json()["trouble"])
                self.assertEqual((self.state / "settings.toml.damaged").read_bytes(), text)
                self.assertFalse((self.state / "settings.toml").exists())
                daemon.first_prediction()
                daemon.stop()
                self.assertEqual(sum("what was set on the page does not count" in line for line in daemon.lines), 1, daemon.lines)
        daemon = self.start()
        self.assertNotIn("trouble", self.get().json())

    def test_the_tool_says_where_each_value_is_from(self):
        daemon = self.claimed()
        self.patch({"decide": {"min_score": 0.5}})
        daemon.stop()

        def tool(*command):
            ended = subprocess.run([KINGLET, "config", *command, "--config", self.file], capture_output=True, text=True, timeout=PATIENCE)
            return ended.returncode, ended.stdout + ended.stderr
        self.assertIn(f"min_score = 0.5  # {self.state}/settings.toml:3\n", tool("show")[1])
        self.assertEqual(json.loads(tool("show", "--json")[1])["decide.min_score"]["source"], f"{self.state}/settings.toml:3")
        self.assertEqual(tool("check")[0], 0)
        (self.state / "settings.toml").write_text("decide.min_score = 5\n")
        code, told = tool("check")
        self.assertEqual(code, 1)
        self.assertIn(f"{self.state}/settings.toml:1", told)
        self.assertIn("left out", tool("show")[1])
        self.assertTrue((self.state / "settings.toml").exists(), "a look changes nothing")


class Restart(Settings):
    def test_a_service_ends_with_the_code_that_starts_it_again(self):
        script = self.folder / "service"
        script.write_text(f'#!/bin/sh\nSYSTEMD_EXEC_PID=$$ exec "{os.environ["KINGLETD"]}" "$@"\n')
        script.chmod(0o755)
        daemon = self.claimed(program=script)
        daemon.first_prediction()
        reply = self.daemon.ask("/api/v1/control/restart", "POST", headers=self.owner)
        self.assertEqual((reply.status, reply.json()), (202, {"restarting": True}), reply.body)
        self.assertEqual(daemon.process.wait(PATIENCE), 75)
        daemon.says("restart wished by", "owner")
        with open(os.path.join(os.environ["SOURCE_FOLDER"], "systemd", "kingletd.service"), encoding="utf-8") as unit:
            text = unit.read()
        self.assertIn("\nRestartForceExitStatus=75\n", text)
        self.assertIn("\nSuccessExitStatus=75\n", text)

    def test_who_was_started_by_a_person_goes_on(self):
        self.claimed(env={"SYSTEMD_EXEC_PID": "1"})
        reply = self.daemon.ask("/api/v1/control/restart", "POST", headers=self.owner)
        self.assert_problem(reply, 409, "no-service-manager")
        self.assertEqual(self.daemon.ask("/livez").status, 200)


if __name__ == "__main__":
    main()
