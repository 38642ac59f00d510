# SPDX-License-Identifier: Apache-2.0
"""Real models on real photographs by `kinglet classify`, with recipe files as a user writes them."""
import json
import sys

from support import CORPUS, HAVE_CORPUS, CliTest, kinglet, main

# Float models name what ONNX Runtime names; quantised ones where the picture's answer is firm.
SCORE_LIMIT = {"fp32": 0.01, "qdq": 0.1}


class Photos(CliTest):
    @classmethod
    def setUpClass(cls):
        cls.corpus = json.loads((CORPUS / "corpus.json").read_text())
        cls.expected = json.loads((CORPUS / "expected_top1.json").read_text())

    def recipe(self, entry):
        how = entry["preprocess"]
        return self.file("recipe.json", json.dumps({"resize_mode": "stretch", "mean": how["mean"], "std": how["std"],
                                                    "color_order": "rgb", "output": "probabilities"}))

    def classify(self, entry, *pictures, recipe=None):
        return kinglet("classify", CORPUS / entry["file"], *pictures, "--labels", CORPUS / entry["labels"], "--recipe",
                       recipe or self.recipe(entry), "--top", 1, "--json")

    def assert_names(self, entry):
        expected = self.expected[entry["file"]]
        ended = self.assert_done(self.classify(entry, *(CORPUS / name for name in expected)))
        answers = {picture["file"]: picture["top"][0] for picture in ended.json()["pictures"]}
        quantised = "qdq" in entry["file"]
        limit = SCORE_LIMIT["qdq" if quantised else "fp32"]
        named = 0
        for name, wanted in expected.items():
            top = answers[str(CORPUS / name)]
            if quantised and not wanted.get("firm", False):
                continue
            named += 1
            self.assertEqual(top["label"], wanted["top1"], name)
            self.assertAlmostEqual(top["score"], wanted["p"], delta=limit, msg=name)
        self.assertGreater(named, 0)
        print(f"{entry['file']}: {named} of {len(expected)} pictures named as expected", file=sys.stderr)

    def test_every_model_names_what_the_reference_names(self):
        for entry in self.corpus["models"]:
            with self.subTest(model=entry["file"]):
                self.assert_names(entry)

    def bird(self):
        return next(m for m in self.corpus["models"] if m["file"].endswith("bird_mobilenetv2_fp32.onnx"))

    def test_a_wrong_recipe_shows_in_the_score(self):
        owl = CORPUS / next(name for name in self.expected[self.bird()["file"]] if "macaw" in name)
        right = self.classify(self.bird(), owl).json()["pictures"][0]["top"][0]["score"]
        wrong = self.file("wrong.json", '{"mean": [0, 0, 0], "std": [255, 255, 255], "color_order": "bgr"}')
        self.assertLess(self.classify(self.bird(), owl, recipe=wrong).json()["pictures"][0]["top"][0]["score"], right)

    def test_what_is_no_bird_is_no_answer_and_a_bird_is(self):
        pictures = [CORPUS / "photos" / name
                    for name in ("lion.jpg", "hot_dog.jpg", "empty_night.jpg", "house_sparrow_150.jpg")]
        outcomes = [picture["outcome"] for picture in self.classify(self.bird(), *pictures).json()["pictures"]]
        self.assertNotIn("accepted", outcomes[:3])
        self.assertEqual(outcomes[3], "accepted")

    def test_every_awkward_file_is_decoded_as_it_should_be_or_refused_in_one_line(self):
        decoded = refused = 0
        for photo in self.corpus["photos"]:
            with self.subTest(photo=photo["file"]):
                path = CORPUS / photo["file"]
                ended = self.classify(self.bird(), path)
                if photo["decoded"] is None:
                    refused += 1
                    self.assertEqual(ended.code, 65, ended)
                    self.assertEqual(len(ended.err.splitlines()), 1, ended)
                    self.assertIn(str(path), json.loads(ended.err)["detail"])
                    continue
                decoded += 1
                self.assert_done(ended)
                size = ended.json()["pictures"][0]["input"]
                self.assertEqual([size["width_px"], size["height_px"]], photo["decoded"]["size"])
        self.assertEqual((decoded, refused), (41, 3))

    def test_turned_pictures_are_said_to_be_turned(self):
        for number in (2, 3, 6, 8):
            photo = next(p["file"] for p in self.corpus["photos"] if f"exif{number}_" in p["file"])
            answer = self.assert_done(self.classify(self.bird(), CORPUS / photo)).json()["pictures"][0]
            self.assertTrue(answer["input"]["orientation_applied"], photo)


if __name__ == "__main__":
    if not HAVE_CORPUS:
        print("SKIPPED: no corpus of models and photographs (../shared/corpus or KINGLET_CORPUS)")
        sys.exit(77)
    main()
