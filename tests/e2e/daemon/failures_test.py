# SPDX-License-Identifier: Apache-2.0
"""What goes wrong outside: one clear line, the contract's exit code, and a daemon that stays up where it can."""
import json
import os
import shutil
import socket
import tempfile
import unittest
from pathlib import Path

from support import BIRD, CORPUS, PATIENCE, SOURCE_DIR, Daemon, ScratchFolder, bird_sets, main

HAVE_CORPUS = (CORPUS / "corpus.json").exists()


class Start(ScratchFolder):
    def end_of(self, *flags, sets=()):
        daemon = Daemon(*flags, sets=sets, wait=False)
        code = daemon.process.wait(PATIENCE)
        daemon.reader.join(PATIENCE)
        output = "".join(daemon.lines)
        daemon.process.stderr.close()
        daemon.process.stdout.close()
        return code, output

    def test_a_port_in_use(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            code, output = self.end_of(sets=[f"http.listen=127.0.0.1:{port}"])
        self.assertEqual(code, 69, output)
        self.assertIn(f"port {port} is in use", output)
        self.assertIn("hint: ", output)

    def test_a_second_daemon_on_the_same_port(self):
        with Daemon(sets=["source=demo:"]) as first:
            code, output = self.end_of(sets=[f"http.listen=127.0.0.1:{first.url[1]}"])
            self.assertEqual(code, 69, output)
            self.assertEqual(first.ask("/livez").status, 200)

    def test_what_cannot_be_had_and_what_is_wrong(self):
        for code, setting, words in (
                (78, "http.listen=feeder.local:8420", "http.listen"),
                (78, "http.listen=8420", "http.listen"),
                (78, "http.listen=unix:run/http.sock", "http.listen"),
                (69, "http.listen=192.0.2.7:8420", "hint: "),  # of another machine
                (69, "http.listen=unix:/nowhere/http.sock", "/nowhere/http.sock"),
                (78, 'http.trusted_proxies=["router"]', "http.trusted_proxies"),
                (78, "source=imags:/x", 'did you mean "images:"?'),
                (78, "decide.min_scor=0.5", "min_score"),
                (78, "decide.min_score=1.5", "decide.min_score")):
            with self.subTest(setting):
                ended, output = self.end_of(sets=[setting])
                self.assertEqual(ended, code, output)
                self.assertIn(words, output)

    def test_wrong_flags(self):
        for flags in (["--nonsense"], ["--for", "soon"], ["--set"]):
            code, output = self.end_of(*flags)
            self.assertEqual(code, 64, output)
            self.assertIn("kingletd: ", output)

    def test_check_config(self):
        self.assertEqual(self.end_of("--check-config")[0], 0)
        self.assertEqual(self.end_of("--check-config", sets=["nonsense.key=1"])[0], 78)

    def test_strict_ends_when_the_model_is_missing(self):
        code, output = self.end_of("--strict", sets=["model.path=/nowhere/bird.onnx", "source=demo:"])
        self.assertEqual(code, 66, output)
        self.assertIn("/nowhere/bird.onnx", output)

    def test_strict_ends_when_the_source_is_missing(self):
        code, output = self.end_of("--strict", sets=["source=images:/nowhere"])
        self.assertEqual(code, 69, output)
        self.assertIn("/nowhere", output)


class StaysUp(ScratchFolder):
    def assert_not_ready(self, daemon, check, *words):
        detail = ""

        def said():
            nonlocal detail
            reply = daemon.ask("/readyz")
            found = reply.json()["checks"][check]
            detail = found.get("detail", "")
            return reply.status == 503 and found["status"] == "fail" and all(word in detail for word in words)
        try:
            daemon.until(said, "not ready")
        except AssertionError:
            raise AssertionError(f"{words} is not in: {detail}") from None
        self.assertEqual(daemon.ask("/livez").status, 200)
        self.assertEqual(daemon.ask("/").status, 200)

    def with_model(self, model, *words, sets=()):
        with Daemon(sets=[f"model.path={model}", "source=demo:", *sets]) as daemon:
            self.assert_not_ready(daemon, "model", *words)
            self.assertEqual(daemon.ask("/api/v1/predictions/latest").status, 204)
            self.assert_problem(daemon.ask("/api/v1/model"), 404, "not-found")
            reply = daemon.ask("/api/v1/classify", "POST", b"x", {"Content-Type": "image/jpeg"})
            self.assert_problem(reply, 409, "model-not-valid")
            self.assertEqual(daemon.stop()[0], 0)
            self.assertEqual(sum("no model" in line for line in daemon.lines), 1)

    def test_a_missing_model(self):
        self.with_model("/nowhere/bird.onnx", "/nowhere/bird.onnx")

    def test_an_empty_model(self):
        path = self.folder / "empty.onnx"
        path.touch()
        self.with_model(path, "empty.onnx")

    def test_a_file_that_is_no_model(self):
        path = self.folder / "text.onnx"
        path.write_text("this is no model " * 100)
        self.with_model(path, "text.onnx")

    @unittest.skipUnless(HAVE_CORPUS, "no corpus")
    def test_a_truncated_model(self):
        path = self.folder / "half.onnx"
        path.write_bytes(BIRD.read_bytes()[:5_000_000])
        self.with_model(path, "half.onnx")

    @unittest.skipUnless(HAVE_CORPUS, "no corpus")
    def test_labels_that_do_not_fit(self):
        labels = self.folder / "labels.txt"
        labels.write_text("one\ntwo\n")
        self.with_model(BIRD, "labels.txt", "2", "965", sets=[f"model.labels={labels}"])

    @unittest.skipUnless(HAVE_CORPUS, "no corpus")
    def test_labels_that_are_missing(self):
        self.with_model(BIRD, "/nowhere/labels.txt", sets=["model.labels=/nowhere/labels.txt"])

    @unittest.skipUnless(HAVE_CORPUS, "no corpus")
    def test_a_recipe_that_is_wrong(self):
        recipe = self.folder / "recipe.json"
        recipe.write_text('{"mean": [1, 2]}')
        self.with_model(BIRD, "recipe.json", sets=[f"model.recipe={recipe}"])

    def test_a_missing_folder_of_images(self):
        with Daemon(sets=["source=images:/nowhere"]) as daemon:
            self.assert_not_ready(daemon, "camera", "absent", "/nowhere")
            self.assert_problem(daemon.ask("/snapshot.jpg"), 503, "no-camera")

    def test_a_camera_that_does_not_exist(self):
        with Daemon(sets=["source=libcamera:no-such-camera"]) as daemon:
            self.assert_not_ready(daemon, "camera", "absent")

    def test_auto_without_a_camera_shows_the_demonstration_and_says_so(self):
        with Daemon(sets=["source=auto"], env={"PATH": "/usr/bin:/bin"}) as daemon:
            daemon.first_prediction()
            camera = daemon.ask("/api/v1/stats").json()["camera"]
            if not camera["demonstration"]:
                self.skipTest("this machine has a camera")
            daemon.says("demonstration")

    @unittest.skipUnless(HAVE_CORPUS, "no corpus")
    def test_auto_without_a_camera_shows_nothing_to_a_real_model(self):
        nothing = {"KINGLET_CAMERA_PROGRAM": "/nowhere/kinglet-camera", "KINGLET_RPICAM_PROGRAM": "/nowhere/rpicam-vid"}
        with Daemon(sets=["source=auto", *bird_sets(self.folder)], env=nothing) as daemon:
            self.assert_not_ready(daemon, "camera", "absent: no camera: libcamera: ", "rpicam: ")
            camera = daemon.ask("/api/v1/stats").json()["camera"]
            self.assertEqual((camera["state"], camera["demonstration"], camera["kind"]), ("absent", False, "attached"))
            self.assert_problem(daemon.ask("/snapshot.jpg"), 503, "no-camera")
            daemon.says("camera: absent: no camera: ")

    def test_a_real_model_that_comes_later_takes_the_scene_away(self):
        """The demonstration's, by another name: what the owner names is a real one."""
        models = self.folder / "models"
        models.mkdir()
        for file in (SOURCE_DIR / "models" / "demo").glob("kinglet-demo.*"):
            shutil.copy(file, models / file.name.replace("kinglet-demo", "garden"))
        nothing = {"KINGLET_CAMERA_PROGRAM": "/nowhere/kinglet-camera", "KINGLET_RPICAM_PROGRAM": "/nowhere/rpicam-vid"}
        sets = ["source=auto", f"store.path={self.folder}", "store.flush_interval=100ms", "visits.end_after=1s"]
        with Daemon(sets=sets, env=nothing) as daemon:
            daemon.first_prediction()
            self.assertEqual(daemon.prediction()["source"], "demo")
            visit = daemon.until(lambda: daemon.ask("/api/v1/visits").json()["items"], "a visit")[0]
            self.assertEqual(visit["source"], "demo", "a drawn bird is no camera's")
            self.assertTrue(daemon.ask("/api/v1/visits?source=demo").json()["items"])
            self.assertFalse(daemon.ask("/api/v1/visits?source=camera").json()["items"])
            owner = daemon.claim()
            reply = daemon.ask("/api/v1/models/garden/activate", "POST", headers=owner)
            self.assertEqual(reply.status, 202, reply.body)
            self.assert_not_ready(daemon, "camera", "absent: no camera: ")
            self.assertFalse(daemon.ask("/api/v1/stats").json()["camera"]["demonstration"])

    @unittest.skipUnless(HAVE_CORPUS, "no corpus")
    def test_images_that_vanish_stall_and_come_back(self):
        pictures = self.folder / "pictures"
        pictures.mkdir()
        shutil.copy(CORPUS / "photos" / "bald_eagle.jpg", pictures)
        with Daemon(sets=[f"source=images:{pictures}"]) as daemon:
            daemon.first_prediction()
            pictures.rename(self.folder / "away")
            daemon.until(lambda: daemon.ask("/readyz").status == 503, "not ready")
            # HTTP is alive throughout and says why.
            camera = daemon.ask("/api/v1/stats").json()["camera"]
            self.assertNotEqual(camera["state"], "streaming")
            self.assertTrue(camera["detail"])
            self.assertEqual(daemon.ask("/livez").status, 200)
            (self.folder / "away").rename(pictures)
            daemon.until(lambda: daemon.ask("/readyz").status == 200, "ready again")
            stats = daemon.ask("/api/v1/stats").json()["camera"]
            self.assertGreater(stats["stalls_total"] + stats["restarts_total"], 0)


if __name__ == "__main__":
    main()
