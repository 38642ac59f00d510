# SPDX-License-Identifier: Apache-2.0
"""`kinglet calibrate`: the temperature of the demonstration model on pictures that are hard for it."""
import csv
import json
import shutil
import sqlite3
import unittest
from contextlib import closing

from support import DEMO, DEMO_LABELS, DEMO_RECIPE, CliTest, kinglet, main, sort_by_label


class Calibrate(CliTest):
    def setUp(self):
        super().setUp()
        self.pictures = self.folder / "pictures"
        self.assert_done(kinglet("demo-frames", "--out", self.pictures, "--count", 270, "--size", "64x48"))
        self.recipe = self.folder / "calibrated.json"

    def calibrate(self, folder, *flags, recipe=DEMO_RECIPE):
        return kinglet("calibrate", DEMO, folder, "--labels", DEMO_LABELS, "--recipe", recipe, "-o", self.recipe, *flags)

    def test_scores_come_nearer_to_the_truth(self):
        report = self.assert_done(self.calibrate(self.pictures, "--json")).json()
        self.assertEqual(report["pictures"], 270)
        self.assertGreater(report["temperature"], 1)
        self.assertLess(report["after"]["surprise"], report["before"]["surprise"])
        self.assertEqual(report["after"]["right_ratio"], report["before"]["right_ratio"])
        written = json.loads(self.recipe.read_text())
        self.assertEqual(written.pop("temperature"), report["temperature"])
        self.assertEqual({**json.loads(DEMO_RECIPE.read_text()), **written}, written)

    def test_the_temperature_of_the_recipe_is_taken_into_account(self):
        first = self.assert_done(self.calibrate(self.pictures, "--json")).json()["temperature"]
        other = self.folder / "other.json"
        other.write_text(json.dumps({**json.loads(DEMO_RECIPE.read_text()), "temperature": 3}))
        again = self.assert_done(self.calibrate(self.pictures, "--json", "--force", recipe=other)).json()["temperature"]
        self.assertAlmostEqual(first, again, delta=0.01)

    def test_classify_uses_it_and_keeps_the_order(self):
        self.assert_done(self.calibrate(self.pictures))
        picture = sorted(self.pictures.glob("*.png"))[0]

        def top(recipe):
            command = ("classify", DEMO, picture, "--labels", DEMO_LABELS, "--recipe", recipe, "--json")
            return self.assert_done(kinglet(*command)).json()["pictures"][0]["top"]
        plain, calibrated = top(DEMO_RECIPE), top(self.recipe)
        self.assertEqual([entry["index"] for entry in plain], [entry["index"] for entry in calibrated])
        self.assertLess(calibrated[0]["score"], plain[0]["score"])

    def test_folders_are_labels_too(self):
        sort_by_label(self.pictures, self.folder / "by label")
        by_list = self.assert_done(self.calibrate(self.pictures, "--json")).json()
        strange = self.folder / "by label" / "squirrel"
        strange.mkdir()
        shutil.copy(next(self.pictures.glob("*.png")), strange)
        by_folder = self.assert_done(self.calibrate(self.folder / "by label", "--json", "--force")).json()
        self.assertEqual((by_folder["pictures"], by_folder["unknown_label"]), (270, 1))
        self.assertAlmostEqual(by_folder["temperature"], by_list["temperature"], delta=1e-3)

    def test_what_says_nothing_of_a_temperature_is_refused(self):
        self.assert_done(self.calibrate(self.pictures))
        self.assert_refused(self.calibrate(self.pictures), 73, "exists", hint="--force")
        few = self.folder / "few"
        self.assert_done(kinglet("demo-frames", "--out", few, "--count", 9))
        self.assert_refused(self.calibrate(few, "--force"), 65, "9 pictures", "at least 20")
        easy = self.folder / "easy"
        self.assert_done(kinglet("demo-frames", "--out", easy, "--count", 27, "--size", "320x240"))
        self.assert_refused(self.calibrate(easy, "--force"), 65, "wrong on 0 of 27", hint="add pictures")
        self.assert_refused(self.calibrate(self.folder / "none", "--force"), 66, "none")
        self.assert_refused(kinglet("calibrate", DEMO, "--labels", DEMO_LABELS), 64, "folder", "--visits")


CONFIRMED, CORRECTED, NOT_A_BIRD, UNKNOWN = 1, 2, 3, 4
WRONG_NAME = "a-wren-that-the-model-said"


