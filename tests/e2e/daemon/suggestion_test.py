# SPDX-License-Identifier: Apache-2.0
"""A part of the picture that is taken as the page takes a suggestion is what is looked at from then on. When one is suggested:
tests/unit/gate/suggestion_test.cpp; the demonstration's model, made for whole frames, sees birds in squares of wood."""
import json
import unittest

from support import Daemon, ScratchFolder, main


class Suggestion(ScratchFolder):
    def test_a_part_that_is_taken_is_looked_at_and_none_is_suggested(self):
        file = self.folder / "kinglet.toml"
        file.write_text(f'store.path = "{self.folder}/state"\n')
        with Daemon("--config", str(file), sets=["source=demo:5"]) as daemon:
            owner = {**daemon.claim(), "If-Match": "*", "Content-Type": "application/merge-patch+json"}

            def patch(change):
                reply = daemon.ask("/api/v1/config", "PATCH", json.dumps(change), owner)
                self.assertEqual(reply.status, 200, reply.body)

            def suggestion():
                return daemon.ask("/api/v1/stats").json().get("look", {}).get("suggestion")
            daemon.first_prediction()
            self.assertIsNone(suggestion(), "the demonstration's model looks at the whole")
            box = {"x": 0.2, "y": 0.1, "width": 0.5, "height": 0.6}
            patch({"look.propose": "fixed", "look.fixed": [[box["x"], box["y"], box["width"], box["height"]]]})
            self.assertIsNone(suggestion())
            daemon.until(lambda: daemon.prediction()["regions"][0]["proposed_by"] == "fixed", "a look at that part")
            self.assertEqual(daemon.prediction()["regions"][0]["box_ratio"], box)


if __name__ == "__main__":
    main()
