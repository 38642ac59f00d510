# SPDX-License-Identifier: Apache-2.0
"""Where birds come is suggested after some of them, taken with the settings, and not suggested any more afterwards."""
import json
import unittest

from support import Daemon, ScratchFolder, main

# Each square in the time of a frame, and many birds in little time.
SETS = ["source=demo:5", "gate.max_fps=30", "visits.end_after=1s"]


def inside(outer, inner):
    middle = (inner["x"] + inner["width"] / 2, inner["y"] + inner["height"] / 2)
    return outer["x"] <= middle[0] <= outer["x"] + outer["width"] and outer["y"] <= middle[1] <= outer["y"] + outer["height"]


class Suggestion(ScratchFolder):
    def test_it_comes_holds_the_visits_and_is_taken(self):
        file = self.folder / "kinglet.toml"
        file.write_text(f'store.path = "{self.folder}/state"\n')
        with Daemon("--config", str(file), sets=SETS) as daemon:
            owner = {**daemon.claim(), "If-Match": "*", "Content-Type": "application/merge-patch+json"}

            def patch(change):
                reply = daemon.ask("/api/v1/config", "PATCH", json.dumps(change), owner)
                self.assertEqual(reply.status, 200, reply.body)

            def suggestion():
                return daemon.ask("/api/v1/stats").json().get("look", {}).get("suggestion")
            daemon.first_prediction()
            self.assertIsNone(suggestion(), "the demonstration's model looks at the whole")
            patch({"look.propose": "motion"})
            for _ in range(7):  # a minute each: ten birds have to come and be seen
                try:
                    found = daemon.until(suggestion, "a suggestion")
                    break
                except AssertionError:
                    found = None
            self.assertIsNotNone(found)
            self.assertGreaterEqual(found["tracks"], 10)
            boxes = [visit["box_ratio"] for visit in daemon.ask("/api/v1/visits").json()["items"] if visit["box_ratio"]["width"] < 1]
            self.assertGreater(len(boxes), 2)
            self.assertGreater(sum(inside(found["box_ratio"], box) for box in boxes), 0.6 * len(boxes), (found, boxes))
            box = found["box_ratio"]
            patch({"look.propose": "fixed", "look.fixed": [[box["x"], box["y"], box["width"], box["height"]]]})
            daemon.until(lambda: suggestion() is None, "no more of it")
            daemon.until(lambda: daemon.prediction()["regions"][0]["proposed_by"] == "fixed", "a look at that part")
            self.assertEqual(daemon.prediction()["regions"][0]["box_ratio"], box)


if __name__ == "__main__":
    main()
