# SPDX-License-Identifier: Apache-2.0
"""Models that come to the running daemon, fetched from a mirror or uploaded: checked before they are kept, and whatever fails,
nothing is left and the model before answers on."""
import hashlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import unittest

from support import CORPUS, PATIENCE, SLOWER, SOURCE_DIR, Daemon, ScratchFolder, main
from model_mirror import Mirror, catalogue_of  # after support, which finds it

SMALL = (SOURCE_DIR / "tests/fuzz/corpus/tflite/small_classifier.tflite").read_bytes()
DEMO = SOURCE_DIR / "models" / "demo" / "kinglet-demo.onnx"
SETS = ["source=demo:1", "gate.motion=false", "http.rate=1000"]
NO_PROXY = {"no_proxy": "*", "NO_PROXY": "*"}


class Arrival(ScratchFolder):
    BODY = SMALL

    def setUp(self):
        super().setUp()
        self.models = self.folder / "models"
        self.mirror = Mirror(self.BODY)
        self.addCleanup(self.mirror.close)

    def start(self, *sets, catalogue=None, state=True, owner=True, **changes):
        path = self.folder / "catalogue.json"
        if not path.exists():
            path.write_text(catalogue or catalogue_of(self.BODY, [self.mirror.address("/bird.tflite")], **changes))
        places = [f"store.path={self.folder}"] if state else []
        self.daemon = Daemon(sets=[*SETS, f"model.catalogue={path}", *places, *sets], env=NO_PROXY)
        self.addCleanup(self.daemon.stop)
        if owner:
            self.owner = self.daemon.claim()
        return self.daemon

    def pull(self, name="tiny-bird", query="?activate=yes"):
        return self.daemon.ask(f"/api/v1/models/{name}/pull{query}", "POST", headers=self.owner)

    def put(self, name, body, query="", headers=None):
        return self.daemon.ask(f"/api/v1/models/{name}{query}", "PUT", body, headers=headers or self.owner)

    def job(self, reply):
        return self.daemon.ask(reply.headers["location"]).json()

    def ended(self, reply):
        self.assertEqual(reply.status, 202, reply.body)

        def job():
            found = self.job(reply)
            return found if found["state"] in ("succeeded", "failed") else None
        return self.daemon.until(job, "the end of the job")

    def assert_failed(self, reply, slug, *words):
        job = self.ended(reply)
        self.assertEqual(job["state"], "failed", job)
        self.assertEqual(job["problem"]["type"], "/problems/" + slug, job)
        for word in words:
            self.assertIn(word, job["problem"]["detail"] + " " + job["problem"].get("hint", ""))
        self.assertNotIn(str(self.folder), json.dumps(job))
        return job

    def entry(self, name="tiny-bird"):
        items = self.daemon.ask("/api/v1/models/catalogue").json()["items"]
        return next(one for one in items if one["name"] == name)

    def model(self):
        return self.daemon.ask("/api/v1/model").json()["name"]

    def files(self):
        """All below the model folder."""
        return sorted(str(path.relative_to(self.models)) for path in self.models.rglob("*") if path.is_file())


