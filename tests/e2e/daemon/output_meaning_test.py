# SPDX-License-Identifier: Apache-2.0
"""What a model's output means, in everything the daemon says: scores of sigmoids and of a TopK, of several outputs the
right one, and no name at all for boxes."""
import base64
import json
import math

from support import Daemon, ScratchFolder, main
from made_files import FLOAT, INT64, constant, means_and_then, node, png  # after support, which finds it

COLOUR = (204, 51, 102)  # 0.8, 0.2, 0.4 where no recipe says otherwise


class Meaning(ScratchFolder):
    def daemon(self, content, *sets, labels=None):
        path = self.folder / "m.onnx"
        path.write_bytes(content)
        if labels:
            (self.folder / "m.labels.txt").write_text("".join(f"{label}\n" for label in labels))
        return Daemon(sets=[f"model.path={path}", "source=demo:1", "gate.motion=false", "gate.max_fps=5", *sets])

    def classify(self, daemon):
        reply = daemon.ask("/api/v1/classify?top_k=3", "POST", png(16, 16, COLOUR), {"Content-Type": "image/png"})
        self.assertEqual(reply.status, 200, reply.body)
        return reply.json()

    def assert_top(self, daemon, expected, outcome):
        answer = self.classify(daemon)
        self.assertEqual([entry["index"] for entry in answer["top"]][:len(expected)], list(expected), answer)
        for entry in answer["top"][:len(expected)]:
            self.assertAlmostEqual(entry["score"], expected[entry["index"]], places=4)
        self.assertEqual(answer["outcome"], outcome)

    def output(self, daemon):
        return daemon.ask("/api/v1/model").json()["output"]

    def test_sigmoids_are_independent(self):
        model = means_and_then([node("Sigmoid", ["flat"], ["y"], "s")], [("y", [1, 3], FLOAT)])
        with self.daemon(model) as daemon:
            self.assertEqual(self.output(daemon),
                             {"name": "y", "meaning": "independent", "decided_by": "last operator Sigmoid"})
            logistic = {index: 1 / (1 + math.exp(-colour / 255)) for index, colour in enumerate(COLOUR)}
            self.assert_top(daemon, {index: logistic[index] for index in (0, 2, 1)}, "ambiguous")
            # Three good scores leave nothing for a rest, whatever they add up to. The first glance is half as sure.
            daemon.first_prediction()
            daemon.until(lambda: sum(entry["score"] for entry in daemon.prediction()["top"]) > 1.2, "sure scores")

    def test_a_topk_names_the_classes_of_its_indices(self):
        model = means_and_then([node("Softmax", ["flat"], ["p"], "s", axis=1),
                                node("TopK", ["p", "k"], ["best", "at"], "t", axis=1)],
                               [("best", [1, 2], FLOAT), ("at", [1, 2], INT64)],
                               [constant("k", [1], 2, INT64)])
        with self.daemon(model, labels=["wren", "robin", "tit"]) as daemon:
            self.assertEqual(self.output(daemon)["meaning"], "top_k")
            powers = [math.exp(colour / 255) for colour in COLOUR]
            self.assert_top(daemon, {0: powers[0] / sum(powers), 2: powers[2] / sum(powers)}, "below_threshold")
            self.assertEqual(self.classify(daemon)["top"][1]["label"], "tit")
            for name in ("best", "at"):
                picture = base64.b64encode(png(16, 16, COLOUR)).decode()
                request = {"inputs": [{"name": "image", "shape": [1], "datatype": "BYTES", "data": [picture]}],
                           "outputs": [{"name": name, "parameters": {"classification": 2}}]}
                reply = daemon.ask("/v2/models/m/infer", "POST", json.dumps(request).encode(),
                                   {"Content-Type": "application/json"})
                self.assertEqual(reply.status, 200, reply.body)
                self.assertRegex(reply.json()["outputs"][0]["data"][1], r"^0\.3\d+:2:tit$")

    def test_an_argmax_names_its_class_and_that_is_warned_about(self):
        model = means_and_then([node("ArgMax", ["flat"], ["at"], "a", axis=1)], [("at", [1, 1], INT64)])
        with self.daemon(model) as daemon:
            self.assertEqual(self.output(daemon), {"name": "at", "meaning": "top_k", "decided_by": "last operator ArgMax"})
            self.assertEqual(self.classify(daemon)["top"][0]["index"], 0)
            self.assertEqual(daemon.ask("/api/v1/model").json()["labels"]["count"], 3)

    def test_of_several_outputs_the_one_that_fits_the_labels_and_the_one_that_is_named(self):
        outputs = [("flat", [1, 3], FLOAT), ("both", [1, 2], FLOAT)]
        model = means_and_then([node("MatMul", ["flat", "w"], ["both"], "m")], outputs, [constant("w", [3, 2], 1.0)])
        with self.daemon(model, labels=["wren", "robin"]) as daemon:
            self.assertEqual(self.output(daemon), {"name": "both", "meaning": "logits",
                                                   "decided_by": "last operator MatMul; it fits the 2 labels"})
            self.assert_top(daemon, {0: 0.5, 1: 0.5}, "ambiguous")
        (self.folder / "m.labels.txt").unlink()
        with self.daemon(model, "model.output=flat") as daemon:
            self.assertEqual(self.output(daemon)["name"], "flat")
            self.assertEqual(daemon.ask("/api/v1/model").json()["labels"]["count"], 3)

    def test_where_several_could_be_the_scores_one_has_to_be_named(self):
        model = means_and_then([node("Neg", ["flat"], ["one"], "n"), node("Abs", ["flat"], ["other"], "a")],
                               [("one", [1, 3], FLOAT), ("other", [1, 3], FLOAT)])
        with self.daemon(model) as daemon:
            self.assertIn("2 outputs could be the scores", daemon.ask("/api/v1/model").json()["detail"])
        with self.daemon(model, "model.output=other") as daemon:
            self.assertEqual(self.output(daemon), {"name": "other", "meaning": "logits",
                                                   "decided_by": "last operator Abs; it was named"})

    def test_boxes_are_told_and_never_named(self):
        model = means_and_then([node("Reshape", ["image", "s"], ["boxes"], "r")], [("boxes", [1, 64, 12], FLOAT)],
                               [constant("s", [3], [1, 64, 12], INT64)])
        with self.daemon(model) as daemon:
            problem = daemon.ask("/api/v1/model").json()["detail"]
            self.assertIn("output \"boxes\" is f32 [1,64,12]: rows of numbers, as boxes of a detector", problem)
            self.assertEqual(daemon.ask("/readyz").status, 503)


if __name__ == "__main__":
    main()
