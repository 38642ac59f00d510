# SPDX-License-Identifier: Apache-2.0
"""The API's own document: complete, right in its examples, and true of every real answer."""
import base64
import json
import unittest

from support import Daemon, ScratchFolder, WithAVisit, main

from json_schema import faults  # tests/support, which support has put on the path

BINARY = ("image/", "multipart/", "application/x-tar", "text/", "application/x-ndjson", "application/openmetrics-text", "application/toml")


class Documented(ScratchFolder):
    """Judges answers by the document of the daemon that gave them."""

    def judge(self, document, operation, reply):
        documented = operation["responses"].get(str(reply.status))
        self.assertIsNotNone(documented, f"{operation['operationId']}: {reply.status} is not documented")
        if not reply.body:
            return
        media = reply.headers["content-type"].split(";")[0]
        self.assertIn(media, documented["content"], operation["operationId"])
        schema = documented["content"][media]["schema"]
        values = []
        if media == "application/json":
            values = [reply.json()]
        elif media == "application/x-ndjson":
            values = [json.loads(line) for line in reply.body.splitlines()]
        for value in values:
            self.assertEqual(list(faults(value, schema, document)), [], operation["operationId"])

    def every_get(self, daemon, concrete, headers, problems=()):
        document = daemon.ask("/api/v1/openapi.json").json()
        for path, operations in document["paths"].items():
            if "get" not in operations:
                continue
            with self.subTest(path=path):
                reply = (daemon.ask if 503 in problems else daemon.ask_again)(concrete(path), headers=headers)
                if reply.headers.get("content-type") == "application/problem+json":
                    problem = document["components"]["schemas"]["Problem"]
                    self.assertEqual(list(faults(reply.json(), problem, document)), [])
                    self.assertIn(reply.status, problems)
                elif path.startswith("/v2") and str(reply.status) not in operations["get"]["responses"]:
                    error = document["components"]["schemas"]["InferenceError"]
                    self.assertEqual(list(faults(reply.json(), error, document)), [])
                    self.assertIn(reply.status, problems)
                else:
                    self.judge(document, operations["get"], reply)
        return document


