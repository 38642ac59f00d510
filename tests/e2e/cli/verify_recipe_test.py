# SPDX-License-Identifier: Apache-2.0
"""`kinglet verify MODEL --recipe`: what the usual mistakes change, and that a wrong recipe is told from the right one."""
import csv
import json
import shutil
import unittest

from support import CORPUS, DEMO, HAVE_CORPUS, CliTest, kinglet, main, sort_by_label

MISTAKES = {"channels_swapped", "range_0_1", "range_-1_1", "range_0_255", "range_imagenet", "stretched", "cropped",
            "antialias_off", "antialias_on", "exif_ignored", "layout_swapped"}


class OfTheDemonstration(CliTest):
    def setUp(self):
        super().setUp()
        self.frames = self.folder / "frames"
        self.assert_done(kinglet("demo-frames", "--seed", 2000, "--count", 18, "--size", "320x240", "--out", self.frames))

    def verify(self, *arguments):
        return kinglet("verify", DEMO, "--images", self.frames, *arguments)

    def test_the_right_recipe_stands_and_mistakes_show(self):
        answer = self.assert_done(self.verify("--recipe", "--json")).json()
        self.assertEqual((answer["pictures"], answer["labelled"], answer["better"]), (18, 18, []))
        self.assertEqual(answer["verdict"], "stands")
        self.assertIn("\nthe recipe stands: on 18 pictures ", self.assert_done(self.verify("--recipe")).text())
        self.assertGreater(answer["right_ratio"], 0.9)
        self.assertEqual(answer["recipe"]["mean"], [127.5, 127.5, 127.5])
        self.assertTrue(answer["recipe_from"].endswith("kinglet-demo.recipe.json"))
        mistakes = {row["name"]: row for row in answer["mistakes"]}
        # What the recipe says already is no mistake: it stretches, from -1 to 1, with antialias.
        self.assertEqual(set(mistakes), MISTAKES - {"range_-1_1", "stretched", "antialias_on"})
        for name in ("channels_swapped", "range_0_255", "layout_swapped"):
            self.assertGreater(mistakes[name]["top1_changed"], 3, name)
            self.assertLess(mistakes[name]["score_change"], -0.05, name)
            self.assertLess(mistakes[name]["right_ratio"], answer["right_ratio"], name)
        self.assertEqual(mistakes["exif_ignored"]["top1_changed"], 0)  # these pictures have none
        self.assertEqual(mistakes["exif_ignored"]["score_change"], 0)

    def test_a_wrong_recipe_is_accused_and_ends_with_1(self):
        ended = self.assert_done(self.verify("--recipe", self.file("wrong.json", '{"preset": "ultralytics"}')), 1)
        self.assertRegex(ended.text(), r"pixels as -1 to 1 .* %  right\n")
        verdict = ended.text().splitlines()[-1]
        self.assertTrue(verdict.startswith("the recipe is probably wrong: the model is clearly "), verdict)
        self.assertIn("more often right with pixels as -1 to 1", verdict)
        answer = self.assert_done(self.verify("--recipe", self.folder / "wrong.json", "--json"), 1).json()
        self.assertIn("range_-1_1", answer["better"])
        self.assertEqual((answer["verdict"], answer["verdict_text"]), ("wrong", verdict))

    def test_a_preset_is_a_recipe_and_a_misspelt_one_is_told(self):
        answer = self.assert_done(self.verify("--recipe", "tflite-float", "--json")).json()
        self.assertEqual(answer["recipe_from"], "tflite-float")
        self.assert_refused(self.verify("--recipe", "tflite-flaot"), 66, "tflite-flaot", hint="tflite-float")

    def test_the_model_may_stand_behind_the_option(self):
        behind = self.assert_done(kinglet("verify", "--recipe", DEMO, "--images", self.frames, "--json")).json()
        self.assertEqual(behind, self.assert_done(self.verify("--recipe", "--json")).json())

    def test_folders_are_labels_too(self):
        sort_by_label(self.frames, self.folder / "by label")
        (self.folder / "by label" / "squirrel").mkdir()
        shutil.copy(self.frames / "frame_000000.png", self.folder / "by label" / "squirrel")
        command = ("verify", DEMO, "--recipe", "--images", self.folder / "by label", "--json")
        ended = self.assert_done(kinglet(*command))
        self.assertEqual((ended.json()["pictures"], ended.json()["labelled"]), (19, 18))
        self.assertIn("1 pictures have labels that the model does not know", ended.err)

    def test_few_pictures_accuse_nobody(self):
        one = self.frames / "frame_000000.png"
        ended = self.assert_done(kinglet("verify", DEMO, "--recipe", "ultralytics", "--images", one, "--json"))
        self.assertEqual((ended.json()["pictures"], ended.json()["better"], ended.json()["verdict"]), (1, [], "undecided"))
        self.assertIn("\nundecided: 1 picture, at least 5 are needed",
                      self.assert_done(kinglet("verify", DEMO, "--recipe", "ultralytics", "--images", one)).text())

    def test_a_bad_picture_is_told_and_left_out(self):
        bad = self.file("bad.png", b"no picture")
        ended = self.assert_done(kinglet("verify", DEMO, "--recipe", "--json", "--images", self.frames, bad))
        self.assertEqual(ended.json()["pictures"], 18)
        self.assertIn("bad.png", ended.err)
        self.assert_refused_after_a_warning(kinglet("verify", DEMO, "--recipe", "--images", bad), 65)

    def assert_refused_after_a_warning(self, ended, code):
        self.assertEqual(ended.code, code, ended)
        self.assertIn("no picture could be used", ended.err)

    def test_without_pictures_or_model_it_says_how(self):
        self.assert_refused(kinglet("verify", DEMO, "--recipe"), 64, "--images", hint="kinglet verify bird.onnx --recipe")
        self.assert_refused(kinglet("verify", "--images", self.frames, "--recipe"), 64, "a model")


