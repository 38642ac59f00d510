# SPDX-License-Identifier: Apache-2.0
"""A detector beside the model: asked within look.budget, told of in answers; a broken one stops nothing. What it makes of regions:
tests/unit/detector/."""
import io
import os
import subprocess
import unittest

from support import CORPUS, SOURCE_DIR, Daemon, ScratchFolder, main
from made_files import INT64, constant, model, node, value_info

YOLOX = CORPUS / "detectors" / "yolox_nano_416.onnx"
COCO = SOURCE_DIR / "models" / "labels" / "coco_80.txt"
KINGLET = os.environ["KINGLET"]


def named(path, recipe="yolox", labels=COCO):
    return [f"detector.path={path}", f"detector.recipe={recipe}", f"detector.labels={labels}"]


def fails_in_the_light():
    """Sixteen rows of YOLOX with nobody in them. The brightness is an index into a table of one number."""
    nodes = [node("GlobalAveragePool", ["image"], ["means"], "pool"), node("Conv", ["means", "w"], ["light"], "light"),
             node("Reshape", ["light", "one"], ["level"], "level"), node("Cast", ["level"], ["at"], "cast", to=INT64),
             node("Gather", ["table", "at"], ["nothing"], "gather"), node("Add", ["rows", "nothing"], ["output"], "rows")]
    numbers = [constant("w", [1, 3, 1, 1], 8.0), constant("one", [3], 1, INT64), constant("table", [1], 0.0),
               constant("rows", [1, 16, 8], 0.0)]
    return model(nodes, [value_info("image", [1, 3, 64, 64])], [value_info("output", [1, 16, 8])], numbers)


def faults(folder, *sets):
    (folder / "kinglet.toml").write_text("")
    ended = subprocess.run([KINGLET, "config", "check", "--config", folder / "kinglet.toml"]
                           + [part for one in sets for part in ("--set", one)], capture_output=True, text=True)
    return ended.returncode, ended.stderr


