# SPDX-License-Identifier: Apache-2.0
"""`kinglet calibrate`: the temperature of the demonstration model on pictures that are hard for it."""
import csv
import json
import shutil
import unittest

from support import DEMO, DEMO_LABELS, DEMO_RECIPE, CliTest, kinglet, main


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
        with open(self.pictures / "labels.csv", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                folder = self.folder / "by label" / row["label"]
                folder.mkdir(parents=True, exist_ok=True)
                shutil.copy(self.pictures / row["file"], folder)
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


if __name__ == "__main__":
    main()
