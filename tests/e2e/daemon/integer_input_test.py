# SPDX-License-Identifier: Apache-2.0
"""The daemon on models with an 8-bit input: posted pictures (the exact way) and video frames of the demonstration."""
import math

from support import Daemon, ScratchFolder, main
from made_files import INT8, UINT8, channel_means, png  # after support, which finds it


class IntegerInput(ScratchFolder):
    def daemon(self, kind, zero_point, *sets):
        path = self.folder / "means.onnx"
        path.write_bytes(channel_means(kind, 1 / 64, zero_point))
        return Daemon(sets=[f"model.path={path}", "source=demo:1", "gate.max_fps=5", *sets])

    def assert_scores(self, answer, colour):
        powers = [math.exp(value / 64) for value in colour]
        scores = {entry["index"]: entry["score"] for entry in answer["top"]}
        for index, power in enumerate(powers):
            self.assertAlmostEqual(scores[index], power / sum(powers), places=4)

    def test_pixels_go_in_as_they_are_without_a_recipe(self):
        for kind, zero_point in ((UINT8, 0), (INT8, -128)):
            with self.subTest(kind=kind), self.daemon(kind, zero_point) as daemon:
                colour = (200, 100, 51)
                reply = daemon.ask("/api/v1/classify?top_k=3", "POST", png(16, 16, colour), {"Content-Type": "image/png"})
                self.assertEqual(reply.status, 200, reply.body)
                self.assert_scores(reply.json(), colour)
                self.assertIn("outcome", daemon.first_prediction())
                recipe = daemon.ask("/api/v1/model").json()["preprocess"]
                self.assertEqual((recipe["scale"], recipe["zero_point"]), (1, zero_point))

    def test_a_preset_is_named_in_the_configuration(self):
        with self.daemon(UINT8, 0, "model.recipe=keras-resnet") as daemon:
            recipe = daemon.ask("/api/v1/model").json()["preprocess"]
            self.assertEqual((recipe["color_order"], recipe["scale"]), ("bgr", 1 / 64))


if __name__ == "__main__":
    main()