class Detector(ScratchFolder):
    def test_a_broken_one_is_told_and_the_model_goes_on(self):
        broken = self.folder / "broken.onnx"
        broken.write_bytes(b"no model")
        for path, word in ((self.folder / "none.onnx", "none.onnx"), (broken, "broken.onnx"),
                           (SOURCE_DIR / "models" / "demo" / "kinglet-demo.onnx", 'head "yolox" expects')):
            with self.subTest(path=path.name), Daemon(sets=["source=demo:1", *named(path)]) as daemon:
                daemon.first_prediction()
                ready = daemon.ask("/readyz").json()
                self.assertEqual((ready["status"], ready["checks"]["detector"]["status"]), ("warn", "warn"))
                self.assertIn(word, ready["checks"]["detector"]["detail"])
                self.assertNotIn("detector", daemon.ask("/api/v1/model").json())
                model = next(one for one in daemon.ask("/api/v1/doctor").json()["checks"] if one["name"] == "model")
                self.assertIn("detector is left out", model["detail"])
                daemon.says("no detector")

    def test_one_that_fails_while_it_runs_is_told_and_visits_go_on(self):
        """It answers a picture without light, and fails of each that has some."""
        broken = self.folder / "fails.onnx"
        broken.write_bytes(fails_in_the_light())
        (self.folder / "names.txt").write_text("bird\nperson\ncat\n")
        (self.folder / "recipe.json").write_text('{"preset": "yolox", "std": 255, "boxes": {"strides": [16]}}')
        sets = ["source=demo:", "gate.max_fps=100", "visits.end_after=1s", "privacy.people=hide",
                *named(broken, self.folder / "recipe.json", self.folder / "names.txt")]
        with Daemon(sets=sets) as daemon:
            daemon.first_prediction()
            ready = daemon.until(lambda: (now := daemon.ask("/readyz").json())["status"] == "warn" and now, "no warning")
            detector = ready["checks"]["detector"]
            self.assertEqual(detector["status"], "warn")
            self.assertRegex(detector["detail"], r"left out: .*lies outside an axis of 1.*tried again after 1 min")
            self.assertFalse(daemon.ask("/api/v1/model").json()["detector"]["works"])
            model = next(one for one in daemon.ask("/api/v1/doctor").json()["checks"] if one["name"] == "model")
            self.assertIn("its detector is left out", model["detail"])
            self.assertIn("\nkinglet_detector_works 0\n", daemon.ask("/metrics").body.decode())
            visits = daemon.until(lambda: daemon.ask("/api/v1/visits").json()["items"], "a visit")
            self.assertTrue(visits[0]["species_id"])
            # Nobody looks for people, so nothing is shown.
            self.assertLess(len(daemon.ask("/snapshot.jpg?width=320").body), 4000)
            daemon.stop()
        self.assertEqual(sum("the detector failed" in line for line in daemon.lines), 1)

    def test_config_check_loads_it(self):
        code, said = faults(self.folder, *named(self.folder / "none.onnx"))
        self.assertEqual(code, 1)
        self.assertIn("detector.path", said)
        self.assertIn("none.onnx", said)
        code, said = faults(self.folder, *named(SOURCE_DIR / "models" / "demo" / "kinglet-demo.onnx", recipe="torchvision"))
        self.assertEqual(code, 1)
        self.assertIn("set detector.recipe to yolox", said)

    @unittest.skipUnless(YOLOX.exists(), "no detector in the corpus")
    def test_a_real_one_is_asked_about_what_moves(self):
        with Daemon(sets=["source=demo:1", "look.propose=motion", "look.budget=0", *named(YOLOX)]) as daemon:
            daemon.first_prediction()
            model = daemon.ask("/api/v1/model").json()["detector"]
            self.assertEqual(model, {"name": "yolox_nano_416", "head": "yolox", "classes": 80, "works": True})
            self.assertEqual(daemon.ask("/readyz").json()["checks"]["detector"]["status"], "pass")

            def opinions():
                return [region["detector"] for region in daemon.prediction()["regions"] if "detector" in region]
            seen = daemon.until(opinions, "an opinion on what moves")
            self.assertIn(seen[0]["sees"], ("nobody", "bird", "animal", "person"))
            stats = daemon.ask("/api/v1/stats").json()["detector"]
            self.assertGreater(stats["looks_total"], 0)
            self.assertGreater(stats["mean_ms"], 0)
            self.assertIn('kinglet_detector_looks_total{outcome="done"}', daemon.ask("/metrics").body.decode())

    def test_hiding_people_needs_one_that_knows_them(self):
        code, said = faults(self.folder, "privacy.people=hide")
        self.assertEqual(code, 1)
        self.assertIn("set detector.path", said)

    @unittest.skipUnless(YOLOX.exists(), "no detector in the corpus")
    def test_people_are_black_in_the_newest_picture_and_the_rest_is_not(self):
        try:
            from PIL import Image
        except ImportError:
            self.skipTest("python3-pil is needed")
        names = self.folder / "names.txt"
        names.write_text(COCO.read_text().replace("person\n", "thing\n"))
        code, said = faults(self.folder, "privacy.people=hide", *named(YOLOX, labels=names))
        self.assertEqual(code, 1)
        self.assertIn('no "person"', said)
        pictures = self.folder / "pictures"
        pictures.mkdir()
        with Image.open(CORPUS / "photos" / "officer.png") as officer:
            person = officer.convert("RGB").resize((360, 480))
        scene = Image.new("RGB", (1280, 480), (120, 160, 120))
        scene.paste(person, (600, 0))
        scene.save(pictures / "a.png")

        def snapshot(daemon):
            reply = daemon.ask("/snapshot.jpg")
            return Image.open(io.BytesIO(reply.body)).convert("L") if reply.status == 200 else None

        def share_black(picture, box):
            values = picture.crop(box).tobytes()
            return sum(value < 12 for value in values) / len(values)
        sets = [f"source=images:{pictures}", "source.fps=10", *named(YOLOX)]
        with Daemon(sets=[*sets, "privacy.people=hide"]) as daemon:
            daemon.first_prediction()

            def hidden():
                picture = snapshot(daemon)
                return picture if picture and share_black(picture, (0, 0, 400, 480)) < 0.1 else None
            picture = daemon.until(hidden, "a picture in which somebody has looked for people")
            self.assertGreater(share_black(picture, (660, 120, 900, 420)), 0.95)
        with Daemon(sets=sets) as daemon:
            daemon.first_prediction()
            picture = daemon.until(lambda: snapshot(daemon), "a picture")
            self.assertLess(share_black(picture, (660, 120, 900, 420)), 0.5)


if __name__ == "__main__":
    main()
