# SPDX-License-Identifier: Apache-2.0
"""What quantize makes of the demonstration model, and what compare says of it."""
import json

from support import DEMO, CliTest, kinglet, main


class Quantize(CliTest):
    def setUp(self):
        super().setUp()
        self.pictures = self.folder / "pictures"
        self.assert_done(kinglet("demo-frames", "--seed", "3", "--count", "24", "--out", self.pictures))
        self.out = self.folder / "int8.onnx"

    def quantize(self, *options):
        return kinglet("quantize", DEMO, "-o", self.out, "--images", self.pictures, "--json", *options)

    def test_the_result_is_small_and_names_the_same_birds(self):
        report = self.assert_done(self.quantize()).json()
        judgement = report["judgement"]
        self.assertEqual(judgement["pictures"], 24)
        self.assertEqual(judgement["labelled"], 24)
        self.assertGreaterEqual(judgement["right_after"], judgement["right_before"] - 1)
        self.assertLess(report["constant_bytes_after"], 0.4 * report["constant_bytes_before"])
        again = self.folder / "again.onnx"
        self.assert_done(kinglet("quantize", DEMO, "-o", again, "--images", self.pictures, "--json"))
        self.assertEqual(again.read_bytes(), self.out.read_bytes())

    def test_a_recording_calibrates_and_judges_as_well(self):
        recording = self.folder / "morning.kgr"
        self.assert_done(kinglet("record", "demo:3?fps=200", "--frames", 40, "--size", "320x240", "-o", recording))
        def run(command, *arguments):
            return self.assert_done(kinglet(command, DEMO, *arguments, "--images", recording, "--most-images", 20, "--json"))
        made = run("quantize", "-o", self.out)
        self.assertEqual(made.json()["judgement"]["pictures"], 20)
        self.assertNotIn("labelled", made.json()["judgement"])
        self.assertEqual(json.loads(self.properties(made)["kinglet.quantized"])["pictures"], 20)
        first = self.out.read_bytes()
        run("quantize", "-o", self.out, "--force")
        self.assertEqual(self.out.read_bytes(), first)
        self.assertEqual(run("compare", self.out).json()["judgement"]["pictures"], 20)

    def test_a_damaged_frame_of_a_recording_is_left_out_and_named(self):
        recording = self.folder / "morning.kgr"
        self.assert_done(kinglet("record", "demo:3?fps=200", "--frames", 40, "--size", "320x240", "-o", recording))
        content = bytearray(recording.read_bytes())
        content[len(content) // 2] ^= 0xff  # a pixel of one of the middle frames
        recording.write_bytes(content)
        ended = self.assert_done(kinglet("quantize", DEMO, "-o", self.out, "--images", recording, "--json"))
        self.assertEqual(ended.json()["judgement"]["pictures"], 39)
        self.assertRegex(ended.err, r"morning\.kgr, frame (19|20): the frame is damaged")

    def test_what_is_neither_folder_nor_recording_is_refused(self):
        refused = kinglet("quantize", DEMO, "-o", self.out, "--images", DEMO)
        self.assert_refused(refused, 65, "not a recording", hint="kinglet record")
        self.assert_refused(kinglet("quantize", DEMO, "-o", self.out, "--images", "/nowhere"), 66, "/nowhere",
                            hint="kinglet record")

    def test_the_file_has_its_recipe_and_runs_in_integers(self):
        self.assert_done(self.quantize())
        seen = self.assert_done(kinglet("inspect", self.out, "--json")).json()
        self.assertEqual(seen["preprocess_from"], "in the model")
        self.assertEqual(seen["plan"]["fallback_nodes"], [])
        self.assertEqual(seen["plan"]["float_nodes"], [])
        self.assertIn("QuantizeLinear", seen["operators"])

    def test_the_file_tells_which_pictures_it_was_calibrated_on(self):
        told = json.loads(self.properties(self.assert_done(self.quantize()))["kinglet.quantized"])
        self.assertEqual((told["from"], told["pictures"]), (DEMO.name, 24))
        next(self.pictures.glob("*.png")).unlink()
        other = json.loads(self.properties(self.assert_done(self.quantize("--force")))["kinglet.quantized"])
        self.assertRegex(told["pictures_digest"], "^sha256:[0-9a-f]{64}$")
        self.assertNotEqual(other["pictures_digest"], told["pictures_digest"])

    def properties(self, _ended):
        listed = self.folder / "int8.json"
        self.assert_done(kinglet("convert", self.out, "-o", listed, "--force"))
        return {row["key"]: row["value"] for row in json.loads(listed.read_text())["model"]["metadata_props"]}

    def test_compare_tells_size_answers_and_layers(self):
        self.assert_done(self.quantize())
        page = self.folder / "cost.html"
        found = self.assert_done(kinglet("compare", DEMO, self.out, "--images", self.pictures, "--html", page,
                                         "--json")).json()
        self.assertLess(found["after"]["size_bytes"], found["before"]["size_bytes"])
        self.assertGreater(len(found["layers"]), 3)
        self.assertTrue(all(row["signal_to_noise_db"] > 5 for row in found["layers"]), found["layers"])
        text = page.read_text()
        self.assertIn("<svg", text)
        self.assertNotIn("http", text)
        itself = self.assert_done(kinglet("compare", DEMO, DEMO, "--images", self.pictures, "--max-drop", "0",
                                          "--json")).json()
        self.assertEqual(itself["judgement"]["signal_to_noise_db"], 200)

    def test_half_precision_needs_no_pictures_and_keeps_the_answers(self):
        for form, options in (("weights", []), ("whole", ["whole"])):
            with self.subTest(form=form):
                out = self.folder / f"{form}.onnx"
                report = self.assert_done(kinglet("quantize", DEMO, "-o", out, "--json", "--fp16", *options)).json()
                self.assertEqual(report["form"], form)
                self.assertLess(out.stat().st_size, 0.6 * DEMO.stat().st_size)
                found = self.assert_done(kinglet("compare", DEMO, out, "--images", self.pictures, "--json")).json()
                self.assertEqual(found["judgement"]["same_top1"], 24)
                plan = self.assert_done(kinglet("inspect", out, "--json")).json()["plan"]
                self.assertEqual(plan["fallback_nodes"], [])

    def test_dynamic_rounds_the_matrix_product_alone(self):
        out = self.folder / "dynamic.onnx"
        report = self.assert_done(kinglet("quantize", DEMO, "-o", out, "--json", "--dynamic", "--images",
                                          self.pictures)).json()
        self.assertEqual((report["form"], report["layers"]), ("dynamic", 1))
        self.assertEqual(report["judgement"]["same_top1"], 24)
        seen = self.assert_done(kinglet("inspect", out, "--json")).json()
        self.assertEqual(seen["operators"]["MatMulInteger"], 1)
        self.assertEqual(seen["plan"]["fallback_nodes"], [])

    def test_a_drop_that_is_too_large_writes_nothing(self):
        for picture in self.pictures.glob("*.*"):  # answers of noise hang on every level
            if picture.suffix == ".csv":
                picture.unlink()
        ended = self.quantize("--max-drop", "0")
        report = ended.json()
        self.assertEqual(ended.code == 0, self.out.exists())
        self.assertEqual(ended.code, 0 if report["judgement"]["drop_percent"] <= 0 else 1)

    def test_layers_are_kept_by_name_and_a_wrong_name_is_told(self):
        conv = next(node["name"] for node in self.nodes() if node["op_type"] == "Conv")
        every = self.assert_done(self.quantize()).json()
        kept = self.assert_done(self.quantize("--force", "--keep-float", conv)).json()
        plan = self.assert_done(kinglet("inspect", self.out, "--json")).json()["plan"]
        self.assertEqual([(row["name"], row["reason"]) for row in plan["float_nodes"]], [(conv, "an input is not quantised")])
        self.assertIn("an input is not quantised", self.assert_done(kinglet("inspect", self.out)).text())
        self.assertEqual(kept["kept_float"], [conv])
        self.assertEqual(kept["layers"], every["layers"] - 1)
        wrong = conv[:-1] + "~"
        for form in ([], ["--dynamic"], ["--fp16"], ["--fp16", "whole"]):
            with self.subTest(form=form):
                self.assert_refused(kinglet("quantize", DEMO, "-o", self.out, "--images", self.pictures, "--force", *form,
                                            "--keep-float", wrong), 64, wrong,
                                    hint="inspect" if form == ["--dynamic"] else conv)

    def nodes(self):
        listed = self.folder / "demo.json"
        self.assert_done(kinglet("convert", DEMO, "-o", listed))
        return json.loads(listed.read_text())["model"]["graph"]["node"]

    def test_few_pictures_are_warned_about(self):
        ended = self.assert_done(self.quantize("--most-images", "5"))
        self.assertIn("5 pictures are few", ended.err)
        self.assertNotIn("are few", self.assert_done(self.quantize("--force")).err)

    def test_the_model_may_go_to_stdout(self):
        self.assert_done(self.quantize())
        piped = kinglet("quantize", DEMO, "-o", "-", "--images", self.pictures)
        self.assertEqual(piped.out, self.out.read_bytes())

    def test_bad_input_is_told_in_one_line(self):
        self.assert_refused(kinglet("quantize", DEMO, "-o", self.out, "--images", self.folder / "none"), 66, "none")
        empty = self.folder / "empty"
        empty.mkdir()
        self.assert_refused(kinglet("quantize", DEMO, "-o", self.out, "--images", empty), 66, "empty")
        (empty / "a.jpg").write_bytes(b"no picture")
        self.assert_refused(kinglet("quantize", DEMO, "-o", self.out, "--images", empty), 65, "empty")
        self.assert_refused(kinglet("quantize", DEMO, "-o", self.out, "--images", self.pictures, "--method", "kl"), 64, "kl")
        self.assert_done(self.quantize())
        self.assert_refused(kinglet("quantize", DEMO, "-o", self.out, "--images", self.pictures), 73, "exists")
        twice = self.folder / "twice.onnx"
        self.assert_refused(kinglet("quantize", self.out, "-o", twice, "--images", self.pictures), 65, "left to quantise")
        self.assertFalse(twice.exists())


if __name__ == "__main__":
    main()
