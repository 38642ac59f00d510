# SPDX-License-Identifier: Apache-2.0
"""A model of one's own comes bare, gets labels and recipe over HTTP, names birds by them, also after a restart, and goes again."""
import json
import unittest

from model_arrival_test import SMALL, Arrival
from support import BIRD, BIRD_LABELS, BIRD_RECIPE, CORPUS, main

TEXT = {"Content-Type": "text/plain"}
JSON = {"Content-Type": "application/json"}


class OwnModels(Arrival):
    BODY = b"what the catalogue has is something else"

    def put_beside(self, name, what, body, kind):
        return self.put(f"{name}/{what}", body.encode(), headers={**self.owner, **kind})

    def delete(self, name, headers=None):
        return self.daemon.ask(f"/api/v1/models/{name}", "DELETE", headers=headers or self.owner)

    def activate(self, name):
        return self.ended(self.daemon.ask(f"/api/v1/models/{name}/activate", "POST", headers=self.owner))

    def known(self, name):
        """Once it is judged."""
        def found():
            one = next(one for one in self.daemon.ask("/api/v1/models").json()["items"] if one["name"] == name)
            return one if one["state"] != "checking" else None
        return self.daemon.until(found, f"{name} is judged")


@unittest.skipUnless(BIRD.exists(), "no corpus of models (../shared/corpus or KINGLET_CORPUS)")
class Bare(OwnModels):
    def top(self):
        photo = (CORPUS / "photos" / "chickadee.png").read_bytes()
        return self.daemon.ask("/api/v1/classify", "POST", photo, {"Content-Type": "image/png"}).json()["top"][0]

    def test_a_bare_model_is_given_labels_and_a_recipe_names_birds_and_goes(self):
        daemon = self.start("decide.max_rest=1")
        labels = BIRD_LABELS.read_text()
        self.assertEqual(self.ended(self.put("feeder", BIRD.read_bytes()))["activated"], False)
        listed = {one["name"]: one for one in daemon.ask("/api/v1/models").json()["items"]}["feeder"]
        self.assertEqual((listed["state"], listed["classes"], listed["labels_named"], listed["preprocess_found"], listed["in_folder"]),
                         ("valid", 965, False, False, True), "judged with the end of its job")

        problem = self.assert_problem(self.put_beside("feeder", "labels", labels.split("\n", 1)[1], TEXT), 422, "bad-labels")
        self.assertIn("964 labels, the model's output has 965 classes", problem["detail"])
        self.assertIn("background", problem["hint"])
        problem = self.assert_problem(self.put_beside("feeder", "recipe", "torchvison", TEXT), 422, "bad-recipe")
        self.assertIn("torchvision", problem["hint"])
        self.assertEqual(self.files(), ["feeder.onnx"])

        self.assertEqual(self.put_beside("feeder", "labels", labels, TEXT).status, 200)
        self.assertEqual(self.put_beside("feeder", "recipe", json.dumps(BIRD_RECIPE), JSON).status, 200)
        known = self.known("feeder")
        self.assertEqual((known["state"], known["labels_named"], known["preprocess_found"]), ("valid", True, True))
        self.assertEqual(self.activate("feeder")["activated"], True)
        self.assertEqual(self.top()["species_id"], "poecile-atricapillus")
        self.assertEqual(daemon.ask("/api/v1/model").json()["preprocess"]["mean"], [128] * 3)

        self.assert_problem(self.delete("feeder"), 409, "model-in-use")
        daemon.stop()
        daemon = self.start("decide.max_rest=1", owner=False)
        self.assertEqual((self.model(), self.top()["species_id"]), ("feeder", "poecile-atricapillus"))
        self.assertEqual(self.activate("kinglet-demo")["activated"], True)
        self.assertEqual(self.delete("feeder").status, 204)
        self.assert_problem(self.delete("feeder"), 404, "not-found")
        self.assertEqual(self.files(), [])

    def test_other_labels_of_the_model_that_answers_count_when_it_is_activated_again(self):
        self.start("decide.max_rest=1")
        labels = BIRD_LABELS.read_text()
        self.ended(self.put("feeder", BIRD.read_bytes()))
        self.put_beside("feeder", "recipe", json.dumps(BIRD_RECIPE), JSON)
        self.assertEqual(self.activate("feeder")["activated"], True)
        self.assertRegex(self.top()["label"], r"^class \d+$")
        self.assertEqual(self.put_beside("feeder", "labels", labels, TEXT).status, 200)
        self.assertRegex(self.top()["label"], r"^class \d+$")
        self.assertEqual(self.activate("feeder")["activated"], True)
        self.assertEqual(self.top()["species_id"], "poecile-atricapillus")
        self.assertEqual(self.daemon.ask("/api/v1/model").json()["labels"]["named"], True)


class Refused(OwnModels):
    def test_only_an_owner_and_no_page_of_another_site_changes_or_removes_a_model(self):
        self.start()
        self.ended(self.put("garden-1", SMALL))
        for headers, status, slug in (({"X-Any": "1"}, 401, "token-required"),
                                      ({**self.owner, "Origin": "http://evil.example"}, 403, "foreign-origin")):
            self.assert_problem(self.delete("garden-1", headers), status, slug)
            for what in ("labels", "recipe"):
                reply = self.put(f"garden-1/{what}", b"x", headers={**headers, **TEXT})
                self.assert_problem(reply, status, slug)
        self.assertEqual(self.files(), ["garden-1.onnx"])

    def test_what_is_too_large_or_of_the_configuration_is_refused(self):
        self.start()
        self.ended(self.put("garden-1", SMALL))
        self.assert_problem(self.put_beside("garden-1", "labels", "x" * (2 << 20), TEXT), 413, "body-too-large")
        self.assert_problem(self.put_beside("garden-1", "labels", "x" * (1 << 20) + "\nx", TEXT), 413, "body-too-large")
        self.assert_problem(self.put_beside("garden-1", "recipe", "{" + " " * 70_000 + "}", JSON), 422, "bad-recipe")
        self.assert_problem(self.put_beside("kinglet-demo", "labels", "x", TEXT), 409, "set-in-file")
        self.assert_problem(self.delete("kinglet-demo"), 409, "model-in-use")
        self.assert_problem(self.delete("..%2fmodels%2fgarden-1"), 404, "not-found")
        self.assertEqual(self.files(), ["garden-1.onnx"])

    def test_a_broken_file_that_lies_there_is_removed_as_well(self):
        self.models.mkdir()
        self.start()
        (self.models / "broken.onnx").write_bytes(b"no model")
        self.assertEqual(self.known("broken")["state"], "invalid")
        self.assertEqual(self.put_beside("broken", "labels", "one\ntwo\n", TEXT).status, 200)
        self.assertEqual(self.delete("broken").status, 204)
        self.assertEqual(self.files(), [])


if __name__ == "__main__":
    main()