@unittest.skipUnless(HAVE_CORPUS, "no corpus of models and photographs (../shared/corpus or KINGLET_CORPUS)")
class OfRealModels(CliTest):
    @classmethod
    def setUpClass(cls):
        cls.corpus = json.loads((CORPUS / "corpus.json").read_text())

    def verify(self, model, recipe):
        entry = next(m for m in self.corpus["models"] if model in m["file"])
        pictures = [CORPUS / p["file"] for p in self.corpus["photos"] if p["decoded"] and p["accept"].get(entry["vocabulary"])]
        self.assertGreater(len(pictures), 15)
        command = ("verify", CORPUS / entry["file"], "--recipe", self.file("r.json", json.dumps(recipe)), "--images")
        return kinglet(*command, *pictures, "--json")

    def test_the_recipe_of_the_corpus_stands(self):
        answer = self.assert_done(self.verify("bird_mobilenetv2_fp32", {"mean": 128, "std": 128})).json()
        self.assertEqual((answer["labelled"], answer["better"]), (0, []))

    def test_wrong_recipes_are_accused(self):
        for wrong in ({"preset": "ultralytics", "resize_mode": "stretch"}, {"mean": 128, "std": 128, "color_order": "bgr"}):
            answer = self.assert_done(self.verify("bird_mobilenetv2_fp32", wrong), 1).json()
            right = "channels_swapped" if "color_order" in wrong else "range_-1_1"
            self.assertIn(right, answer["better"])

    def test_labels_that_the_wrong_recipe_still_gets_right_do_not_hide_it(self):
        entry = next(m for m in self.corpus["models"] if "bird_mobilenetv2_fp32" in m["file"])
        folder = self.folder / "by label"
        for picture in self.corpus["photos"]:
            names = picture["accept"].get(entry["vocabulary"])
            if picture["decoded"] and names:
                (folder / names[0]).mkdir(parents=True, exist_ok=True)
                shutil.copy(CORPUS / picture["file"], folder / names[0])
        recipe = self.file("r.json", json.dumps({"resize_mode": "stretch"}))
        labels = CORPUS / "labels" / "inat_bird_965.txt"
        answer = self.assert_done(kinglet("verify", CORPUS / entry["file"], "--recipe", recipe, "--labels", labels,
                                          "--images", folder, "--json"), 1).json()
        self.assertGreater(answer["labelled"], 15)
        self.assertIn("range_-1_1", answer["better"])

    def test_turned_pictures_are_counted(self):
        answer = self.verify("bird_mobilenetv2_fp32", {"mean": 128, "std": 128}).json()
        self.assertGreaterEqual(answer["turned_by_exif"], 3)
        exif = next(row for row in answer["mistakes"] if row["name"] == "exif_ignored")
        self.assertLess(exif["score_change"], 0)


if __name__ == "__main__":
    main()
