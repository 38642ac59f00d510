# SPDX-License-Identifier: Apache-2.0
"""What people measured by hand before they trusted a smaller model, as one command each: nine kinds of birds, the same
pictures wrong before and after; the table of sizes of float, dynamic and static int8."""
from support import DEMO, CliTest, kinglet, main

PICTURES = 45  # as many as the bird classifier of that article had


class Experiments(CliTest):
    def setUp(self):
        super().setUp()
        self.pictures = self.folder / "pictures"  # small ones, so that some answers are wrong
        self.assert_done(kinglet("demo-frames", "--seed", "9", "--count", PICTURES, "--size", "40x32", "--out", self.pictures))

    def compared(self, model):
        return self.assert_done(kinglet("compare", DEMO, model, "--images", self.pictures, "--json")).json()

    def test_the_same_pictures_are_wrong_before_and_after_optimisation(self):
        optimized = self.folder / "optimized.onnx"
        self.assert_done(kinglet("optimize", DEMO, "-o", optimized))
        judgement = self.compared(optimized)["judgement"]
        self.assertEqual(judgement["labelled"], PICTURES)
        self.assertLess(judgement["right_before"], PICTURES, "no picture is wrong: the comparison says nothing")
        self.assertGreater(judgement["right_before"], PICTURES // 3)
        self.assertEqual(judgement["right_after"], judgement["right_before"])
        self.assertEqual(judgement["changed"], [])

    def test_float_dynamic_and_static_in_one_table(self):
        forms = {"dynamic": ["--dynamic"], "float16": ["--fp16"], "static": ["--images", self.pictures]}
        table = {"float": (DEMO.stat().st_size, None)}
        for name, options in forms.items():
            model = self.folder / f"{name}.onnx"
            self.assert_done(kinglet("quantize", DEMO, "-o", model, *options))
            found = self.compared(model)
            self.assertEqual(found["after"]["size_bytes"], model.stat().st_size)
            table[name] = (model.stat().st_size, found["judgement"])
        for name, (size, judgement) in table.items():
            print(name, size, "bytes", "" if judgement is None else f"{judgement['right_after']} of {PICTURES} right")
        sizes = [table[name][0] for name in ("float", "dynamic", "float16", "static")]
        self.assertEqual(sizes, sorted(sizes, reverse=True))
        for name in forms:
            judgement = table[name][1]
            self.assertGreaterEqual(judgement["right_after"], judgement["right_before"] - 2, name)


if __name__ == "__main__":
    main()
