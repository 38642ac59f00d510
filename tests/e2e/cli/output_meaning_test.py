# SPDX-License-Identifier: Apache-2.0
"""What a model's output means is decided at load and shown by `inspect`; `classify` gives ONNX Runtime's numbers, read so."""
import json
import unittest

from oracle import (TensorProto, floats, helper, np, numpy_helper, run, save, tensor)
from support import CORPUS, DEMO, HAVE_CORPUS, CliTest, kinglet, main, png

COLOUR = (200, 40, 120)
CLASSES = 5


def numbers(name, values, kind=np.int64):
    return numpy_helper.from_array(np.array(values, kind), name)


def make(path, tail, outputs, weights=(), opset=17):
    """Five logits out of a picture of 8x8, and what `tail` makes of them. `outputs`: (name, shape, type)."""
    nodes = [helper.make_node("Conv", ["image", "w1"], ["map"], "conv", pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["map"], ["r"], "relu"),
             helper.make_node("GlobalAveragePool", ["r"], ["pooled"], "pool"),
             helper.make_node("Flatten", ["pooled"], ["features"], "flatten"),
             helper.make_node("Gemm", ["features", "w2"], ["logits"], "fc"), *tail]
    head = [floats("w1", [8, 3, 3, 3], 1), numpy_helper.from_array(
        np.random.default_rng(5).standard_normal((8, CLASSES)).astype(np.float32) * 4, "w2")]
    return save(path, nodes, [tensor("image", [1, 3, 8, 8])], [tensor(*output) for output in outputs], [*head, *weights],
                opset)


def soft_max(x):
    powers = np.exp(x - x.max())
    return powers / powers.sum()