class Running(WithAVisit, Documented):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.document = cls.daemon.ask("/api/v1/openapi.json").json()
        reply = cls.daemon.ask("/api/v1/models/kinglet-demo/activate?trial=yes&frames=1", "POST", headers=cls.owner)
        cls.job = reply.json()["id"]
        cls.track = cls.unnamed_track()

    def version(self):
        return self.daemon.ask("/api/v1/model").json()["digest"].split(":")[1][:12]

    def operation(self, method, path):
        return self.document["paths"][path][method]

    def concrete(self, path):
        day = self.daemon.ask("/api/v1/days").json()["items"][0]["date"]
        path = path.replace("/species/{id}", "/species/" + self.visit["species_id"]).replace("{date}", day)
        path = path.replace("{source}", "camera").replace("{slug}", "busy").replace("{file}", "style.css")
        path = path.replace("{name}", "kinglet-demo").replace("{version}", self.version())
        path = path.replace("/jobs/{id}", "/jobs/" + self.job)
        path = path.replace("/tracks/{id}", "/tracks/" + self.unnamed_track())
        return path.replace("{id}", self.visit["id"] if "visits" in path else self.daemon.prediction()["id"])

    def test_a_public_validator_finds_nothing(self):
        try:
            import openapi_spec_validator
        except ImportError:
            self.skipTest("python3-openapi-spec-validator is not installed")
        self.assertEqual(list(openapi_spec_validator.OpenAPIV31SpecValidator(self.document).iter_errors()), [])
        broken = json.loads(json.dumps(self.document))
        del broken["info"]["title"]
        self.assertTrue(list(openapi_spec_validator.OpenAPIV31SpecValidator(broken).iter_errors()))

    def test_every_operation_has_a_name_a_role_and_its_answers(self):
        self.assertEqual(self.document["openapi"], "3.1.0")
        names = [one["operationId"] for path in self.document["paths"].values() for one in path.values()]
        self.assertEqual(len(names), len(set(names)))
        for path, operations in self.document["paths"].items():
            for method, one in operations.items():
                self.assertIn(one["x-role"], ("open", "read", "live", "admin"))
                self.assertTrue({"200", "202", "204"} & one["responses"].keys(), one["operationId"])
                for response in one["responses"].values():
                    self.assertTrue(response["description"])
                self.assertNotIn("requestBody", one if method in ("get", "delete") else {})
                wanted = {name for name in path.split("/") if name.startswith("{")}
                given = {"{" + one["name"] + "}" for one in one.get("parameters", []) if one["in"] == "path"}
                self.assertEqual(wanted, given)

    def test_what_may_change_is_marked(self):
        marked = {path for path, operations in self.document["paths"].items() for one in operations.values()
                  if one.get("x-stability") == "experimental"}
        self.assertEqual(marked, {"/api/v1/model/plan", "/api/v1/log", "/v2/models/{name}/stats",
                                  "/v2/models/{name}/versions/{version}/stats"})

    def test_every_schema_is_used_closed_and_found(self):
        text = json.dumps(self.document)
        for name in self.document["components"]["schemas"]:
            self.assertIn(f'"#/components/schemas/{name}"', text)

        def walk(value, place):
            if isinstance(value, dict):
                if value.get("type") == "object" and "properties" in value:
                    self.assertIn("additionalProperties", value, place)
                    self.assertLessEqual(set(value["required"]), value["properties"].keys(), place)
                if "$ref" in value:
                    self.assertIn(value["$ref"].split("/")[-1], self.document["components"]["schemas"])
                for name, one in value.items():
                    walk(one, f"{place}.{name}")
            elif isinstance(value, list):
                for one in value:
                    walk(one, place)
        walk(self.document["components"]["schemas"], "$")

    def test_every_example_is_what_it_explains(self):
        seen = 0
        for operations in self.document["paths"].values():
            for one in operations.values():
                bodies = [one["responses"][status] for status in one["responses"]] + [one.get("requestBody", {})]
                for media, content in [pair for body in bodies for pair in body.get("content", {}).items()]:
                    if "example" in content:
                        seen += 1
                        found = list(faults(content["example"], content["schema"], self.document))
                        self.assertEqual(found, [], one["operationId"])
                    elif not media.startswith(BINARY) and "properties" in str(content):
                        self.assertEqual(media, "application/problem+json", one["operationId"])
        self.assertGreater(seen, 25)

    def test_every_real_answer_is_as_documented(self):
        self.every_get(self.daemon, self.concrete, self.owner)

    def test_acts_are_as_documented(self):
        picture = self.daemon.ask("/snapshot.jpg").body
        for path, body, kind in (("/api/v1/classify", picture, "image/jpeg"),
                                 ("/api/v1/config/validate", "[decide]\nmin_score = 5\n[gatte]\nx = 1", "application/toml"),
                                 ("/api/v1/config/validate", "x = [", "application/toml"),
                                 ("/api/v1/control/pause", None, "text/plain"), ("/api/v1/control/resume", None, "text/plain")):
            reply = self.daemon.ask(path, "POST", body, {**self.owner, "Content-Type": kind})
            self.judge(self.document, self.operation("post", path), reply)
        path = "/v2/models/{name}/infer"
        one = self.operation("post", path)
        example = one["requestBody"]["content"]["application/json"]["example"]
        example["inputs"][0]["data"] = [base64.b64encode(picture).decode()]
        schema = one["requestBody"]["content"]["application/json"]["schema"]
        self.assertEqual(list(faults(example, schema, self.document)), [])
        reply = self.daemon.ask(self.concrete(path), "POST", json.dumps(example), {**self.owner, "Content-Type": "application/json"})
        self.judge(self.document, one, reply)
        token = json.dumps({"token": self.owner["Authorization"].split()[1]})
        reply = self.daemon.ask("/api/v1/session", "POST", token, {"Content-Type": "application/json"})
        self.judge(self.document, self.operation("post", "/api/v1/session"), reply)
        self.judge(self.document, self.operation("delete", "/api/v1/session"), self.daemon.ask("/api/v1/session", "DELETE"))

    def test_a_change_of_the_model_is_as_documented(self):
        self.daemon.until(lambda: self.daemon.ask("/api/v1/jobs/" + self.job).json()["state"] == "succeeded", "its end")
        path = "/api/v1/models/{name}/activate"
        reply = self.daemon.ask(self.concrete(path), "POST", headers=self.owner)
        self.assertEqual(reply.status, 202)
        self.judge(self.document, self.operation("post", path), reply)
        self.judge(self.document, self.operation("get", "/api/v1/jobs/{id}"), self.daemon.ask(reply.headers["location"]))

    def test_documented_requests_are_taken(self):
        path = "/api/v1/visits/{id}"
        for media, content in self.operation("patch", path)["requestBody"]["content"].items():
            for change in ({"verdict": "confirmed", "note": "on the roof"}, {"verdict": None, "note": None}):
                self.assertEqual(list(faults({"review": change}, content["schema"], self.document)), [])
                reply = self.daemon.ask(self.visit["links"]["self"], "PATCH", json.dumps({"review": change}),
                                        {**self.owner, "Content-Type": media, "If-Match": "*"})
                self.judge(self.document, self.operation("patch", path), reply)
        path = "/api/v1/config"
        for media, content in self.operation("patch", path)["requestBody"]["content"].items():
            self.assertEqual(list(faults(content["example"], content["schema"], self.document)), [])
            reply = self.daemon.ask(path, "PATCH", json.dumps({**content["example"], "gate.hot": 70}),
                                    {**self.owner, "Content-Type": media, "If-Match": "*"})
            self.judge(self.document, self.operation("patch", path), reply)
        problem = self.daemon.ask(path, "PATCH", '{"decide.min_score": 5}', {**self.owner, "Content-Type": media, "If-Match": "*"})
        self.assertEqual(problem.status, 422)
        self.assertEqual(list(faults(problem.json(), self.document["components"]["schemas"]["Problem"], self.document)), [])
        self.every_get(self.daemon, self.concrete, self.owner)
        path = "/api/v1/config/undo"
        self.judge(self.document, self.operation("post", path), self.daemon.ask(path, "POST", headers=self.owner))

    def test_naming_a_track_is_as_documented(self):
        path = "/api/v1/tracks/{id}"
        one = self.operation("patch", path)
        for review in ({"verdict": "confirmed"}, {"verdict": "not_a_bird"}):
            found = self.daemon.until(lambda: [track for track in self.daemon.ask("/api/v1/tracks").json()["items"]
                                               if track["id"] != self.track], "another track")[0]
            reply = self.daemon.ask(found["links"]["self"], "PATCH", json.dumps({"review": review}),
                                    {**self.owner, "Content-Type": "application/merge-patch+json"})
            self.judge(self.document, one, reply)

    def test_a_member_that_is_not_documented_is_found(self):
        visit = self.daemon.ask(self.visit["links"]["self"]).json()
        schema = self.document["components"]["schemas"]["Visit"]
        self.assertEqual(list(faults(visit, schema, self.document)), [])
        self.assertEqual(list(faults({**visit, "new": 1}, schema, self.document)), ["$.new: not documented"])
        for wrong in ({"seq": "1"}, {"seq": True}, {"state": "over"}, {"id": "vis_1"}, {"model_result": {}}):
            self.assertTrue(list(faults({**visit, **wrong}, schema, self.document)), wrong)


class Troubled(Documented):
    def test_answers_without_camera_model_and_history_are_as_documented(self):
        with Daemon(sets=["source=images:/nowhere", "model.path=/nowhere.onnx"]) as daemon:
            daemon.until(lambda: daemon.ask("/readyz").json()["checks"]["camera"].get("detail", "").startswith("absent"), "no camera")

            def concrete(path):
                path = path.replace("{date}", "2026-05-04").replace("{slug}", "busy").replace("{file}", "style.css")
                return path.replace("{id}", "x").replace("{source}", "camera").replace("{name}", "x").replace("{version}", "1")
            document = self.every_get(daemon, concrete, daemon.claim(), problems=(404, 503))
            self.judge(document, document["paths"]["/readyz"]["get"], daemon.ask("/readyz"))


if __name__ == "__main__":
    main()
