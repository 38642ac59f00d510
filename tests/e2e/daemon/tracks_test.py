# SPDX-License-Identifier: Apache-2.0
"""What was seen and not named: listed with its reason and picture, and named by the owner."""
import json

from support import Daemon, ScratchFolder, main

NAMED = "spotted-demothrush"


class Tracks(ScratchFolder):
    def daemon(self, *sets):
        return Daemon(sets=["source=demo:1", f'decide.allow=["{NAMED}"]', "visits.end_after=1s", f"store.path={self.folder}", *sets])

    def tracks(self, daemon, query="?named=false"):
        return daemon.ask("/api/v1/tracks" + query).json()["items"]

    def unnamed(self, daemon):
        def pictured():
            return [one for one in self.tracks(daemon) if one["outcome"] == "not_allowed" and "crop" in one["links"]]
        return daemon.until(pictured, "a bird that is not on the list")[0]

    def patch(self, daemon, track, review, headers):
        return daemon.ask(track["links"]["self"], "PATCH", json.dumps({"review": review}),
                          {"Content-Type": "application/merge-patch+json", **headers})

    def test_a_bird_without_a_name_is_listed_with_its_reason_and_picture_and_becomes_a_visit_when_it_is_named(self):
        with self.daemon() as daemon:
            owner = daemon.claim()
            track = self.unnamed(daemon)
            self.assertGreater(track["looks"], 1)
            self.assertEqual(track["likeliest"]["species_id"], track["top"][0]["species_id"])
            self.assertEqual(track["likeliest"]["wanted_score"], 0.5)
            crop = daemon.ask(track["links"]["crop"])
            self.assertEqual((crop.status, crop.headers["content-type"], crop.body[:2]), (200, "image/jpeg", b"\xff\xd8"))
            self.assertEqual(self.patch(daemon, track, {"verdict": "confirmed"}, {"Authorization": "Bearer kgl_x"}).status, 401)
            reply = self.patch(daemon, track, {"verdict": "corrected", "species_id": NAMED}, owner)
            self.assertEqual(reply.status, 201, reply.body)
            visit = daemon.ask(reply.headers["location"]).json()
            self.assertEqual((visit["species_id"], visit["review"]["verdict"]), (NAMED, "corrected"))
            self.assertEqual(visit["model_result"]["species_id"], track["likeliest"]["species_id"])
            self.assertEqual(visit["started_at"], track["started_at"])
            self.assertEqual(daemon.ask(track["links"]["self"]).status, 404)
            pictured = daemon.until(lambda: daemon.ask(reply.headers["location"]).json()["links"].get("crop"), "its picture")
            self.assertEqual(daemon.ask(pictured).body, crop.body)
            # The numbers of visits go on behind it.
            daemon.until(lambda: [one for one in daemon.ask("/api/v1/visits").json()["items"] if one["seq"] > visit["seq"]],
                         "a visit that the model named")
            self.assertEqual(daemon.stop()[0], 0)
        with self.daemon() as daemon:
            self.assertEqual(daemon.ask("/api/v1/visits/" + visit["id"]).json()["species_id"], NAMED)

    def test_what_is_no_bird_leaves_the_list_and_makes_no_visit(self):
        with self.daemon() as daemon:
            track = self.unnamed(daemon)
            self.assertEqual(self.patch(daemon, track, {"verdict": "not_a_bird"}, daemon.claim()).status, 204)
            self.assertNotIn(track["id"], [one["id"] for one in self.tracks(daemon)])
            self.assertEqual(daemon.ask("/api/v1/visits/" + track["id"].replace("trk", "vis")).status, 404)

    def test_the_list_is_read_in_pages_and_by_reason(self):
        with self.daemon("gate.max_fps=10") as daemon:
            daemon.until(lambda: len(self.tracks(daemon)) > 1, "two tracks")
            first = daemon.ask("/api/v1/tracks?limit=1").json()
            self.assertTrue(first["has_more"])
            second = daemon.ask("/api/v1/tracks?limit=1&cursor=" + first["next_cursor"]).json()["items"][0]
            self.assertLess(second["id"], first["items"][0]["id"])
            self.assertEqual(self.tracks(daemon, "?outcome=non_finite"), [])
            self.assert_problem(daemon.ask("/api/v1/tracks?named=true"), 400, "bad-parameter")
            self.assert_problem(daemon.ask("/api/v1/tracks/trk_x"), 404, "not-found")


if __name__ == "__main__":
    main()