class Meaning(CliTest):
    def setUp(self):
        super().setUp()
        self.picture = self.file("p.png", png(8, 8, COLOUR))

    def model(self, *what, **named):
        return make(self.folder / "m.onnx", *what, **named)

    def oracle(self, model):
        image = np.broadcast_to(np.array(COLOUR, np.float32)[None, :, None, None] / 255, (1, 3, 8, 8))
        return {name: np.asarray(value) for name, value in run(model, {"image": np.ascontiguousarray(image)}).items()}

    def scores(self, model, *arguments):
        ended = self.assert_done(kinglet("classify", model, self.picture, "--top", CLASSES, "--json", *arguments))
        top = ended.json()["pictures"][0]["top"]
        scores = np.zeros(CLASSES)
        for entry in top:
            scores[entry["index"]] = entry["score"]
        return scores, top

    def output(self, model, *arguments):
        return self.assert_done(kinglet("inspect", model, "--json", *arguments)).json()["output"]

    def check(self, model, meaning, by, expected, tolerance=1e-5):
        self.assertEqual((self.output(model)["meaning"], self.output(model)["decided_by"]), (meaning, by))
        scores, _ = self.scores(model)
        np.testing.assert_allclose(scores, np.asarray(expected).reshape(-1), atol=tolerance)

    def test_logits_become_probabilities(self):
        model = self.model([], [("logits", [1, CLASSES])])
        self.check(model, "logits", "last operator Gemm", soft_max(self.oracle(model)["logits"]))
        self.assertIn("scores      logits: logits (last operator Gemm)\n", self.assert_done(kinglet("inspect", model)).text())

    def test_a_soft_max_is_left_alone_through_what_stands_behind_it(self):
        tail = [helper.make_node("Softmax", ["logits"], ["p"], "softmax", axis=1),
                helper.make_node("Reshape", ["p", "s"], ["q"], "reshape"),
                helper.make_node("Identity", ["q"], ["i"], "identity"),
                helper.make_node("Squeeze", ["i", "a"], ["y"], "squeeze")]
        model = self.model(tail, [("y", [1, CLASSES])], [numbers("s", [1, CLASSES, 1, 1]), numbers("a", [2, 3])])
        self.check(model, "probabilities", "last operator Softmax", self.oracle(model)["y"])

    def test_a_soft_max_in_eight_bits_and_in_halves(self):
        tail = [helper.make_node("Softmax", ["logits"], ["p"], "softmax", axis=1),
                helper.make_node("QuantizeLinear", ["p", "scale", "zero"], ["q"], "quantize"),
                helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["y"], "dequantize")]
        steps = [numbers("scale", 1 / 256, np.float32), numbers("zero", 0, np.uint8)]
        model = self.model(tail, [("y", [1, CLASSES])], steps)
        self.check(model, "probabilities", "last operator Softmax", self.oracle(model)["y"], 1 / 255)
        halves = [helper.make_node("Cast", ["logits"], ["h"], "to", to=TensorProto.FLOAT16),
                  helper.make_node("Softmax", ["h"], ["p"], "softmax", axis=1),
                  helper.make_node("Cast", ["p"], ["y"], "back", to=TensorProto.FLOAT)]
        model = self.model(halves, [("y", [1, CLASSES])])
        self.check(model, "probabilities", "last operator Softmax", self.oracle(model)["y"], 2e-3)

    def test_sigmoids_are_given_as_they_are(self):
        model = self.model([helper.make_node("Sigmoid", ["logits"], ["y"], "s")], [("y", [1, CLASSES])])
        self.check(model, "independent", "last operator Sigmoid", self.oracle(model)["y"])

    def test_a_single_sigmoid_is_no_certainty(self):
        tail = [helper.make_node("ReduceMean", ["logits"], ["m"], "mean", axes=[1]),
                helper.make_node("Sigmoid", ["m"], ["y"], "s")]
        model = self.model(tail, [("y", [1, 1])])
        expected = float(self.oracle(model)["y"].item())
        self.assertLess(expected, 0.4)
        scores, top = self.scores(model)
        self.assertEqual(len(top), 1)
        self.assertAlmostEqual(scores[0], expected, places=5)

    def test_a_topk_is_mapped_through_its_indices(self):
        tail = [helper.make_node("Softmax", ["logits"], ["p"], "softmax", axis=1),
                helper.make_node("TopK", ["p", "k"], ["best", "at"], "topk", axis=1)]
        model = self.model(tail, [("best", [1, 2]), ("at", [1, 2], TensorProto.INT64)], [numbers("k", [2])])
        answer = self.oracle(model)
        expected = np.zeros(CLASSES)
        expected[answer["at"][0]] = answer["best"][0]
        self.check(model, "top_k", "last operator TopK", expected)
        self.assertNotEqual(answer["at"][0][0], 0)

    def test_an_argmax_names_its_class(self):
        model = self.model([helper.make_node("ArgMax", ["logits"], ["at"], "argmax", axis=1)],
                           [("at", [1, 1], TensorProto.INT64)])
        place = int(self.oracle(model)["at"].item())
        self.assertNotEqual(place, 0)
        self.check(model, "top_k", "last operator ArgMax", np.eye(CLASSES)[place])
        self.assertIn("gives no score", kinglet("classify", model, self.picture).err)

    def test_of_several_outputs_the_one_that_fits_the_labels_is_taken_and_named(self):
        tail = [helper.make_node("Identity", ["features"], ["vector"], "identity")]
        model = self.model(tail, [("vector", [1, 8]), ("logits", [1, CLASSES])])
        labels = self.file("five.txt", "".join(f"bird {i}\n" for i in range(CLASSES)))
        found = self.output(model, "--labels", labels)
        self.assertEqual(found, {"name": "logits", "meaning": "logits",
                                 "decided_by": "last operator Gemm; it fits the 5 labels"})
        scores, top = self.scores(model, "--labels", labels)
        np.testing.assert_allclose(scores, soft_max(self.oracle(model)["logits"]).reshape(-1), atol=1e-5)
        self.assertEqual(top[0]["label"], f"bird {top[0]['index']}")
        self.assertEqual(self.output(model, "--scores", "vector")["name"], "vector")
        self.assert_refused(kinglet("classify", model, self.picture, "--scores", "vektor", "-q"), 65,
                            "no output \"vektor\"", hint="it has \"vector\", \"logits\"")
        # A feature vector cannot be the scores of five labels.
        self.assert_refused(kinglet("classify", model, self.picture, "--labels", labels, "--scores", "vector", "-q"), 65,
                            "5 labels", "8 classes")

    def test_the_recipe_may_say_it(self):
        model = self.model([], [("logits", [1, CLASSES])])
        recipe = self.file("r.json", json.dumps({"output": "independent"}))
        self.assertEqual(self.output(model, "--recipe", recipe),
                         {"name": "logits", "meaning": "independent", "decided_by": "recipe, not last operator Gemm"})
        self.assert_refused(kinglet("inspect", model, "--recipe", self.file("w.json", '{"output": "sigmoid"}')), 65, "output")

    def test_boxes_and_maps_are_refused_as_what_they_are(self):
        maps = self.model([], [("map", [1, 8, 8, 8])])
        self.assert_refused(kinglet("classify", maps, self.picture, "-q"), 65, "\"map\" is f32 [1,8,8,8]: a map")
        seen = self.assert_done(kinglet("inspect", maps, "--json")).json()
        self.assertNotIn("output", seen)
        self.assertIn("a map", seen["no_output"])
        tail = [helper.make_node("Reshape", ["map", "s"], ["boxes"], "reshape")]
        boxes = self.model(tail, [("boxes", [1, 64, 8])], [numbers("s", [1, 64, 8])])
        self.assert_refused(kinglet("classify", boxes, self.picture, "-q"), 65, "as boxes of a detector")

    def test_the_demonstration_and_a_quantised_one_say_the_same(self):
        self.assertEqual(self.output(DEMO)["meaning"], "probabilities")
        frames, small = self.folder / "frames", self.folder / "small.onnx"
        self.assert_done(kinglet("demo-frames", "--count", 20, "--size", "96x96", "--out", frames))
        self.assert_done(kinglet("quantize", DEMO, "--images", frames, "-o", small))
        found = self.output(small)
        self.assertEqual((found["meaning"], found["name"]), ("probabilities", self.output(DEMO)["name"]))
        plain = self.file("plain.json", '{"mean": 127.5, "std": 127.5}')
        self.assertEqual(self.output(small, "--recipe", plain)["decided_by"], "last operator Softmax")

    def test_temperature_is_not_for_sigmoids(self):
        model = self.model([helper.make_node("Sigmoid", ["logits"], ["y"], "s")], [("y", [1, CLASSES])])
        (self.folder / "pictures" / "class 0").mkdir(parents=True)
        (self.folder / "pictures" / "class 0" / "p.png").write_bytes(png(8, 8, COLOUR))
        self.assert_refused(kinglet("calibrate", model, self.folder / "pictures", "-q"), 65, "is independent")

    def test_labels_go_into_a_file_of_several_outputs(self):
        model = self.model([], [("features", [1, 8]), ("logits", [1, CLASSES])])
        labels = self.file("five.txt", "".join(f"bird {i}\n" for i in range(CLASSES)))
        out = self.folder / "with.onnx"
        done = self.assert_done(kinglet("convert", model, "-o", out, "--labels", labels))
        self.assertIn(f"5 labels from {labels}\n", done.err)
        self.assertEqual(self.output(out)["name"], "logits")
        again = self.assert_done(kinglet("convert", out, "-o", self.folder / "again.onnx", "--labels", labels))
        self.assertIn("they replace those that were in the model", again.err)
        said = self.assert_done(kinglet("convert", out, "-o", self.folder / "third.onnx", "--json")).json()
        self.assertEqual(said["labels"], {"from": "in the model", "count": 5})


