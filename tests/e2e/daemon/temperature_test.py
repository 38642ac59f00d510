# SPDX-License-Identifier: Apache-2.0
"""The temperature that `kinglet calibrate` writes into a recipe counts in what the daemon answers."""
import json
import os
import subprocess
from pathlib import Path

from support import SOURCE_DIR, Daemon, ScratchFolder, main

KINGLET = os.environ["KINGLET"]
DEMO = SOURCE_DIR / "models" / "demo" / "kinglet-demo.onnx"


class Temperature(ScratchFolder):
    def scores(self, picture, temperature):
        """Every class's score, of a picture that is posted and of the same one as the camera's frame."""
        recipe = self.folder / f"at-{temperature}.json"
        recipe.write_text(json.dumps({**json.loads(DEMO.with_suffix(".recipe.json").read_text()), "temperature": temperature}))
        sets = [f"source=images:{picture.parent}", f"model.path={DEMO}", f"model.recipe={recipe}"]
        with Daemon(sets=sets) as daemon:
            reply = daemon.ask("/api/v1/classify?top_k=9", "POST", picture.read_bytes(), {"Content-Type": "image/png"})
            self.assertEqual(reply.status, 200, reply.body)
            watched = daemon.first_prediction()["top"][0]
        posted = {one["species_id"]: one["score"] for one in reply.json()["top"]}
        self.assertEqual(len(posted), 9)
        self.assertAlmostEqual(watched["score"], posted[watched["species_id"]], delta=0.002)
        return posted

    def test_the_recipes_temperature_is_in_every_answer(self):
        frames = self.folder / "frames"
        subprocess.run([KINGLET, "demo-frames", "--out", str(frames), "--count", "1", "--seed", "3", "--size", "64x48"], check=True,
                       capture_output=True)
        picture, = Path(frames).glob("*.png")
        plain = self.scores(picture, 1)
        warm = self.scores(picture, 3)
        softened = {name: score ** (1 / 3) for name, score in plain.items()}
        for name, score in softened.items():
            self.assertAlmostEqual(warm[name], score / sum(softened.values()), delta=0.02, msg=name)
        self.assertLess(max(warm.values()), max(plain.values()))


if __name__ == "__main__":
    main()
