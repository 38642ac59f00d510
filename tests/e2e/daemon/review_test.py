# SPDX-License-Identifier: Apache-2.0
"""What a person says of a visit, over HTTP: reviews that overwrite nobody unseen, and removal for good."""
import json
import tempfile
import unittest
from pathlib import Path

from support import Daemon, ScratchFolder, bird_show, main

QUICK = [*bird_show(), "store.flush_interval=100ms"]


class Review(ScratchFolder):
    @classmethod
    def setUpClass(cls):
        cls.state = tempfile.TemporaryDirectory()
        cls.daemon = cls.start()
        cls.owner = cls.daemon.claim()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.stop()
        cls.state.cleanup()

    def setUp(self):
        super().setUp()
        self.path = "/api/v1/visits/" + self.daemon.until(self.written, "a visit on the disk")["id"]

    @classmethod
    def start(cls):
        return Daemon(sets=[*QUICK, f"store.path={cls.state.name}"])

    @classmethod
    def restart(cls):
        cls.daemon.stop()
        cls.daemon = cls.start()

    def written(self):
        found = self.daemon.ask("/api/v1/visits?review=unreviewed").json()["items"]
        # With the last of its pictures it stays as it is.
        ready = [visit for visit in found if visit["state"] == "ended" and {"snapshot", "clip"} <= visit["links"].keys()]
        return ready[0] if ready else None

    def labels(self):
        return [label["species_id"] for label in self.daemon.ask("/api/v1/model/labels").json()["items"]]

    def seen(self):
        reply = self.daemon.ask(self.path)
        return reply.json(), reply.headers["etag"]

    def remove(self, path, **headers):
        return self.daemon.ask(path, "DELETE", headers={**self.owner, **headers})

    def patch(self, body, tag="*", kind="application/merge-patch+json", **headers):
        given = {"Content-Type": kind, **({"If-Match": tag} if tag else {}), **self.owner, **headers}
        return self.daemon.ask(self.path, "PATCH", body if isinstance(body, bytes) else json.dumps(body), given)

    def test_a_review_is_answered_with_the_visit_and_outlives_a_restart(self):
        visit, tag = self.seen()
        other = next(one for one in self.labels() if one != visit["species_id"])
        reply = self.patch({"review": {"verdict": "corrected", "species_id": other, "note": "speckled\nbreast"}}, tag)
        self.assertEqual(reply.status, 200, reply.body)
        answer = reply.json()
        self.assertEqual(answer["species_id"], other)
        self.assertEqual(answer["model_result"], visit["model_result"])
        self.assertEqual({name: answer["review"][name] for name in ("verdict", "species_id", "note")},
                         {"verdict": "corrected", "species_id": other, "note": "speckled\nbreast"})
        self.assertEqual(answer["review"]["reviewed_by"], "owner")
        self.assertRegex(answer["review"]["reviewed_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertNotEqual(reply.headers["etag"], tag)
        self.assertEqual(self.seen(), (answer, reply.headers["etag"]))
        self.assertIn(answer["id"], [one["id"] for one in
                                     self.daemon.ask("/api/v1/visits?review=corrected").json()["items"]])
        self.restart()
        self.assertEqual(self.seen()[0]["review"], answer["review"])

    def test_a_patch_changes_only_what_it_names_and_null_takes_away(self):
        self.patch({"review": {"verdict": "confirmed", "note": "on the roof"}})
        review = self.patch({"review": {"verdict": "unknown"}}).json()["review"]
        self.assertEqual((review["verdict"], review["note"]), ("unknown", "on the roof"))
        review = self.patch({"review": {"note": None}}, kind="application/json").json()["review"]
        self.assertEqual(review["verdict"], "unknown")
        self.assertNotIn("note", review)
        self.assertEqual(self.patch({"review": None}).json()["review"], {"verdict": "none"})

    def test_what_is_no_bird_counts_for_no_species(self):
        visit, tag = self.seen()
        self.assertEqual(self.patch({"review": {"verdict": "not_a_bird"}}, tag).status, 200)
        self.assertNotIn(visit["id"], [one["id"] for one in self.daemon.ask(
            "/api/v1/visits?limit=500&species=" + visit["species_id"]).json()["items"]])

    def test_a_review_needs_the_tag_of_what_was_seen(self):
        _, tag = self.seen()
        self.assert_problem(self.patch({"review": {"verdict": "confirmed"}}, None), 428, "if-match-required")
        for wrong in ('"no such tag"', "W/" + tag, tag.strip('"'), ","):
            self.assert_problem(self.patch({"review": {"verdict": "confirmed"}}, wrong), 412, "stale-etag")
        self.assertEqual(self.patch({"review": {"verdict": "confirmed"}}, '"other" , ' + tag).status, 200)
        self.assert_problem(self.patch({"review": {"verdict": "not_a_bird"}}, tag), 412, "stale-etag")
        self.assertEqual(self.seen()[0]["review"]["verdict"], "confirmed")

    def test_an_unknown_species_is_refused_with_near_names(self):
        name = max(self.labels(), key=len)
        problem = self.assert_problem(self.patch({"review": {"verdict": "corrected", "species_id": name[:-1] + "zz"}}),
                                      422, "unknown-species")
        self.assertIn(name, problem["hint"])
        problem = self.assert_problem(self.patch({"review": {"verdict": "corrected", "species_id": "qqqqqqqqqqqq"}}),
                                      422, "unknown-species")
        self.assertIn("/api/v1/model/labels", problem["hint"])
        self.assertIn("review.name", problem["hint"])

    def test_any_bird_of_the_world_is_named_by_its_scientific_name(self):
        reply = self.patch({"review": {"verdict": "corrected", "scientific_name": "Turdus pilaris"}})
        self.assertEqual((reply.status, reply.json()["species_id"]), (200, "turdus-pilaris"))
        self.assertIn("turdus-pilaris", [one["species_id"] for one in self.daemon.ask("/api/v1/species").json()["items"]])
        # From now on it is known.
        reply = self.patch({"review": {"verdict": "corrected", "species_id": "Turdus pilaris"}})
        self.assertEqual((reply.status, reply.json()["species_id"]), (200, "turdus-pilaris"))
        for name in ("Turdus", "turdus pilaris", "Turdus Pilaris", "Turdus pilaris pilaris pilaris", "Turdus  pilaris", "T. pilaris", "", None,
                     "Turdus pilaris\n", 7):
            with self.subTest(name=name):
                self.assert_problem(self.patch({"review": {"verdict": "corrected", "scientific_name": name}}), 400, "bad-json")
        self.assert_problem(self.patch({"review": {"verdict": "confirmed", "scientific_name": "Turdus pilaris"}}), 400, "bad-json")

    def corrected(self, **names):
        reply = self.patch({"review": {"verdict": "corrected", **names}})
        self.assertEqual(reply.status, 200, reply.body)
        return reply.json()

    def test_a_bird_of_feeders_is_named_by_any_of_its_names(self):
        for name in ("Wacholderdrossel", "GRIVE LITORNE", "Fieldfare", "turdus-pilaris", "\u30ce\u30cf\u30e9\u30c4\u30b0\u30df"):
            for member in ("species_id", "name"):
                with self.subTest(name=name, member=member):
                    visit = self.corrected(**{member: name})
                    self.assertEqual([visit[key] for key in ("species_id", "scientific_name", "common_name")],
                                     ["turdus-pilaris", "Turdus pilaris", "Fieldfare"])
                    self.assertNotIn("name", visit["review"])
        reply = self.daemon.ask("/api/v1/model/labels?language=de").json()
        self.assertIn({"species_id": "turdus-pilaris", "scientific_name": "Turdus pilaris", "common_name": "Fieldfare",
                       "name": "Wacholderdrossel"}, reply["others"])
        self.assertEqual(len(reply["others"]), 185, "the drawn birds are none of them")

    def test_what_nobody_knows_is_kept_as_it_is_typed(self):
        visit = self.corrected(name="  M\u00e9sange   bor\u00e9ale ")
        self.assertEqual((visit["species_id"], visit["common_name"], visit["review"]["name"]),
                         ("mesange-boreale", "M\u00e9sange   bor\u00e9ale", "M\u00e9sange   bor\u00e9ale"))
        self.assertNotIn("scientific_name", visit)
        self.restart()
        self.assertEqual(self.seen()[0]["common_name"], "M\u00e9sange   bor\u00e9ale")
        one = next(one for one in self.daemon.ask("/api/v1/species").json()["items"] if one["species_id"] == "mesange-boreale")
        self.assertEqual(one["common_name"], "M\u00e9sange   bor\u00e9ale")
        # The next one is the same bird, under the name that it has.
        self.assertEqual(self.corrected(species_id="mesange-boreale")["common_name"], "M\u00e9sange   bor\u00e9ale")
        self.assertEqual(self.corrected(name="\u77ee\u9e21")["species_id"], "\u77ee\u9e21", "in any script")
        review = self.corrected(name="Corvus ruficollis")["review"]
        self.assertEqual(review["species_id"], "corvus-ruficollis")
        self.assertNotIn("name", review, "science is no name of one's own")
        self.assertNotIn("name", self.patch({"review": {"verdict": "confirmed"}}).json()["review"])
        for name in ("", " - ", "a\nb", "a\tb", "a\u0000", "n" * 101, None, 7, "a\u202eb", "\u2066a", "a\u2069", "\ufeffa",
                     "a\u3164"):
            with self.subTest(name=name):
                self.assert_problem(self.patch({"review": {"verdict": "corrected", "name": name}}), 400, "bad-json")
        self.assert_problem(self.patch({"review": {"verdict": "confirmed", "name": "Piaf"}}), 400, "bad-json")

    def test_wrong_bodies_are_refused_and_change_nothing(self):
        before = self.seen()
        for body in (b"", b"{", b"[]", b"7", b'{"review": 7}', b'{"review": {"verdict": "maybe"}}', b'{"state": "open"}',
                     b'{"review": {"verdict": 1}}', b'{"review": {"verdict": "corrected"}}',
                     b'{"review": {"verdict": "confirmed", "species_id": "x"}}', b'{"review": {"reviewed_by": "me"}}',
                     b'{"review": {"note": "\\u0000"}}', b'{"review": {"note": "\xff"}}',
                     json.dumps({"review": {"note": "n" * 2001}}).encode(), b"[" * 60000):
            with self.subTest(body=body[:60]):
                self.assert_problem(self.patch(body), 400, "bad-json")
        self.assert_problem(self.patch(b" " * 70000), 413, "body-too-large")
        self.assert_problem(self.patch({"review": None}, kind="text/plain"), 415, "unsupported-media-type")
        self.assertEqual(self.seen(), before)

    def test_pages_of_others_and_proxies_change_nothing(self):
        self.assert_problem(self.patch({"review": None}, Origin="http://evil.example"), 403, "foreign-origin")
        self.assert_problem(self.remove(self.path, Origin="http://evil.example"), 403,
                            "foreign-origin")
        self.assert_problem(self.daemon.ask(self.path, "DELETE", headers={"X-Forwarded-For": "127.0.0.1"}), 401,
                            "token-required")
        self.assertEqual(self.daemon.ask(self.path).status, 200)

    def test_a_visit_is_removed_for_good_with_its_pictures(self):
        visit, tag = self.seen()
        self.assert_problem(self.remove(self.path, **{"If-Match": '"another"'}), 412, "stale-etag")
        reply = self.remove(self.path, **{"If-Match": tag})
        self.assertEqual((reply.status, reply.body), (204, b""))
        self.assert_problem(self.remove(self.path), 404, "not-found")
        self.assert_problem(self.daemon.ask(self.path), 404, "not-found")
        self.assert_problem(self.daemon.ask(visit["links"]["crop"]), 404, "not-found")
        self.assert_problem(self.patch({"review": None}), 404, "not-found")
        self.assertEqual(list(Path(self.state.name).rglob(visit["id"] + "*")), [])
        self.restart()
        self.assert_problem(self.daemon.ask(self.path), 404, "not-found")

    def test_an_open_visit_that_was_removed_does_not_come_back(self):
        def open_visit():
            return next((one for one in self.daemon.ask("/api/v1/visits").json()["items"] if one["state"] == "open"), None)
        path = "/api/v1/visits/" + self.daemon.until(open_visit, "an open visit")["id"]
        self.assertEqual(self.remove(path).status, 204)
        newest = self.daemon.ask("/api/v1/visits?limit=1").json()["items"][0]["seq"]
        self.daemon.until(lambda: self.daemon.ask("/api/v1/visits?limit=1").json()["items"][0]["seq"] > newest + 1,
                          "further visits")
        self.assert_problem(self.daemon.ask(path), 404, "not-found")


if __name__ == "__main__":
    main()
