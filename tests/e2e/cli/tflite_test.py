# SPDX-License-Identifier: Apache-2.0
"""A classifier of TensorFlow Lite becomes ONNX that answers alike."""
import json
import unittest
import zipfile

from support import CORPUS, HAVE_CORPUS, SOURCE_DIR, CliTest, kinglet, main

SMALL = SOURCE_DIR / "tests/fuzz/corpus/tflite/small_classifier.tflite"


class Convert(CliTest):
    def test_a_small_one_runs_in_integers_with_its_recipe(self):
        out = self.folder / "small.onnx"
        self.assert_done(kinglet("convert", SMALL, "-o", out))
        seen = self.assert_done(kinglet("inspect", out, "--json")).json()
        self.assertEqual(seen["preprocess"]["mean"], [128, 128, 128])
        self.assertEqual(seen["preprocess_from"], "in the model")
        self.assertEqual(seen["plan"]["fallback_nodes"], [])
        self.assertEqual(seen["operators"]["Conv"], 2)
        again = self.folder / "again.onnx"
        self.assert_done(kinglet("convert", SMALL, "-o", again))
        self.assertEqual(again.read_bytes(), out.read_bytes())

    def test_labels_behind_the_model_go_into_the_file(self):
        with_labels, out = self.file("bird.tflite", SMALL.read_bytes()), self.folder / "bird.onnx"
        with zipfile.ZipFile(with_labels, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("labels.txt", "wren\nrobin\nnone\n")
        done = self.assert_done(kinglet("convert", with_labels, "-o", out))
        self.assertIn("3 labels from labels.txt, which was in the model", done.err)
        self.assertEqual(self.assert_done(kinglet("inspect", out, "--json")).json()["labels"]["count"], 3)

    def test_a_damaged_one_is_refused(self):
        cut = self.file("cut.tflite", SMALL.read_bytes()[:1000])
        self.assert_refused(kinglet("convert", cut, "-o", self.folder / "out.onnx"), 65, cut, "damaged")
        self.assertFalse((self.folder / "out.onnx").exists())

    def test_the_bird_model_answers_as_the_corpus_has_it(self):
        if not HAVE_CORPUS:
            self.skipTest("no corpus of models and photographs (../shared/corpus or KINGLET_CORPUS)")
        out = self.folder / "bird.onnx"
        labels = CORPUS / "labels/inat_bird_965.txt"
        self.assert_done(kinglet("convert", CORPUS / "tflite/mobilenet_v2_1.0_224_inat_bird_quant.tflite", "-o", out,
                                 "--labels", labels))
        recipe = self.file("bird.recipe.json", json.dumps({"mean": [128] * 3, "std": [128] * 3, "resize_mode": "stretch"}))
        found = self.assert_done(kinglet("compare", CORPUS / "models/bird_mobilenetv2_u8_qdq.onnx", out, "--images",
                                         CORPUS / "photos", "--recipe", recipe, "--labels", labels, "--json")).json()
        judgement = found["judgement"]
        self.assertGreater(judgement["pictures"], 30)
        self.assertEqual(judgement["same_top1"], judgement["pictures"])
        self.assertLess(judgement["max_score_error"], 1e-6)


if __name__ == "__main__":
    main()