class Pulled(Arrival):
    def test_one_request_fetches_checks_converts_activates_and_keeps_a_model(self):
        daemon = self.start()
        self.assertEqual((self.entry()["here"], self.entry()["licence"]), (False, "CC-BY-4.0"))
        job = self.ended(self.pull())
        self.assertEqual((job["kind"], job["state"], job["activated"], job["kept_for_next_start"]),
                         ("pull", "succeeded", True, True), job)
        self.assertEqual((job["received_bytes"], job["size_bytes"], job["progress_ratio"]), (len(SMALL), len(SMALL), 1))
        self.assertEqual(self.files(), ["tiny-bird.onnx", "tiny-bird.recipe.json"])
        self.assertEqual((self.model(), self.entry()["here"], self.entry()["active"]), ("tiny-bird", True, True))
        self.assertEqual(daemon.ask("/api/v1/model").json()["preprocess"]["mean"], [127.5] * 3)
        daemon.until(lambda: daemon.prediction()["model"]["name"] == "tiny-bird", "an answer of it")
        daemon.stop()
        self.start(owner=False)
        self.assertEqual(self.model(), "tiny-bird")

    def test_without_that_wish_it_is_here_and_the_model_before_answers_on(self):
        self.start()
        job = self.ended(self.pull(query=""))
        self.assertEqual((job["state"], job["activated"]), ("succeeded", False), job)
        self.assertEqual((self.entry()["here"], self.entry()["active"], self.model()), (True, False, "kinglet-demo"))

    def test_what_is_here_and_good_is_not_fetched_again_and_what_is_broken_is(self):
        self.start()
        self.ended(self.pull(query=""))
        self.assertEqual(self.ended(self.pull())["activated"], True)
        self.assertEqual(len(self.mirror.requests), 1)
        (self.models / "tiny-bird.onnx").write_bytes(b"damaged")
        self.assertEqual(self.ended(self.pull())["activated"], True)
        self.assertEqual(len(self.mirror.requests), 2)

    def test_a_file_by_a_name_of_the_catalogue_that_is_not_the_catalogue_s_is_refused(self):
        self.start()
        for body in (DEMO.read_bytes(), SMALL + b"more"):
            with self.subTest(size=len(body)):
                self.assert_failed(self.put("tiny-bird", body, "?activate=yes"), "model-not-valid",
                                   "not the catalogue's file of \"tiny-bird\"", hashlib.sha256(SMALL).hexdigest(), "a name of its own")
                self.assertEqual((self.files(), self.entry()["here"], self.model()), ([], False, "kinglet-demo"))
        self.assertEqual(self.ended(self.put("tiny-bird", SMALL, "?activate=yes"))["activated"], True)
        self.assertEqual(self.files(), ["tiny-bird.onnx", "tiny-bird.recipe.json"])

    def test_a_pull_does_not_take_another_file_of_that_name_for_the_catalogue_s(self):
        self.models.mkdir()
        shutil.copy(DEMO, self.models / "tiny-bird.onnx")
        self.start()
        self.assert_failed(self.pull(), "model-not-valid", "another file is here", hashlib.sha256(SMALL).hexdigest(), "remove that model")
        self.assertEqual((self.models / "tiny-bird.onnx").read_bytes(), DEMO.read_bytes())
        self.assertEqual((self.entry()["here"], self.model(), self.mirror.requests), (False, "kinglet-demo", []))
        self.assertEqual(self.daemon.ask("/api/v1/models/tiny-bird", "DELETE", headers=self.owner).status, 204)
        self.assertEqual(self.ended(self.pull())["activated"], True)

    def test_a_redirect_is_followed_but_not_to_a_file(self):
        self.start()
        self.mirror.redirect = DEMO.as_uri()
        self.assert_failed(self.pull(), "download-failed")
        self.mirror.redirect = self.mirror.address("/moved")
        self.assertEqual(self.ended(self.pull())["activated"], True)
        self.assertEqual(self.mirror.requests[-1][0], "/moved")

    def test_a_mirror_with_something_else_leaves_nothing(self):
        self.start()
        for body, words in ((SMALL[:-1] + bytes([SMALL[-1] ^ 1]), "expected sha256:"), (SMALL + b"more", "more than the"),
                            (b"<html>gone</html>", "")):
            with self.subTest(body=body[-20:]):
                self.mirror.body = body
                slug = "model-not-valid" if words else "download-failed"
                self.assert_failed(self.pull(), slug, words)
                self.assertNotIn("tiny-bird.onnx", self.files())
        self.assertEqual(self.model(), "kinglet-demo")
        self.mirror.body = SMALL
        self.assertEqual(self.ended(self.pull())["activated"], True)

    def test_a_right_digest_makes_no_model_of_what_is_none(self):
        self.mirror.body = b"TFL3" * 500
        self.start(catalogue=catalogue_of(self.mirror.body, [self.mirror.address()]))
        self.assert_failed(self.pull(), "model-not-valid")
        self.assertEqual((self.files(), self.entry()["here"], self.model()), ([], False, "kinglet-demo"))
        self.daemon.first_prediction()

    def test_a_mirror_that_is_away_is_told_with_what_helps(self):
        self.start()
        self.mirror.status = 404
        self.assert_failed(self.pull(), "download-failed", "404")
        self.mirror.close()
        self.assert_failed(self.pull(), "download-failed", "network")
        self.assertEqual(self.files(), [])
        explained = self.daemon.ask("/problems/download-failed").body.decode()
        self.assertIn("upload", explained)

    def test_what_broke_off_goes_on_even_after_the_daemon_was_killed(self):
        daemon = self.start()
        half = len(SMALL) // 2
        self.mirror.cut_after = half
        self.assert_failed(self.pull(), "download-failed", f"{half} of {len(SMALL)} bytes are kept")
        self.mirror.cut_after, self.mirror.silent_after = None, 10
        reply = self.pull()
        daemon.until(lambda: self.job(reply).get("received_bytes") == half + 10, "ten bytes more")
        self.assertEqual(self.job(reply)["step"], "receive")
        daemon.stop(signal.SIGKILL)
        self.mirror.silent_after = None
        self.mirror.goes_on.set()
        self.start(owner=False)
        self.assertEqual(self.files(), [".incoming/tiny-bird.part"])
        self.assertEqual(self.ended(self.pull())["activated"], True)
        self.assertEqual([wanted for _, wanted in self.mirror.requests], [None, f"bytes={half}-", f"bytes={half + 10}-"])
        self.assertEqual(self.files(), ["tiny-bird.onnx", "tiny-bird.recipe.json"])

    def test_while_one_comes_no_other_does_and_the_daemon_ends_all_the_same(self):
        daemon = self.start()
        self.mirror.silent_after = 10
        reply = self.pull()
        daemon.until(lambda: self.mirror.requests, "the download")
        for second in (self.pull(), self.put("garden-2", SMALL),
                       daemon.ask("/api/v1/models/kinglet-demo/activate", "POST", headers=self.owner)):
            problem = self.assert_problem(second, 409, "job-running")
            self.assertIn(reply.json()["id"], problem["hint"])
        daemon.first_prediction()
        code, seconds = daemon.stop()
        self.assertEqual(code, 0)
        self.assertLess(seconds, 10 * SLOWER)

    def test_only_what_the_catalogue_has_and_only_for_an_owner(self):
        self.start()
        problem = self.assert_problem(self.pull("tiny-brid"), 404, "not-found")
        self.assertIn("tiny-bird", problem["hint"])
        self.assertEqual(self.daemon.ask("/api/v1/models/tiny-bird/pull", "POST").status, 401)
        self.assertEqual(self.mirror.requests, [])

    def test_without_a_folder_for_models_nothing_is_fetched(self):
        self.start(state=False)
        self.assertEqual(self.daemon.ask("/api/v1/models/catalogue").json()["can_be_kept"], False)
        problem = self.assert_problem(self.pull(), 507, "storage-full")
        self.assertIn("model.folder", problem["hint"])

    def test_a_folder_that_cannot_be_written_is_told_as_that_and_not_as_a_full_disk(self):
        self.start()
        (self.models / "tiny-bird.onnx" / "in the way").mkdir(parents=True)
        self.assert_failed(self.pull(), "not-writable", "cannot rename")
        shutil.rmtree(self.models)
        self.models.write_text("a file where the folder should be")
        for reply in (self.pull(), self.put("garden-1", SMALL)):
            problem = self.assert_problem(reply, 507, "not-writable")
            self.assertIn("cannot make the folder", problem["detail"])
            self.assertIn("folder of models", problem["hint"])
        self.daemon.first_prediction()

    def test_a_catalogue_that_is_none_stops_the_start(self):
        path = self.folder / "catalogue.json"
        path.write_text('{"models": [{"name": "../evil"}]}')
        (self.folder / "kinglet.toml").write_text(f'[model]\ncatalogue = "{path}"\n')
        ended = subprocess.run([os.environ["KINGLETD"], "--config", self.folder / "kinglet.toml", "--check-config"],
                               capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(ended.returncode, 78, ended)
        self.assertIn("kinglet.toml:2", ended.stderr)
        self.assertIn("name must be", ended.stderr)


@unittest.skipUnless((CORPUS / "tflite").is_dir(), "no corpus of models (../shared/corpus or KINGLET_CORPUS)")
class RealBirds(Arrival):
    FILES = {"inat-birds": "mobilenet_v2_1.0_224_inat_bird_quant.tflite", "aiy-birds": "aiy_birds_v1.tflite"}

    def start_with_birds(self):
        """The built-in catalogue, the addresses aside."""
        catalogue = json.loads((SOURCE_DIR / "models/catalogue.json").read_text())
        catalogue["models"] = [{**one, "addresses": [self.mirror.address()]} for one in catalogue["models"] if one.get("birds")]
        return self.start("decide.max_rest=1", catalogue=json.dumps(catalogue))

    def test_each_bird_model_of_the_catalogue_comes_and_names_birds_with_the_recipe_of_a_feeder(self):
        daemon = self.start_with_birds()
        photo = (CORPUS / "photos" / "chickadee.png").read_bytes()
        for name, file in self.FILES.items():
            with self.subTest(name=name):
                self.mirror.body = (CORPUS / "tflite" / file).read_bytes()
                self.assertEqual(self.ended(self.pull(name))["activated"], True)
                model = daemon.ask("/api/v1/model").json()
                self.assertEqual((model["name"], model["labels"]["count"], model["labels"]["named"]), (name, 965, True))
                recipe = model["preprocess"]
                self.assertEqual((recipe["resize_mode"], recipe["mean"], recipe.get("regions", "motion")),
                                 ("stretch", [128] * 3, "motion"))
                top = daemon.ask("/api/v1/classify", "POST", photo, {"Content-Type": "image/png"}).json()["top"]
                self.assertEqual(top[0]["species_id"], "poecile-atricapillus")
                labels = daemon.ask("/api/v1/model/labels?language=en").json()["items"]
                self.assertEqual([one["role"] for one in labels].count("background"), 1)
                self.assertEqual(next(one["name"] for one in labels if one["species_id"] == "passer-domesticus"), "House Sparrow")
                self.assertEqual([one for one in labels if one["name"] == one.get("scientific_name", one["label"])][:-1], [],
                                 "all but the background have English names")

    def test_a_file_of_the_catalogue_that_is_uploaded_gets_its_recipe_and_labels(self):
        daemon = self.start_with_birds()
        body = (CORPUS / "tflite" / self.FILES["inat-birds"]).read_bytes()
        self.assertEqual(self.ended(self.put("inat-birds", body, "?activate=yes"))["activated"], True)
        self.assertEqual(self.files(), ["inat-birds.labels.txt", "inat-birds.onnx", "inat-birds.recipe.json"])
        self.assertEqual(self.mirror.requests, [])
        labels = daemon.ask("/api/v1/model/labels").json()["items"]
        self.assertIn("Black-capped Chickadee", {one["common_name"] for one in labels})


class Uploaded(Arrival):
    BODY = b"a file that nobody uploads"

    def test_a_file_of_ones_own_becomes_a_model_and_answers_if_that_is_wished(self):
        self.start()
        job = self.ended(self.put("garden-1", SMALL))
        self.assertEqual((job["kind"], job["model"], job["activated"]), ("upload", "garden-1", False), job)
        self.assertEqual(self.model(), "kinglet-demo")
        job = self.ended(self.put("garden-2", DEMO.read_bytes(), "?activate=yes"))
        self.assertEqual((job["activated"], job["kept_for_next_start"]), (True, True), job)
        self.assertEqual(self.model(), "garden-2")
        self.assertEqual(self.files(), ["garden-1.onnx", "garden-2.onnx"])

    def test_a_stranger_is_judged_elsewhere_and_leaves_nothing(self):
        self.start()
        for body in (b"no model", b"TFL3" * 100, DEMO.read_bytes()[:5000], os.urandom(100_000)):
            with self.subTest(body=body[:8]):
                self.assert_failed(self.put("odd", body), "model-not-valid")
                self.assertEqual(self.files(), [])
        self.daemon.first_prediction()

    def test_what_lies_beside_the_place_of_the_model_counts_with_it(self):
        self.models.mkdir()
        names = self.models / "garden-1.labels.txt"
        names.write_text("".join(f"Bird {i}\n" for i in range(9)))
        self.start()
        self.assertEqual(self.ended(self.put("garden-1", DEMO.read_bytes(), "?activate=yes"))["activated"], True)
        self.assertEqual(self.daemon.ask("/api/v1/model/labels").json()["items"][3]["label"], "Bird 3")
        names = self.models / "garden-2.labels.txt"
        names.write_text("one\ntwo\n")
        self.assert_failed(self.put("garden-2", DEMO.read_bytes()), "model-not-valid", "labels")
        self.assertEqual(names.read_text(), "one\ntwo\n")

    def test_names_that_are_none_or_taken_are_refused(self):
        self.start()
        for name in ("..%2fx", "Garden", "a%00b", ".hidden", "x" * 81):
            with self.subTest(name=name):
                self.assert_problem(self.put(name, SMALL), 400, "bad-parameter")
        self.ended(self.put("garden-1", SMALL))
        for name in ("garden-1", "kinglet-demo"):
            self.assert_problem(self.put(name, SMALL), 409, "model-exists")
        self.assertEqual(self.files(), ["garden-1.onnx"])

    def test_a_size_that_is_too_large_or_not_said_is_refused_before_the_body(self):
        daemon = self.start()
        head = (f"PUT /api/v1/models/garden-1 HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                f"Authorization: {self.owner['Authorization']}\r\n")
        for more, status in (("Content-Length: 536870913\r\n", b"413"), ("Transfer-Encoding: chunked\r\n", b"411"), ("", b"411")):
            with self.subTest(more=more):
                self.assertEqual(daemon.raw((head + more + "\r\n").encode()).split()[1], status)
        self.assertEqual(list(self.models.rglob("upload")), [])

    def test_who_is_not_the_owner_writes_nothing_to_the_disk(self):
        self.start()
        self.assertEqual(self.put("garden-1", SMALL, headers={"X-Any": "1"}).status, 401)
        reply = self.put("garden-1", SMALL, headers={**self.owner, "Origin": "http://evil.example"})
        self.assert_problem(reply, 403, "foreign-origin")
        self.assertFalse(self.models.exists() and list(self.models.rglob("*")))

    def test_an_upload_that_breaks_off_leaves_nothing_and_the_next_one_comes(self):
        daemon = self.start()
        connection = http.client.HTTPConnection(*daemon.url, timeout=PATIENCE)
        connection.putrequest("PUT", "/api/v1/models/garden-1")
        connection.putheader("Authorization", self.owner["Authorization"])
        connection.putheader("Content-Length", str(len(SMALL)))
        connection.endheaders(SMALL[:1000])
        daemon.until(lambda: (self.models / ".incoming" / "upload").exists(), "the first bytes")
        problem = self.assert_problem(self.put("garden-2", SMALL), 409, "job-running")
        self.assertIn("garden-1", problem["detail"])
        daemon.first_prediction()
        connection.close()
        daemon.until(lambda: daemon.ask("/api/v1/models/catalogue").json()["newest_job"]["state"] == "failed", "its end")
        self.assertEqual(self.files(), [])
        self.assertEqual(self.ended(self.put("garden-1", SMALL))["state"], "succeeded")

    def test_a_large_file_goes_to_the_disk_and_not_into_memory(self):
        daemon = self.start()
        daemon.first_prediction()

        def peak():
            with open(f"/proc/{daemon.process.pid}/status", encoding="ascii") as status:
                return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
        before = peak()
        large = self.folder / "large"
        with open(large, "wb") as file:
            file.truncate(192 << 20)
        with open(large, "rb") as file:
            headers = {**self.owner, "Content-Length": str(192 << 20)}
            reply = daemon.ask("/api/v1/models/large", "PUT", file, headers)
        self.assert_failed(reply, "model-not-valid")
        self.assertLess(peak() - before, 64 << 10)
        self.assertEqual(self.files(), [])


if __name__ == "__main__":
    main()
