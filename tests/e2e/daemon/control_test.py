# SPDX-License-Identifier: Apache-2.0
"""What an owner asks of a running daemon: pause, the configuration in force, the log, the cameras."""
import json
import socket
import tempfile
import unittest

from support import PATIENCE, Daemon, ScratchFolder, main

SECRET = "http://anna:s3cr3t@192.0.2.7/stream"


class Control(ScratchFolder):
    @classmethod
    def setUpClass(cls):
        cls.settings = tempfile.NamedTemporaryFile("w", suffix=".toml")
        cls.settings.write("[decide]\nmin_score = 0.55\n")
        cls.settings.flush()
        cls.daemon = Daemon("--config", cls.settings.name, sets=["source=demo:1"], env={"KINGLET_HTTP__RATE": "50"})
        cls.daemon.first_prediction()
        cls.owner = cls.daemon.claim()

    @classmethod
    def tearDownClass(cls):
        code, _ = cls.daemon.stop()
        cls.settings.close()
        assert code == 0, code

    def get(self, path):
        return self.daemon.ask(path, headers=self.owner)

    def post(self, path, body=None):
        return self.daemon.ask(path, "POST", body, self.owner)

    def stats(self):
        return self.daemon.ask("/api/v1/stats").json()

    def test_paused_nothing_is_looked_at_until_resumed(self):
        self.assertEqual(self.post("/api/v1/control/pause").json(), {"paused": True})
        self.addCleanup(self.post, "/api/v1/control/resume")
        skipped = self.stats()["frames"]["skipped_total"]["paused"]
        self.daemon.until(lambda: self.stats()["frames"]["skipped_total"]["paused"] > skipped + 2, "frames that go by")

        def only_going_by():
            before = self.stats()
            skipped = before["frames"]["skipped_total"]["paused"]
            after = self.daemon.until(lambda: (now := self.stats())["frames"]["skipped_total"]["paused"] > skipped + 3 and now, "more")
            return after if after["images"]["total"] == before["images"]["total"] else None
        before = self.daemon.until(only_going_by, "that those in work are answered")
        skipped = before["frames"]["skipped_total"]["paused"]
        self.daemon.until(lambda: self.stats()["frames"]["skipped_total"]["paused"] > skipped + 10, "many that go by")
        after = self.stats()
        self.assertEqual(after["images"]["total"], before["images"]["total"])
        self.assertEqual(after["camera"]["state"], "paused")
        self.assertEqual(self.daemon.ask("/readyz").status, 200)
        shown = self.daemon.ask("/snapshot.jpg")
        self.assertEqual(shown.status, 200)
        self.daemon.until(lambda: self.daemon.ask("/snapshot.jpg").body != shown.body, "the picture goes on")
        self.assertEqual(self.post("/api/v1/control/resume").json(), {"paused": False})
        self.daemon.until(lambda: self.stats()["images"]["total"] > after["images"]["total"] + 3, "answers")
        self.assertEqual(self.stats()["camera"]["state"], "streaming")

    def test_the_configuration_says_where_each_value_comes_from(self):
        keys = self.get("/api/v1/config").json()["keys"]
        self.assertEqual(keys["decide.min_score"], {
            "value": 0.55, "source": self.settings.name + ":2", "reload": "live", "settable": True, "kind": "number",
            "help": "A best score below this is no answer (outcome below_threshold).", "default": 0.5,
            "range": {"least": 0, "most": 1}})
        self.assertEqual(keys["look.propose"]["choices"], ["auto", "whole", "motion", "fixed"])
        self.assertEqual((keys["gate.max_fps"]["unit"], keys["source.spec"]["settable"]), ("frames a second", False))
        self.assertEqual(keys["source.spec"]["source"], "--set")
        self.assertEqual(keys["http.rate"]["source"], "KINGLET_HTTP__RATE")
        self.assertEqual(keys["gate.max_fps"]["source"], "default")
        self.assertEqual(keys["http.listen"]["reload"], "restart")
        self.assert_problem(self.daemon.ask("/api/v1/config"), 401, "token-required")

    def test_a_file_is_judged_without_being_used(self):
        self.assertEqual(self.post("/api/v1/config/validate", "[decide]\nmin_score = 0.5\n").json(),
                         {"valid": True, "errors": []})
        answer = self.post("/api/v1/config/validate", "[decide]\nmin_score = 5\n\n[gatte]\n").json()
        self.assertFalse(answer["valid"])
        first, second = answer["errors"]
        self.assertEqual((first["line"], first["column"], first["key"]), (2, 13, "decide.min_score"))
        self.assertEqual(second["line"], 4)
        self.assertIn("gate", second["hint"])
        for broken in ("[decide", "\x00", "a = [" * 5000, "\u00ff\ufffe", "x = 1\nx = 2\n"):
            self.assertFalse(self.post("/api/v1/config/validate", broken.encode()).json()["valid"])
        self.assertEqual(self.get("/api/v1/config").json()["keys"]["decide.min_score"]["value"], 0.55)

    def test_the_log_is_an_object_a_line(self):
        reply = self.get("/api/v1/log")
        self.assertEqual(reply.headers["content-type"], "application/x-ndjson")
        records = [json.loads(line) for line in reply.body.decode().splitlines()]
        self.assertTrue(any("claimed" in record["text"] for record in records))
        self.assertEqual({"seq", "at", "level", "text"}, records[0].keys())
        seqs = [record["seq"] for record in records]
        self.assertEqual(seqs, list(range(seqs[0], seqs[0] + len(seqs))))
        self.assertEqual(self.get("/api/v1/log?since=2100-01-01T00:00:00Z").body, b"")
        self.assert_problem(self.get("/api/v1/log?since=now"), 400, "bad-parameter")

    def test_cameras_are_found_by_name(self):
        camera, = self.daemon.ask("/api/v1/cameras").json()["items"]
        self.assertEqual(camera["source"], "camera")
        self.assertEqual(self.daemon.ask(camera["links"]["self"]).json()["description"], camera["description"])
        self.assertEqual(self.daemon.ask("/api/v1/camera").json()["links"], camera["links"])
        self.assertEqual(self.daemon.ask(camera["links"]["snapshot"] + "?width=320").headers["content-type"], "image/jpeg")
        self.assertTrue(self.daemon.ask(camera["links"]["stream"]).body.startswith(b"--kinglet\r\n"))
        for path in ("", "/snapshot.jpg", "/stream.mjpg"):
            self.assert_problem(self.daemon.ask("/api/v1/cameras/other" + path), 404, "not-found")


class Others(ScratchFolder):
    def test_no_login_leaves_the_device(self):
        with Daemon(sets=[f'source="mjpeg:{SECRET}"', 'source.rpicam_arguments=["http://a:b@c/"]']) as daemon:
            reply = daemon.ask("/api/v1/config", headers=daemon.claim())
            self.assertEqual(reply.status, 200)
            self.assertEqual(reply.json()["keys"]["source.spec"]["value"], "mjpeg:http://***@192.0.2.7/stream")
            self.assertEqual(reply.json()["keys"]["source.rpicam_arguments"]["value"], ["http://***@c/"])
            self.assertNotIn(b"s3cr3t", reply.body)

    def test_the_watchdog_is_fed_while_paused(self):
        path = self.folder / "notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(str(path))
            manager.settimeout(PATIENCE)
            with Daemon(sets=["source=demo:1"], env={"NOTIFY_SOCKET": str(path)}) as daemon:
                daemon.first_prediction()
                daemon.ask("/api/v1/control/pause", "POST", headers=daemon.claim())
                fed = 0
                while fed < 14:  # longer than frames may stand still
                    fed += manager.recv(4096) == b"WATCHDOG=1"


if __name__ == "__main__":
    main()
