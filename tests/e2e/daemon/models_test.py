# SPDX-License-Identifier: Apache-2.0
"""Models that the running daemon changes to: listed, checked, tried, taken, kept; the old one answers whatever fails."""
import json
import os
import shutil
import subprocess
import threading
import unittest
from pathlib import Path

from events_test import Listener
from support import PATIENCE, SLOWER, SOURCE_DIR, Daemon, ScratchFolder, main

KINGLET = os.environ["KINGLET"]
DEMO = SOURCE_DIR / "models" / "demo" / "kinglet-demo.onnx"
SETS = ["source=demo:1", "gate.motion=false", "http.rate=1000"]


def put_model(folder, name):
    """The demonstration model as another file with the same answers, and what goes with it."""
    folder.mkdir(exist_ok=True)
    model = folder / f"{name}.onnx"
    subprocess.run([KINGLET, "quantize", DEMO, "--fp16", "weights", "-o", model, "-q"], check=True, stdout=subprocess.DEVNULL)
    for ending in ("labels.txt", "recipe.json"):
        shutil.copy(DEMO.with_suffix("." + ending), folder / f"{name}.{ending}")
    return model


class Models(ScratchFolder):
    def setUp(self):
        super().setUp()
        self.models = self.folder / "models"
        self.daemon = None

    def start(self, *sets, owner=True):
        self.daemon = Daemon(sets=[*SETS, f"store.path={self.folder}", *sets])
        self.addCleanup(self.daemon.stop)
        if owner:
            self.owner = self.daemon.claim()
        return self.daemon

    def model(self):
        return self.daemon.ask("/api/v1/model").json()

    def listed(self):
        """Once all are checked."""
        def items():
            found = self.daemon.ask("/api/v1/models").json()["items"]
            return found if all(one["state"] != "checking" for one in found) else None
        return {one["name"]: one for one in self.daemon.until(items, "all models checked")}

    def post(self, name, query=""):
        return self.daemon.ask(f"/api/v1/models/{name}/activate{query}", "POST", headers=self.owner)

    def ended(self, reply):
        self.assertEqual(reply.status, 202, reply.body)
        place = reply.headers["location"]
        self.assertEqual(place, "/api/v1/jobs/" + reply.json()["id"])

        def job():
            found = self.daemon.ask(place).json()
            return found if found["state"] in ("succeeded", "failed") else None
        return self.daemon.until(job, "the end of the job")

    def test_the_folder_is_listed_valid_or_not_with_the_reason(self):
        put_model(self.models, "half")
        (self.models / "cut.onnx").write_bytes(DEMO.read_bytes()[:1000])
        labels = put_model(self.models, "labels").with_suffix(".labels.txt")
        labels.write_text("one\ntwo\n")
        (self.models / "notes.txt").write_text("no model")
        (self.models / ".hidden.onnx").write_bytes(b"")
        self.start()
        models = self.listed()
        self.assertEqual(list(models), ["kinglet-demo", "cut", "half", "labels"])
        self.assertEqual((models["half"]["state"], models["half"]["classes"]), ("valid", 9))
        self.assertEqual((models["kinglet-demo"]["active"], models["kinglet-demo"]["configured"]), (True, True))
        self.assertEqual(models["kinglet-demo"]["digest"], self.model()["digest"])
        for name in ("cut", "labels"):
            self.assertEqual(models[name]["state"], "invalid")
            self.assertNotIn(str(self.folder), json.dumps(models[name]))
        self.assertIn("labels", models["labels"]["reason"])
        labels.write_text(DEMO.with_suffix(".labels.txt").read_text())
        self.assertEqual(self.listed()["labels"]["state"], "valid")

    def test_another_model_answers_from_the_next_frame_on_and_after_the_next_start(self):
        put_model(self.models, "half")
        daemon = self.start()
        before = self.model()
        daemon.first_prediction()
        job = self.ended(self.post("half"))
        self.assertEqual((job["state"], job["activated"], job["kept_for_next_start"]), ("succeeded", True, True), job)
        after = self.model()
        self.assertEqual((after["name"], after["digest"] != before["digest"]), ("half", True))
        daemon.until(lambda: daemon.prediction()["model"]["name"] == "half", "an answer of it")
        # What was said before is still what the model before said.
        names = {one["model"]["name"] for one in daemon.ask("/api/v1/predictions?limit=500").json()["items"]}
        self.assertEqual(names, {"kinglet-demo", "half"})
        self.assertEqual(self.daemon.ask("/v2/models/half/ready").json(), {"name": "half", "ready": True})
        self.assertEqual(self.daemon.ask("/v2/models/kinglet-demo").status, 404)
        self.assertTrue(self.listed()["half"]["active"])
        daemon.stop()
        self.start(owner=False)
        self.assertEqual(self.model()["name"], "half")

    def test_the_change_is_told_as_an_event(self):
        put_model(self.models, "half")
        daemon = self.start()
        with Listener(daemon, "/api/v1/events?types=model") as listener:
            self.ended(self.post("half"))
            event = listener.event()
        self.assertEqual(event["event"], "model")
        model = event["data"]["model"]
        self.assertEqual((model["name"], model["before"]["name"]), ("half", "kinglet-demo"))
        self.assertEqual(model["digest"], self.model()["digest"])

    def test_the_configured_model_comes_back_and_nothing_is_kept(self):
        put_model(self.models, "half")
        daemon = self.start()
        self.ended(self.post("half"))
        self.assertTrue((self.folder / "model.json").exists())
        self.assertEqual(self.ended(self.post("kinglet-demo"))["state"], "succeeded")
        self.assertFalse((self.folder / "model.json").exists())
        daemon.stop()
        self.start(owner=False)
        self.assertEqual(self.model()["name"], "kinglet-demo")

    def test_a_start_goes_back_to_the_configuration_when_the_model_is_gone_or_another_is_configured(self):
        model = put_model(self.models, "half")
        daemon = self.start()
        self.ended(self.post("half"))
        daemon.stop()
        daemon = self.start(f"model.path={DEMO}", "model.name=mine", owner=False)
        self.assertEqual(self.model()["name"], "mine")
        daemon.stop()
        model.unlink()
        daemon = self.start(owner=False)
        self.assertEqual(self.model()["name"], "kinglet-demo")
        daemon.says("that was activated cannot be used")

    def test_what_cannot_answer_is_refused_and_the_old_model_goes_on(self):
        self.models.mkdir()
        (self.models / "cut.onnx").write_bytes(DEMO.read_bytes()[:1000])
        daemon = self.start()
        daemon.first_prediction()
        reply = self.post("cut")
        if reply.status == 202:  # not checked yet
            job = self.ended(reply)
            self.assertEqual((job["state"], job["problem"]["type"]), ("failed", "/problems/model-not-valid"))
        self.listed()
        self.assert_problem(self.post("cut"), 409, "model-not-valid")
        self.assertIn("cut", json.dumps(self.listed()))
        self.assert_problem(self.post("kut"), 404, "not-found")
        self.assert_problem(self.post("..%2Fkinglet"), 404, "not-found")
        self.assert_problem(self.daemon.ask("/api/v1/models/cut/activate", "POST"), 401, "token-required")
        self.assert_problem(self.post("cut", "?frames=5"), 400, "bad-parameter")
        self.assert_problem(daemon.ask("/api/v1/jobs/job_x"), 404, "not-found")
        seen = daemon.ask("/api/v1/stats").json()["images"]["total"]
        daemon.until(lambda: daemon.ask("/api/v1/stats").json()["images"]["total"] > seen, "more answers")
        self.assertEqual(self.model()["name"], "kinglet-demo")

    def test_a_choice_that_cannot_be_kept_is_not_made(self):
        put_model(self.models, "half")
        daemon = self.start()
        (self.folder / "model.json").mkdir()
        job = self.ended(self.post("half"))
        self.assertEqual((job["state"], job["problem"]["type"]), ("failed", "/problems/not-writable"), job)
        self.assertEqual(self.model()["name"], "kinglet-demo")
        daemon.first_prediction()

    def test_the_first_model_of_all_may_be_one_of_the_folder(self):
        put_model(self.models, "half")
        daemon = self.start("model.path=/nowhere.onnx")
        self.assertEqual(daemon.ask("/readyz").status, 503)
        self.assertEqual(self.ended(self.post("half", "?trial=yes"))["activated"], True)
        daemon.first_prediction()
        self.assertEqual(daemon.ask("/readyz").status, 200)
        daemon.stop()
        self.start("model.path=/nowhere.onnx", owner=False)
        self.assertEqual(self.model()["name"], "half")

    def test_on_trial_both_models_look_and_the_rule_decides(self):
        put_model(self.models, "half")
        other = put_model(self.models, "other").with_suffix(".labels.txt")
        names = other.read_text().splitlines()
        other.write_text("\n".join(names[1:] + names[:1]) + "\n")
        daemon = self.start("model.trial_frames=12", "model.trial_time=50")
        job = self.ended(self.post("other", "?trial=yes"))
        self.assertEqual((job["state"], job["activated"], job["trial"]["frames"]), ("succeeded", False, 12), job)
        self.assertEqual(job["trial"]["agreement_ratio"], 0)
        self.assertIn("the same species in 0.0 %", job["reason"])
        job = self.ended(self.post("half", "?trial=yes&frames=5&max_time=0.01"))
        self.assertEqual((job["activated"], job["trial"]["frames"]), (False, 5), job)
        self.assertIn("times the time", job["reason"])
        self.assertEqual(self.model()["name"], "kinglet-demo")
        job = self.ended(self.post("half", "?trial=yes"))
        self.assertEqual((job["activated"], job["trial"]["agreement_ratio"]), (True, 1), job)
        self.assertGreater(job["trial"]["before_ms"], 0)
        self.assertEqual(self.listed()["half"]["newest_job"], job)
        self.assertEqual(self.model()["name"], "half")
        daemon.first_prediction()

    def test_a_trial_ends_without_frames_and_one_at_a_time(self):
        put_model(self.models, "half")
        daemon = self.start()
        daemon.first_prediction()
        daemon.ask("/api/v1/control/pause", "POST", headers=self.owner)
        reply = self.post("half", "?trial=yes&within=3")
        problem = self.assert_problem(self.post("half"), 409, "job-running")
        self.assertIn(reply.json()["id"], problem["hint"])
        job = self.ended(reply)
        self.assertEqual(job["activated"], False, job)
        self.assertIn("of 100 frames came within 3 s", job["reason"])

    def test_a_daemon_ends_in_the_middle_of_a_trial(self):
        put_model(self.models, "half")
        daemon = self.start()
        daemon.first_prediction()
        reply = self.post("half", "?trial=yes&frames=100000")
        daemon.until(lambda: "trial" in daemon.ask(reply.headers["location"]).json(), "frames on trial")
        code, seconds = daemon.stop()
        self.assertEqual(code, 0)
        self.assertLess(seconds, 10 * SLOWER)

    def test_posted_pictures_and_frames_go_on_through_many_changes(self):
        put_model(self.models, "half")
        daemon = self.start()
        daemon.first_prediction()
        picture = daemon.ask("/snapshot.jpg").body
        done = threading.Event()
        seen = []

        def post():
            while not done.is_set():
                reply = daemon.ask("/api/v1/classify", "POST", picture, {"Content-Type": "image/jpeg"})
                seen.append((reply.status, reply.headers["content-type"]))
        poster = threading.Thread(target=post)
        poster.start()
        for name in ("half", "kinglet-demo") * 4:
            self.assertTrue(self.ended(self.post(name))["activated"])
        done.set()
        poster.join(PATIENCE)
        self.assertEqual({status for status, _ in seen} - {200, 503}, set())
        self.assertIn(200, {status for status, _ in seen})
        self.assertEqual(daemon.ask("/api/v1/stats").json()["frames"]["dropped_total"]["error"], 0)


if __name__ == "__main__":
    main()
