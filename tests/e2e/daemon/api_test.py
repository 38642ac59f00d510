# SPDX-License-Identifier: Apache-2.0
"""Every route with the demonstration: forms of the answers, refusals, headers."""
import json
import re
import unittest

from support import Daemon, ScratchFolder, WithAVisit, main


class Api(WithAVisit, ScratchFolder):
    @classmethod
    def shown(cls):
        return ["source=demo:1", "visits.end_after=1s"]  # one bird at a time, in pictures of 1280x720

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.day = cls.daemon.ask("/api/v1/days").json()["items"][0]["date"]
        cls.version = cls.daemon.prediction()["model"]["digest"].split(":")[1][:12]
        activated = cls.daemon.ask("/api/v1/models/kinglet-demo/activate?trial=yes&frames=1", "POST", headers=cls.owner)
        cls.job = activated.json()["id"]
        cls.paths = cls.daemon.ask("/api/v1/openapi.json").json()["paths"]

    def ask(self, *arguments, **named):
        return self.daemon.ask(*arguments, **named)

    def ask_again(self, *arguments, **named):
        return self.daemon.ask_again(*arguments, **named)

    def concrete(self, path):
        """Of predictions and tracks only so many are kept: those of now are named."""
        path = path.replace("/species/{id}", "/species/" + self.visit["species_id"]).replace("{date}", self.day)
        path = path.replace("{source}", "camera").replace("{name}", "kinglet-demo").replace("{version}", self.version)
        path = path.replace("/jobs/{id}", "/jobs/" + self.job)
        if "/tracks/{id}" in path:
            path = path.replace("{id}", self.unnamed_track())
        elif "/predictions/{id}" in path:
            path = path.replace("{id}", self.daemon.prediction()["id"])
        return path.replace("{slug}", "busy").replace("{file}", "style.css").replace(
            "{id}", self.visit["id"])

    @staticmethod
    def good(path):
        """Of a GET; no backup waits here."""
        return 204 if path == "/api/v1/restore" else 200

    def test_every_get_route_answers(self):
        for path, operations in self.paths.items():
            if "get" not in operations:
                continue
            with self.subTest(path=path):
                reply = self.ask_again(self.concrete(path), headers=self.owner)
                self.assertEqual(reply.status, self.good(path), reply.body[:300])
                self.assertEqual(bool(reply.body), reply.status == 200)

    def test_every_route_refuses_other_methods_and_names_its_own(self):
        for path, operations in self.paths.items():
            for method in {"DELETE", "GET", "PATCH", "POST", "PUT"} - {own.upper() for own in operations}:
                with self.subTest(path=path, method=method):
                    reply = self.ask(self.concrete(path), method)
                    self.assert_refused(path, reply, 405, "method-not-allowed")
                    for own in operations:
                        self.assertIn(own.upper(), reply.headers["allow"])

    def test_every_get_route_answers_head_without_a_body(self):
        for path, operations in self.paths.items():
            if "get" in operations:
                with self.subTest(path=path):
                    reply = self.ask_again(self.concrete(path), "HEAD", headers=self.owner)
                    self.assertEqual((reply.status, reply.body), (self.good(path), b""))

    def test_every_route_answers_options(self):
        for path in self.paths:
            reply = self.ask(self.concrete(path), "OPTIONS")
            self.assertEqual(reply.status, 204)
            self.assertIn("OPTIONS", reply.headers["allow"])
            self.assertNotIn("content-length", reply.headers)

    def test_every_route_refuses_unknown_parameters(self):
        for path, operations in self.paths.items():
            with self.subTest(path=path):
                method = next(iter(operations)).upper()
                reply = self.ask(self.concrete(path) + "?nonsense=1", method)
                self.assert_refused(path, reply, 400, "unknown-parameter")

    def test_a_misspelt_parameter_is_told_the_nearest_name(self):
        problem = self.assert_problem(self.ask("/snapshot.jpg?widht=320"), 400, "unknown-parameter")
        self.assertIn("width", problem["hint"])

    def test_unknown_paths_are_not_found(self):
        for path in ("/nothing", "/api/v1", "/api/v1/stats/", "/api/v2/stats", "/web/..%2fpage.js", "/problems/none"):
            self.assert_problem(self.ask(path), 404, "not-found")

    def test_answers_carry_the_headers_of_the_contract(self):
        for path in ("/", "/nothing", "/api/v1/stats"):
            headers = self.ask(path).headers
            self.assertEqual(headers["x-content-type-options"], "nosniff")
            self.assertEqual(headers["referrer-policy"], "no-referrer")
            self.assertIn("frame-ancestors 'none'", headers["content-security-policy"])
            self.assertEqual(headers["cross-origin-resource-policy"], "same-origin")
            self.assertEqual(headers["cross-origin-opener-policy"], "same-origin")
            self.assertRegex(headers["x-request-id"], r"^req_[0-9A-HJKMNP-TV-Z]{26}$")
            self.assertNotIn("server", headers)

    def test_where_other_sites_may_ask_the_bird_of_a_visit_alone_may_stand_in_their_pages(self):
        other = Daemon(sets=["source=demo:1", "visits.end_after=1s", 'http.allowed_origins=["https://garden.example"]'])
        self.addCleanup(other.stop)
        crop = other.until(lambda: next((one["links"]["crop"] for one in other.ask("/api/v1/visits").json()["items"]
                                         if "crop" in one["links"]), None), "a visit with its picture")
        for path in ("/", "/snapshot.jpg", "/api/v1/visits", crop.replace("crop.jpg", "snapshot.jpg")):
            self.assertEqual(other.ask(path).headers["cross-origin-resource-policy"], "same-origin", path)
        reply = other.ask(crop)
        self.assertEqual(reply.headers["cross-origin-resource-policy"], "cross-origin")
        self.assertEqual(reply.headers["x-content-type-options"], "nosniff")

    def test_a_request_id_of_the_client_is_ignored(self):
        reply = self.ask("/livez", headers={"X-Request-Id": "mine"})
        self.assertNotIn("mine", reply.headers["x-request-id"])

    def test_the_latest_prediction_has_the_members_of_the_contract(self):
        prediction = self.daemon.prediction()
        self.assertRegex(prediction["id"], r"^prd_[0-9A-HJKMNP-TV-Z]{26}$")
        self.assertRegex(prediction["at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertIn(prediction["outcome"], ("accepted", "below_threshold", "background", "ambiguous"))
        self.assertLessEqual({"seq", "clock_synced", "source", "frame_seq", "age_ms", "crop_px"}, prediction.keys())
        self.assertEqual({"wait_ms", "preprocess_ms", "inference_ms", "postprocess_ms"}, prediction["timing"].keys())
        scores = [entry["score"] for entry in prediction["top"]]
        self.assertEqual(scores, sorted(scores, reverse=True))
        self.assertEqual({"species_id", "label", "index", "score"}, prediction["top"][0].keys())
        self.assertRegex(prediction["model"]["digest"], r"^sha256:[0-9a-f]{64}$")

    def test_visits_have_the_members_of_the_contract(self):
        visit = self.ask("/api/v1/visits/" + self.visit["id"]).json()
        self.assertRegex(visit["id"], r"^vis_[0-9A-HJKMNP-TV-Z]{26}$")
        self.assertLessEqual({"seq", "state", "source", "started_at", "duration_seconds", "clock_synced", "species_id",
                              "common_name", "model_result", "review", "count", "count_today", "first_today", "first_ever"},
                             visit.keys())
        self.assertEqual("ended_at" in visit, visit["state"] == "ended")
        result = visit["model_result"]
        self.assertEqual({"species_id", "score", "frames_seen", "frames_agreeing", "top", "model"}, result.keys())
        self.assertLessEqual(result["frames_agreeing"], result["frames_seen"])
        self.assertGreaterEqual(result["frames_agreeing"], 3)
        self.assertEqual(result["top"][0]["species_id"], visit["species_id"])
        self.assertEqual(visit["review"], {"verdict": "none"})
        own = "/api/v1/visits/" + visit["id"]
        self.assertEqual(visit["links"], {"self": own, "crop": own + "/crop.jpg", "snapshot": own + "/snapshot.jpg",
                                          "clip": own + "/clip.mjpg", "clip_file": own + "/clip.avi"})
        self.assert_problem(self.ask("/api/v1/visits/vis_00000000000000000000000000"), 404, "not-found")

    def test_visits_are_filtered(self):
        def ids(query):
            return [visit["id"] for visit in self.ask("/api/v1/visits" + query + "&limit=500").json()["items"]]
        mine = self.visit["id"]
        self.assertIn(mine, ids("?source=demo&review=unreviewed&min_score=0.5"))
        self.assertIn(mine, ids("?species=nobody&species=" + self.visit["species_id"]))
        self.assertIn(mine, ids("?since=" + self.visit["started_at"]))
        for query in ("?species=nobody", "?min_score=1", "?review=confirmed", "?source=other", "?since=2100-01-01T00:00:00Z",
                      "?until=" + self.visit["started_at"].replace("Z", "%2B00:00")):
            self.assertNotIn(mine, ids(query), query)

    def test_wrong_filters_are_refused(self):
        for query in ("limit=0", "limit=501", "since=yesterday", "since=2026-02-30T00:00:00Z", "until=2026-01-01",
                      "min_score=2", "review=good", "order=up"):
            self.assert_problem(self.ask("/api/v1/visits?" + query), 400, "bad-parameter")
        for cursor in ("", "1", "zz.0", "1.0000000000000000"):
            self.assert_problem(self.ask("/api/v1/visits?cursor=" + cursor), 400, "bad-cursor")

    def test_predictions_are_read_in_pages_that_neither_skip_nor_repeat(self):
        self.daemon.until(lambda: self.daemon.prediction()["seq"] > 12, "a dozen predictions")
        page = self.ask("/api/v1/predictions?limit=5")
        seqs = [item["seq"] for item in page.json()["items"]]
        self.assertEqual(len(seqs), 5)
        self.assertTrue(page.json()["has_more"])
        link = page.headers["link"]
        self.assertTrue(link.endswith('>; rel="next"'), link)
        following = self.ask(link[1:link.index(">")]).json()
        seqs += [item["seq"] for item in following["items"]]
        self.assertEqual(seqs, list(range(seqs[0], seqs[0] - 10, -1)), "newer ones came meanwhile")
        one = self.ask("/api/v1/predictions/" + following["items"][0]["id"]).json()
        self.assertEqual(one, following["items"][0])
        self.assert_problem(self.ask("/api/v1/predictions?outcome=accepted&cursor=" + page.json()["next_cursor"]), 400,
                            "bad-cursor")
        self.assert_problem(self.ask("/api/v1/predictions/prd_00000000000000000000000000"), 404, "not-found")
        self.assert_problem(self.ask("/api/v1/predictions?outcome=good"), 400, "bad-parameter")
        for item in self.ask("/api/v1/predictions?outcome=accepted&limit=500").json()["items"]:
            self.assertEqual(item["outcome"], "accepted")

    def test_predictions_of_a_visit_name_it(self):
        prediction = self.daemon.until(lambda: (p := self.daemon.prediction()).get("visit_id") and p, "a visit's prediction")
        visit = self.ask("/api/v1/visits/" + prediction["visit_id"]).json()
        self.assertEqual(visit["species_id"], prediction["top"][0]["species_id"])

    def test_predictions_go_on(self):
        first = self.daemon.prediction()["seq"]
        self.daemon.until(lambda: self.daemon.prediction()["seq"] > first + 3, "more predictions")

    def test_stats_add_up(self):
        stats = self.ask("/api/v1/stats").json()
        self.assertEqual(sum(stats["images"]["by_outcome"].values()), stats["images"]["total"])
        threads = stats["threads"]
        self.assertTrue(1 <= threads["in_use"] <= threads["inference"])
        self.assertTrue(0 <= threads["alone_ratio"] <= 1)
        latency = stats["latency_ms"]
        self.assertLessEqual(latency["p50"], latency["p90"])
        self.assertLessEqual(latency["p90"], latency["p99"])
        self.daemon.until(lambda: self.ask("/api/v1/stats").json()["camera"]["state"] == "streaming", "a camera")
        self.assertTrue(stats["camera"]["demonstration"])
        self.assertGreater(stats["memory"]["resident_bytes"], 1 << 20)

    def test_the_model_says_how_to_prepare_a_picture(self):
        model = self.ask("/api/v1/model").json()
        self.assertTrue(model["demonstration"])
        self.assertEqual(len(model["inputs"][0]["shape"]), 4)
        self.assertIn("mean", model["preprocess"])
        labels = self.ask(model["labels"]["href"]).json()["items"]
        self.assertEqual(len(labels), model["labels"]["count"])
        self.assertEqual(labels[-1]["role"], "background")
        self.assertEqual(len(self.ask("/api/v1/model/plan").json()["steps"]) > 0, True)

    def test_labels_are_answered_once_per_model(self):
        tag = self.ask("/api/v1/model/labels").headers["etag"]
        again = self.ask("/api/v1/model/labels", headers={"If-None-Match": tag})
        self.assertEqual((again.status, again.body), (304, b""))

    def test_health_lists_its_checks(self):
        self.assertEqual(self.ask("/livez").json()["status"], "pass")
        ready = self.daemon.until(lambda: (now := self.ask("/readyz").json())["status"] == "pass" and now, "ready")
        self.assertEqual({"model", "camera", "store"}, ready["checks"].keys())

    def test_the_snapshot_is_a_jpeg_of_the_wished_width(self):
        full = self.ask("/snapshot.jpg")
        self.assertEqual(full.headers["content-type"], "image/jpeg")
        self.assertEqual(full.headers["cache-control"], "no-store")
        self.assertTrue(full.body.startswith(b"\xff\xd8") and full.body.endswith(b"\xff\xd9"))
        small = self.ask("/snapshot.jpg?width=320")
        self.assertLess(len(small.body), len(full.body))
        self.assert_problem(self.ask("/snapshot.jpg?width=321"), 400, "bad-parameter")
        self.assertEqual(self.ask("/snapshot.jpg?overlay=1").headers["content-type"], "image/jpeg")
        self.assertTrue(self.ask_again("/stream.mjpg?overlay=1&width=320").body.startswith(b"--kinglet\r\n"))
        self.assert_problem(self.ask("/snapshot.jpg?overlay=2"), 400, "bad-parameter")

    def test_metrics_are_in_the_text_format(self):
        reply = self.ask("/metrics")
        self.assertIn("version=0.0.4", reply.headers["content-type"])
        families = set()
        for line in reply.body.decode().splitlines():
            if line.startswith("# TYPE "):
                families.add(line.split()[2])
            elif not line.startswith("#"):
                self.assertRegex(line, r'^[a-z_]+(\{[a-z_]+="(\\.|[^"\\])*"(,[a-z_]+="(\\.|[^"\\])*")*\})? [-+0-9.e]+$')
                name = re.match(r"[a-z_]+", line)[0]
                self.assertIn(re.sub(r"_(bucket|sum|count)$", "", name), families | {name} if name in families else families)
        self.assertIn("kinglet_frames_total", families)
        open_metrics = self.ask("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
        self.assertTrue(open_metrics.body.endswith(b"# EOF\n"))

    def test_long_texts_are_compressed_when_asked(self):
        reply = self.ask("/metrics", headers={"Accept-Encoding": "br, gzip"})
        self.assertEqual(reply.headers["content-encoding"], "gzip")
        self.assertTrue(reply.body.startswith(b"\x1f\x8b"))
        self.assertNotIn("content-encoding", self.ask("/livez", headers={"Accept-Encoding": "gzip"}).headers)
        self.assertNotIn("content-encoding", self.ask("/snapshot.jpg", headers={"Accept-Encoding": "gzip"}).headers)

    def test_the_page_has_no_inline_script_and_no_foreign_host(self):
        page = self.ask("/").body.decode()
        self.assertNotRegex(page, r"<script(?![^>]*src=)")
        self.assertNotRegex(page, r"\son[a-z]+=")
        self.assertNotRegex(page, r"(src|href)=\"(https?:)?//")
        for path in re.findall(r'(?:src|href)="(/web/[^"]+)"', page):
            reply = self.ask(path)
            self.assertEqual(reply.status, 200, path)
            self.assertIn("immutable", reply.headers["cache-control"])

    def test_foreign_hosts_are_refused_on_every_route(self):
        for path in [self.concrete(path) for path in self.paths] + ["/nothing"]:
            self.assert_refused(path, self.ask(path, headers={"Host": "evil.example"}), 421, "unknown-host")
        self.assertEqual(self.ask("/livez", headers={"Host": "localhost:1234"}).status, 200)

    def test_a_compressed_body_is_refused_before_it_is_read(self):
        headers = {"Content-Type": "image/jpeg", "Content-Encoding": "gzip", "Content-Length": "8000000"}
        received = self.daemon.raw(b"POST /api/v1/classify HTTP/1.1\r\nHost: localhost\r\n" + "".join(
            f"{name}: {value}\r\n" for name, value in headers.items()).encode() + b"\r\n")
        self.assertTrue(received.startswith(b"HTTP/1.1 415 "), received[:100])
        self.assertIn(b"content-encoding-refused", received)

    def test_requests_through_a_proxy_are_strangers(self):
        self.assert_problem(self.ask("/api/v1/stats", headers={"X-Forwarded-For": "8.8.8.8"}), 401, "token-required")
        self.assertEqual(self.ask("/livez", headers={"X-Forwarded-For": "8.8.8.8"}).status, 200)

    def test_broken_requests_are_refused_in_the_same_form(self):
        for bytes_, status in ((b"nonsense\r\n\r\n", 400), (b"GET / HTTP/1.1\r\n\r\n", 400),
                               (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
                               (b"GET /" + b"a" * 50_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
                               (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 8190 + b"\r\n\r\n", 431),
                               (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 500_000, 431),
                               (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: 1\r\n" * 100 + b"\r\n", 431),
                               (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: 1\r\n" * 200 + b"\r\n", 431)):
            received = self.daemon.raw(bytes_)
            head, _, body = received.partition(b"\r\n\r\n")
            self.assertTrue(received.startswith(b"HTTP/1.1 %d " % status), (bytes_[:30], received[:200]))
            self.assertIn(b"application/problem+json", head)
            self.assertEqual(json.loads(body)["status"], status)

    def test_a_head_within_the_limits_is_answered(self):
        for fill in (b"X: 1\r\n" * 98, (b"X: " + b"a" * 8187 + b"\r\n") * 3):
            received = self.daemon.raw(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + fill + b"\r\n")
            self.assertTrue(received.startswith(b"HTTP/1.1 200 "), received[:200])

    def test_a_slash_within_a_segment_makes_no_other_route(self):
        for path in ("/api%2Fv1/stats", "/api/v1%2fstats", "/api/v1/visits%2F..%2Fstats", "/api/v1/days/2026-05-04%2F"):
            self.assertIn(self.ask(path).status, (400, 404), path)
        self.assertEqual(self.ask("/api/v1/st%61ts").status, 200)
        self.assertEqual(self.ask("/v2/models/a%2Fb/ready").status, 404)

    def post(self, head, body=b""):
        return self.daemon.raw(b"POST /api/v1/classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/jpeg\r\n" + head +
                               b"\r\n\r\n" + body)

    def test_json_of_many_members_or_many_levels_is_no_work(self):
        members = "{" + ",".join(f'"{i:x}":0' for i in range(90_000)) + "}"
        for body in (members, '{"token":' * 5000 + "1" + "}" * 5000, "[" * 100_000):
            for path in ("/api/v1/session", "/api/v1/classify"):
                reply = self.ask(path, "POST", body, {"Content-Type": "application/json"})
                self.assert_problem(reply, 400, "bad-json")

    def test_chunks_of_impossible_sizes_are_refused(self):
        for size in (b"-2", b"ffffffffffffffff", b"7fffffffffffffff", b"zz", b""):
            received = self.post(b"Transfer-Encoding: chunked", size + b"\r\nabc\r\n0\r\n\r\n")
            self.assertRegex(received[:13].decode(), r"^HTTP/1\.1 4\d\d $", size)

    def test_a_body_of_two_lengths_smuggles_no_second_request(self):
        hidden = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for head in (b"Content-Length: 5\r\nTransfer-Encoding: chunked", b"Transfer-Encoding: chunked\r\nContent-Length: 5",
                     b"Content-Length: 5\r\nContent-Length: 80", b"Transfer-Encoding: identity, chunked"):
            received = self.post(head, b"0\r\n\r\n" + hidden)
            self.assertLessEqual(received.count(b"HTTP/1.1 "), 1, received)

    def test_a_request_has_one_host(self):
        received = self.daemon.raw(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
        self.assertTrue(received.startswith(b"HTTP/1.1 400 "), received[:100])

    def test_names_lead_to_no_file(self):
        for path in ("/web/..%2f..%2fetc%2fpasswd", "/web/%2e%2e", "/api/v1/visits/..%2f..%2ftokens.toml/crop.jpg",
                     "/api/v1/visits/%00/crop.jpg", "/api/v1/days/..%2ftokens.toml"):
            self.assertIn(self.ask(path).status, (400, 404), path)

    def test_line_breaks_in_headers_reach_nothing(self):
        received = self.daemon.raw(b"GET /nothing%0d%0aEvil:%201 HTTP/1.1\r\nHost: localhost\r\nX-T: a%0d%0aEvil: 1\r\n"
                                   b"Connection: close\r\n\r\n")
        self.assertTrue(received.startswith(b"HTTP/1.1 404 "), received[:100])
        self.assertNotIn(b"\nEvil", received)

    def test_several_requests_go_over_one_connection(self):
        request = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
        received = self.daemon.raw(request * 3 + request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        self.assertEqual(received.count(b"HTTP/1.1 200 "), 4)

    def test_who_sends_without_end_gets_as_many_answers_as_a_connection_has(self):
        request = b"GET /api/v1/stats HTTP/1.1\r\nHost: localhost\r\n\r\n"
        received = self.daemon.raw(request * 2000)
        self.assertEqual(received.count(b"HTTP/1.1 200 "), 20)
        self.assertEqual(received.count(b"Connection: close"), 1)
        self.assertGreater(received.index(b"Connection: close"), received.rindex(b"HTTP/1.1 200 "))


if __name__ == "__main__":
    main()
