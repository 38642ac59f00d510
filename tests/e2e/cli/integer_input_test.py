# SPDX-License-Identifier: Apache-2.0
"""Models with an 8-bit input: pixels become its integers in one go, and the answers are those of the model in floats
that quantises its input itself."""
import json
import math

from support import CliTest, kinglet, main, png
from made_files import FLOAT, INT8, UINT8, channel_means  # after support, which finds it

SCALE = 0.0157  # of no recipe here makes a half of a step: XNNPACK multiplies by 1 / SCALE, so that halves differ
STEPS = {UINT8: 128, INT8: -1}


class IntegerInput(CliTest):
    def scores(self, model, picture, *arguments):
        ended = self.assert_done(kinglet("classify", model, picture, "--top", 3, "--json", "-q", *arguments))
        return {entry["index"]: entry["score"] for entry in ended.json()["pictures"][0]["top"]}

    def test_the_models_own_steps_give_what_the_float_model_gives(self):
        frames = self.folder / "frames"
        self.assert_done(kinglet("demo-frames", "--count", 6, "--size", "64x48", "--out", frames))
        for kind, zero_point in STEPS.items():
            integers = self.file(f"integers{kind}.onnx", channel_means(kind, SCALE, zero_point))
            floats = self.file(f"floats{kind}.onnx", channel_means(FLOAT, SCALE, zero_point, quantised=kind))
            for recipe in ("tflite-float", "torchvision", "keras-resnet"):
                for picture in sorted(frames.glob("*.png")):
                    with self.subTest(kind=kind, recipe=recipe, picture=picture.name):
                        self.assertEqual(self.scores(integers, picture, "--recipe", recipe),
                                         self.scores(floats, picture, "--recipe", recipe))

    def soft_max(self, values):
        powers = [math.exp(value) for value in values]
        return {index: power / sum(powers) for index, power in enumerate(powers)}

    def assert_scores(self, found, values):
        for index, score in self.soft_max(values).items():
            self.assertAlmostEqual(found[index], score, places=5)

    def test_without_a_recipe_pixels_go_in_as_they_are(self):
        picture = self.file("p.png", png(16, 16, (200, 100, 51)))
        unsigned = self.file("unsigned.onnx", channel_means(UINT8, 1 / 64, 0))
        self.assert_scores(self.scores(unsigned, picture), [200 / 64, 100 / 64, 51 / 64])
        signed = self.file("signed.onnx", channel_means(INT8, 1 / 64, -128))
        self.assert_scores(self.scores(signed, picture), [200 / 64, 100 / 64, 51 / 64])
        ended = self.assert_done(kinglet("classify", signed, picture))
        self.assertIn("no recipe: pixels go in as they are", ended.err)

    def test_the_recipes_steps_come_before_the_models(self):
        picture = self.file("p.png", png(16, 16, (200, 100, 51)))
        recipe = self.file("r.json", json.dumps({"mean": 0, "std": 1, "scale": 2, "zero_point": 10}))
        model = self.file("m.onnx", channel_means(UINT8, 1 / 64, 0))
        # round(x / 2) + 10; 25.5 is halfway and goes to the even 26.
        self.assert_scores(self.scores(model, picture, "--recipe", recipe), [110 / 64, 60 / 64, 36 / 64])

    def test_an_8_bit_output_is_read_with_its_steps(self):
        picture = self.file("p.png", png(16, 16, (192, 64, 0)))
        for output in (UINT8, INT8):
            model = self.file(f"out{output}.onnx", channel_means(UINT8, 1 / 128, 0, output=output))
            self.assert_scores(self.scores(model, picture), [1.5, 0.5, 0])

    def test_a_zero_point_that_does_not_fit_is_refused(self):
        picture = self.file("p.png", png())
        model = self.file("m.onnx", channel_means(UINT8, 1 / 64, 0))
        self.assert_refused(kinglet("classify", model, picture, "--recipe", "tflite-int8", "-q"), 65, "m.onnx",
                            "zero_point -128 does not fit the model's u8 input")

    def test_verify_compares_such_models(self):
        one = self.file("one.onnx", channel_means(UINT8, 1 / 64, 0, output=UINT8))
        other = self.file("other.onnx", channel_means(UINT8, 1 / 60, 0, output=UINT8))
        self.assert_done(kinglet("verify", one, one))
        self.assert_done(kinglet("verify", one, other), 1)


if __name__ == "__main__":
    main()