class CalibrateByReviews(CliTest):
    """The history of a feeder whose owner has judged each visit. Rows by SQLite itself; the pictures are drawn ones."""

    def setUp(self):
        super().setUp()
        pictures = self.folder / "pictures"
        self.assert_done(kinglet("demo-frames", "--out", pictures, "--count", 270, "--size", "64x48"))
        self.pictures = pictures
        self.state = self.folder / "state"
        self.state.mkdir()
        (self.state / "kinglet.db").touch()
        self.settings = self.file("kinglet.toml", 'time.zone = "UTC"\n')
        self.assert_done(kinglet("store", "prune", "--path", self.state, "--config", self.settings))
        self.recipe = self.folder / "calibrated.json"

    def seen(self):
        with open(self.pictures / "labels.csv", encoding="utf-8") as file:
            return [(row["file"], row["label"].lower().replace(" ", "-")) for row in csv.DictReader(file)]

    def add(self, number, picture, verdict, said, truth=""):
        """A visit that the model called `said`; `picture`: the part of the frame that it saw, None for one that is gone."""
        name = "vis_" + format(number, "026d")
        if picture is not None:
            place = self.state / "pictures" / name[-1]
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.pictures / picture, place / f"{name}.crop.jpg")
        with closing(sqlite3.connect(self.state / "kinglet.db")) as database, database:
            database.execute(
                "INSERT INTO visits(seq, id, change, open, source, started_ms, duration_ms, clock_synced, day, hour, counted_as,"
                " species_id, score, frames_seen, frames_agreeing, top, model_name, model_digest, unusual, best_prediction, crop_x,"
                " crop_y, crop_width, crop_height, verdict, review_species_id, crop_bytes) VALUES(?, ?, 1, 0, 'feeder',"
                " 1777896000000, 30000, 1, '2026-05-04', 12, ?, ?, 0.9, 10, 9, '[]', 'model', 'sha256:9f', 0, 'prd_1', 0, 0, 64,"
                " 48, ?, ?, ?)", (number, name, said, said, verdict, truth, 0 if picture is None else 100))

    def add_all(self):
        for number, (picture, label) in enumerate(self.seen(), 1):
            if label == "background":
                self.add(number, picture, NOT_A_BIRD, WRONG_NAME)
            elif number % 2:
                self.add(number, picture, CONFIRMED, label)
            else:
                self.add(number, picture, CORRECTED, WRONG_NAME, label)

    def calibrate(self, *flags, recipe=DEMO_RECIPE, state=None):
        return kinglet("calibrate", DEMO, "--visits", "--path", state or self.state, "--config", self.settings, "--labels",
                       DEMO_LABELS, "--recipe", recipe, "-o", self.recipe, "--force", *flags)

    def test_what_a_person_said_of_visits_gives_the_temperature_of_the_same_pictures_in_folders(self):
        self.add_all()
        by_folder = self.assert_done(kinglet("calibrate", DEMO, self.pictures, "--labels", DEMO_LABELS, "--recipe", DEMO_RECIPE,
                                             "-o", self.folder / "by_folder.json", "--json")).json()
        by_visits = self.assert_done(self.calibrate("--json")).json()
        for report in (by_folder, by_visits):
            report.pop("recipe")
        self.assertEqual(by_visits, by_folder)
        self.assertEqual(json.loads(self.recipe.read_text())["temperature"], by_visits["temperature"])

    def test_the_kept_picture_is_what_the_model_saw_and_is_not_cropped_again(self):
        self.add_all()
        whole = self.assert_done(self.calibrate("--json")).json()
        cropping = self.folder / "cropping.json"
        cropping.write_text(json.dumps({**json.loads(DEMO_RECIPE.read_text()), "resize_mode": "center_crop"}))
        self.assertEqual(self.assert_done(self.calibrate("--json", recipe=cropping)).json(), whole)

    def test_reviews_that_say_nothing_and_pictures_that_are_gone_are_told_and_left_out(self):
        self.add_all()
        plain = self.assert_done(self.calibrate("--json")).json()
        picture, label = self.seen()[0]
        self.add(1001, picture, UNKNOWN, label)
        self.add(1002, None, CONFIRMED, label)
        self.add(1003, picture, 0, label)  # not reviewed
        self.add(1004, picture, CORRECTED, label, "a-bird-that-the-model-does-not-know")
        ended = self.assert_done(self.calibrate("--json"))
        self.assertEqual(ended.json(), {**plain, "unknown_label": 1})
        self.assertIn("1 reviewed visits have no picture any more", ended.err)
        self.assertIn("1 reviewed visits say nothing", ended.err)

    def test_without_enough_reviews_it_says_what_to_do(self):
        self.assert_refused(self.calibrate(), 65, "0 reviewed visits", "at least 20", hint="review more visits")
        self.assert_refused(self.calibrate(state=self.folder / "none"), 66, "no history", hint="--path")
        self.assertFalse(self.recipe.exists())


if __name__ == "__main__":
    main()
