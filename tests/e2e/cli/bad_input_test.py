# SPDX-License-Identifier: Apache-2.0
"""Models, pictures, labels and recipes that are wrong: one line that names file, place, expectation and cure."""
import os
import unittest

from support import (DEMO, DEMO_LABELS, DEMO_RECIPE, CliTest, constant, kinglet, main, model, node, png, value_info)


class Models(CliTest):
    """Every command that opens a model refuses a wrong one the same way."""

    def commands(self, path):
        picture = self.file("picture.png", png())
        tensor = self.file("x.npy")
        return {
            "inspect": ("inspect", path),
            "classify": ("classify", path, picture),
            "run": ("run", path, "--input", f"image={tensor}"),
            "bench": ("bench", path, "--runs", 1),
            "optimize": ("optimize", path, "-o", self.folder / "out.onnx"),
            "verify first": ("verify", path, DEMO),
            "verify second": ("verify", DEMO, path),
        }

    def assert_all_refuse(self, path, code, *words, hint=None):
        for name, command in self.commands(path).items():
            with self.subTest(command=name):
                self.assert_refused(kinglet(*command), code, path, *words, hint=hint)
                self.assertFalse((self.folder / "out.onnx").exists())

    def test_an_empty_file(self):
        self.assert_all_refuse(self.file("empty.onnx"), 65, "is empty", "expected an ONNX model", hint="again")

    def test_a_file_that_is_not_there(self):
        self.assert_all_refuse(self.folder / "none.onnx", 66, "No such file", hint="path")

    def test_a_folder(self):
        path = self.folder / "models"
        path.mkdir()
        self.assert_all_refuse(path, 66, "is a folder")

    def test_a_text(self):
        self.assert_all_refuse(self.file("text.onnx", "this is no model\n" * 50), 65, "not an ONNX model",
                               hint="exported as ONNX")

    def test_a_picture(self):
        self.assert_all_refuse(self.file("picture.onnx", png(64, 64)), 65, "not an ONNX model")

    def test_a_web_page_in_its_place(self):
        self.assert_all_refuse(self.file("page.onnx", "<!DOCTYPE html><html>Not found</html>\n"), 65,
                               "not an ONNX model")

    def test_a_truncated_model(self):
        whole = DEMO.read_bytes()
        for length in (1, 10, 1000, len(whole) // 2, len(whole) - 1):
            with self.subTest(length=length):
                cut = self.file("cut.onnx", whole[:length])
                self.assert_refused(kinglet("inspect", cut), 65, cut, hint="")
        self.assert_all_refuse(self.file("half.onnx", whole[:len(whole) // 2]), 65, hint="whole")

    def test_a_pipe(self):
        path = self.folder / "pipe.onnx"
        os.mkfifo(path)
        self.assert_all_refuse(path, 66, "not a regular file")

    def test_weights_that_do_not_fit_the_input(self):
        path = self.file("wrong.onnx", model(
            [node("Conv", ["image", "w"], ["y"], "conv_3")], [value_info("image", [1, 3, 16, 16])],
            [value_info("y", [1, 8, 14, 14])], [constant("w", [8, 4, 3, 3])]))
        self.assert_all_refuse(path, 65, "conv_3", "Conv")

    def test_an_unknown_operator_names_every_node(self):
        nodes = [node("Frobnicate", ["image"], ["a"], "first"), node("Relu", ["a"], ["b"], "known"),
                 node("Defrobnicate", ["b"], ["y"], "second")]
        path = self.file("unknown.onnx", model(nodes, [value_info("image", [1, 3, 16, 16])],
                                               [value_info("y", [1, 3, 16, 16])]))
        self.assert_all_refuse(path, 65, "Frobnicate", "first", "Defrobnicate", "second")

    def test_an_input_that_is_no_picture(self):
        path = self.file("flat.onnx", model([node("Relu", ["x"], ["y"], "relu")], [value_info("x", [1, 12])],
                                            [value_info("y", [1, 12])]))
        ended = kinglet("classify", path, self.file("picture.png", png()))
        self.assert_refused(ended, 65, path, '"x"', "[1,12]", "expected one picture", hint="kinglet run")

    def test_an_output_that_is_no_row_of_scores(self):
        path = self.file("image.onnx", model([node("ArgMax", ["x"], ["y"], "best")], [value_info("x", [1, 3, 8, 8])],
                                             [value_info("y", [1, 3, 8, 8], kind=7)]))
        ended = kinglet("classify", path, self.file("picture.png", png()))
        self.assertEqual(ended.code, 65, ended)


class Pictures(CliTest):
    def classify(self, *pictures):
        return kinglet("classify", DEMO, *pictures)

    def test_zero_bytes(self):
        path = self.file("zero.jpg")
        self.assert_refused(self.classify(path), 65, path, "empty", hint="copy")

    def test_not_there(self):
        path = self.folder / "none.jpg"
        self.assert_refused(self.classify(path), 66, path, "No such file", hint="path")

    def test_a_text_with_a_picture_s_name(self):
        path = self.file("text.jpg", "hello")
        self.assert_refused(self.classify(path), 65, path, "not a JPEG or PNG", hint="convert")

    def test_truncated(self):
        path = self.file("cut.png", png(64, 64)[:60])
        self.assert_refused(self.classify(path), 65, path, "truncated")

    def test_an_empty_folder(self):
        self.assert_refused(self.classify(self.folder), 66, self.folder, "*.jpg")

    def test_standard_input_without_a_picture(self):
        self.assert_refused(kinglet("classify", DEMO, "-"), 65, "standard input", "empty")

    def test_a_bad_one_does_not_stop_the_others(self):
        good, bad, other = self.file("a.png", png()), self.file("b.png"), self.file("c.png", png())
        ended = self.classify(good, bad, other, "--top", 1)
        self.assertEqual(ended.code, 65, ended)
        self.assertIn(str(good), ended.text())
        self.assertIn(str(other), ended.text())
        self.assertEqual(ended.err.count("kinglet: "), 1, ended)

    def test_as_json(self):
        good, bad = self.file("a.png", png()), self.file("b.png")
        ended = self.classify(good, bad, "--json")
        self.assertEqual(ended.code, 65, ended)
        pictures = ended.json()["pictures"]
        self.assertIn("top", pictures[0])
        self.assertEqual(pictures[1]["problem"]["exit_code"], 65)


class LabelsAndRecipes(CliTest):
    def classify(self, *options):
        return kinglet("classify", DEMO, self.file("picture.png", png()), *options)

    def test_labels_that_are_not_there(self):
        path = self.folder / "none.txt"
        self.assert_refused(self.classify("--labels", path), 66, path, "No such file", hint="one label a line")

    def test_labels_that_do_not_fit(self):
        path = self.file("two.txt", "one\ntwo\n")
        self.assert_refused(self.classify("--labels", path), 65, path, "2 labels", "9 classes", hint="belongs")

    def test_empty_labels(self):
        path = self.file("empty.txt")
        self.assert_refused(self.classify("--labels", path), 65, path)

    def test_labels_that_are_not_text(self):
        path = self.file("bytes.txt", b"one\n\xff\xfe\n")
        self.assert_refused(self.classify("--labels", path), 65, path, "UTF-8")

    def test_a_blank_line_among_labels_is_told_with_its_line(self):
        path = self.file("blank.txt", "one\n\nthree\n")
        self.assert_refused(self.classify("--labels", path), 65, f"{path}:2")

    def test_a_recipe_that_is_not_there(self):
        path = self.folder / "none.json"
        self.assert_refused(self.classify("--recipe", path), 66, path)

    def test_a_recipe_with_a_misspelt_member(self):
        path = self.file("recipe.json", DEMO_RECIPE.read_text().replace("color_order", "colour_order"))
        self.assert_refused(self.classify("--recipe", path), 65, path, "colour_order", hint="color_order")

    def test_a_recipe_that_is_no_json(self):
        path = self.file("recipe.json", '{"mean": [1, 2,\n}')
        self.assert_refused(self.classify("--recipe", path), 65, f"{path}:2")

    def test_a_recipe_with_a_wrong_value(self):
        path = self.file("recipe.json", '{"std": [0, 1, 1]}')
        self.assert_refused(self.classify("--recipe", path), 65, path, "std")

    def test_the_wrong_file_beside_the_model_is_named(self):
        model_path = self.file("bird.onnx", DEMO.read_bytes())
        labels = self.file("bird.labels.txt", DEMO_LABELS.read_text() + "one too many\n")
        self.assert_refused(kinglet("classify", model_path, self.file("picture.png", png())), 65, labels, "10 labels")


class CommandLines(CliTest):
    def test_no_command(self):
        self.assert_refused(kinglet(), 64, "no command", hint="kinglet --help")

    def test_an_unknown_command(self):
        self.assert_refused(kinglet("clasify"), 64, "clasify", hint="classify")

    def test_a_misspelt_option(self):
        self.assert_refused(kinglet("classify", DEMO, "x.jpg", "--lables", "x"), 64, "--lables", hint="--labels")

    def test_a_value_out_of_range(self):
        self.assert_refused(kinglet("bench", DEMO, "--runs", 0), 64, "--runs")

    def test_a_missing_argument(self):
        self.assert_refused(kinglet("inspect"), 64, "MODEL", hint="kinglet inspect --help")

    def test_one_argument_too_many(self):
        self.assert_refused(kinglet("inspect", DEMO, DEMO), 64, "unexpected")

    def test_errors_as_json(self):
        ended = kinglet("inspect", "none.onnx", "--json")
        self.assertEqual(ended.code, 66)
        self.assertEqual(ended.out, b"")
        self.assertIn('"exit_code":66', ended.err)
        self.assertEqual(ended.err.count("\n"), 1)

    def test_names_with_control_characters_are_shown_harmless(self):
        ended = kinglet("inspect", "bad\x1b[31m\nname.onnx")
        self.assertEqual(ended.code, 66)
        self.assertNotIn("\x1b", ended.err)
        self.assertLessEqual(ended.err.count("\n"), 2)


class Configuration(CliTest):
    def check(self, text):
        return kinglet("config", "check", "--config", self.file("kinglet.toml", text))

    def test_a_misspelt_key_is_told_with_its_place_and_the_nearest_name(self):
        ended = self.check("[decide]\nmin_scor = 0.5\n")
        self.assert_refused(ended, 1, "kinglet.toml:2:1", "min_scor", hint="min_score")

    def test_a_misspelt_section(self):
        self.assert_refused(self.check("[htpp]\nlisten = []\n"), 1, "kinglet.toml:1:", "htpp", hint="http")

    def test_a_value_out_of_range(self):
        self.assert_refused(self.check("[decide]\nmin_score = 1.5\n"), 1, "kinglet.toml:2:", "min_score", "1.5", "0 to 1")

    def test_a_value_of_another_type(self):
        self.assert_refused(self.check('[inference]\nthreads = "many"\n'), 1, "kinglet.toml:2:", "threads", "many")

    def test_text_that_is_no_toml(self):
        self.assert_refused(self.check("[decide\n"), 1, "kinglet.toml:1:")

    def test_all_faults_at_once(self):
        ended = self.check("[decide]\nmin_scor = 0.5\nmin_margin = 7\n")
        self.assertEqual(ended.code, 1)
        self.assertEqual(ended.err.count("kinglet: "), 2, ended)

    def test_as_json(self):
        path = self.file("kinglet.toml", "[decide]\nmin_scor = 0.5\n")
        answer = self.assert_done(kinglet("config", "check", "--config", path, "--json"), 1).json()
        self.assertFalse(answer["valid"])
        self.assertIn("kinglet.toml:2:1", answer["errors"][0]["where"])
        self.assertIn("min_score", answer["errors"][0]["hint"])

    def test_a_file_that_is_not_there(self):
        self.assert_refused(kinglet("config", "check", "--config", "/nowhere/k.toml"), 66, "/nowhere/k.toml")

    def test_a_variable_that_is_no_key(self):
        ended = kinglet("config", "check", "--config", self.file("kinglet.toml"), env={"KINGLET_HTTP__LISTN": "x"})
        self.assert_refused(ended, 1, "KINGLET_HTTP__LISTN", hint="KINGLET_HTTP__LISTEN")

    def test_an_assignment_that_is_no_key(self):
        ended = kinglet("config", "check", "--config", self.file("kinglet.toml"), "--set", "http.listn=x")
        self.assert_refused(ended, 1, "http.listn", hint="http.listen")


if __name__ == "__main__":
    main()