@unittest.skipUnless(HAVE_CORPUS, "no corpus of models and photographs (../shared/corpus or KINGLET_CORPUS)")
class OfRealModels(CliTest):
    def test_every_classifier_of_the_corpus_ends_in_a_soft_max(self):
        for model in sorted((CORPUS / "models").glob("*.onnx")):
            with self.subTest(model=model.name):
                seen = self.assert_done(kinglet("inspect", model, "--json")).json()["output"]
                self.assertEqual((seen["meaning"], seen["decided_by"]), ("probabilities", "last operator Softmax"))

    def test_those_of_tensorflow_lite_as_well(self):
        for model in sorted((CORPUS / "tflite").glob("*.tflite")):
            out = self.folder / (model.stem + ".onnx")
            with self.subTest(model=model.name):
                self.assert_done(kinglet("convert", model, "-o", out))
                seen = self.assert_done(kinglet("inspect", out, "--json")).json()["output"]
                self.assertEqual((seen["meaning"], seen["decided_by"]), ("probabilities", "last operator Softmax"))

    def test_a_detector_is_refused_as_one(self):
        detectors = sorted((CORPUS / "detectors").glob("*.onnx"))
        self.assertTrue(detectors)
        for model in detectors:
            picture = self.file("p.png", png(64, 64))
            self.assert_refused(kinglet("classify", model, picture, "-q"), 65, "as boxes of a detector")


if __name__ == "__main__":
    main()
