# SPDX-License-Identifier: Apache-2.0
"""What goes on by itself: server-sent events and the camera's stream, their places, and who is sent away."""
import http.client
import itertools
import json
import re
import socket
import unittest

from support import PATIENCE, SLOWER, Daemon, ScratchFolder, bird_show, main, picture_within

QUICK = bird_show()


class Listener:
    """A connection that stays open; without a wish from an address of its own, since places are counted by address."""
    numbers = itertools.count()

    def __init__(self, daemon, path, headers=None, source=None, buffer=None):
        number = next(Listener.numbers)
        source = source or f"127.1.{number // 200}.{number % 200 + 1}"
        self.connection = http.client.HTTPConnection(*daemon.url, timeout=PATIENCE)
        self.connection.sock = socket.socket()
        self.connection.sock.settimeout(PATIENCE)
        if buffer:
            self.connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.connection.sock.bind((source, 0))
        self.connection.sock.connect(daemon.url)
        self.connection.request("GET", path, headers=headers or {})
        self.response = self.connection.getresponse()
        self.status = self.response.status
        self.headers = {name.lower(): value for name, value in self.response.getheaders()}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.response.close()
        self.connection.close()

    def event(self):
        """The next one, as a dict of its fields with the data read."""
        fields = {}
        while True:
            line = self.response.readline().decode()
            if not line:
                raise AssertionError("the events ended")
            if line == "\n":
                if "event" in fields:
                    return {**fields, "data": json.loads(fields["data"])}
                fields = {}
            elif not line.startswith(":"):
                name, _, value = line.rstrip("\n").partition(": ")
                fields[name] = value

    def until(self, matches):
        while not matches(event := self.event()):
            pass
        return event

    def part(self):
        """Headers and bytes of the next picture."""
        line = self.response.readline()
        while line == b"\r\n":
            line = self.response.readline()
        assert line == b"--kinglet\r\n", line
        headers = {}
        while (line := self.response.readline()) != b"\r\n":
            name, _, value = line.decode().rstrip().partition(": ")
            headers[name] = value
        return headers, self.response.read(int(headers["Content-Length"]))


def width_of(jpeg):
    at = 2
    while jpeg[at + 1] not in (0xC0, 0xC2):
        at += 2 + int.from_bytes(jpeg[at + 2:at + 4], "big")
    return int.from_bytes(jpeg[at + 7:at + 9], "big")


class Live(ScratchFolder):
    sets = QUICK

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(sets=cls.sets)
        cls.daemon.first_prediction()

    @classmethod
    def tearDownClass(cls):
        code, _ = cls.daemon.stop()
        assert code == 0, code

    def setUp(self):
        super().setUp()
        # Places of the test before this one are free again.
        self.daemon.until(lambda: self.streams() == (0, 0), "free places")

    def streams(self):
        streams = self.daemon.ask("/api/v1/stats").json()["streams"]
        return streams["sse"], streams["mjpeg"]

    def listen(self, path, **named):
        listener = Listener(self.daemon, path, **named)
        self.addCleanup(listener.close)
        return listener


class Events(Live):
    def test_a_visit_begins_and_ends(self):
        listener = self.listen("/api/v1/events")
        self.assertEqual(listener.headers["content-type"], "text/event-stream")
        self.assertEqual(listener.headers["cache-control"], "no-store")
        start = listener.until(lambda event: event["event"] == "visit.start")
        end = listener.until(lambda event: event["event"] == "visit.end")
        self.assertRegex(start["id"], r"^[0-9a-f]+-\d+$")
        self.assertEqual(int(start["id"].split("-")[1]), start["data"]["seq"])
        self.assertLess(start["data"]["seq"], end["data"]["seq"])
        self.assertEqual({"seq", "at", "visit"}, start["data"].keys())
        self.assertEqual((start["data"]["visit"]["state"], end["data"]["visit"]["state"]), ("open", "ended"))
        kept = self.daemon.ask(end["data"]["visit"]["links"]["self"]).json()
        for member in ("id", "seq", "species_id", "started_at", "ended_at", "model_result", "count_today"):
            self.assertEqual(end["data"]["visit"][member], kept[member])

    def test_a_picture_is_there_within_a_second_of_a_visits_start_and_the_best_one_after_its_end(self):
        listener = self.listen("/api/v1/events?types=visit")
        seen = []

        def within_a_second():
            event = listener.event()
            seen.append({"type": event["event"], **event["data"]})
            return picture_within(seen, SLOWER)
        first, told = self.daemon.until(within_a_second, "a picture within a second")
        visit = first["visit"]
        crop = told["visit"]["links"]["crop"]
        early = self.daemon.ask(crop)
        self.assertEqual((early.status, early.body[:2]), (200, b"\xff\xd8"))
        still = self.daemon.ask(visit["links"]["self"]).json()
        best = self.daemon.until(lambda: "snapshot" in self.daemon.ask(visit["links"]["self"]).json()["links"] and self.daemon.ask(crop),
                                 "the best picture")
        self.assertIn("immutable", best.headers["cache-control"])
        if still["state"] == "open":
            self.assertEqual(early.headers["cache-control"], "no-store")
        self.assertEqual(self.daemon.ask(crop + "?v=first").status, 200)

    def test_without_a_wish_there_are_no_predictions(self):
        listener = self.listen("/api/v1/events")
        seen = {listener.event()["event"] for _ in range(4)}
        self.assertLessEqual(seen, {"visit.start", "visit.picture", "visit.update", "visit.end", "camera"})

    def test_predictions_come_each_once_and_in_order(self):
        listener = self.listen("/api/v1/events?types=prediction")
        events = [listener.event() for _ in range(12)]
        self.assertEqual({event["event"] for event in events}, {"prediction"})
        seqs = [event["data"]["prediction"]["seq"] for event in events]
        self.assertEqual(seqs, list(range(seqs[0], seqs[0] + 12)))
        one = events[-1]["data"]["prediction"]
        self.assertEqual(self.daemon.ask("/api/v1/predictions/" + one["id"]).json(), one)

    def test_who_comes_is_told_of_no_prediction_of_before(self):
        def of_before():
            items = self.daemon.ask("/api/v1/predictions?limit=20").json()["items"]
            return items if len(items) == 20 else None
        # The newest of them may be on their way to other listeners just then.
        oldest = min(one["seq"] for one in self.daemon.until(of_before, "20 predictions"))
        first = self.listen("/api/v1/events?types=prediction").event()
        self.assertGreater(first["data"]["prediction"]["seq"], oldest + 10)

    def test_a_kind_stands_for_all_of_it(self):
        listener = self.listen("/api/v1/events?types=visit,stats")
        seen = {listener.event()["event"] for _ in range(5)}
        self.assertLessEqual(seen, {"visit.start", "visit.picture", "visit.update", "visit.end", "stats"})
        stats = self.listen("/api/v1/events?types=stats").event()["data"]["stats"]
        self.assertGreaterEqual(stats["streams"]["sse"], 1)

    def test_an_unknown_type_is_refused_with_the_known_ones(self):
        for types in ("visits", "", "visit,", "prediction,nonsense"):
            problem = self.assert_problem(self.daemon.ask("/api/v1/events?types=" + types), 400, "bad-parameter")
            self.assertIn("visit.start", problem["hint"])

    def test_who_was_away_gets_what_was_missed_once(self):
        def is_start(event):
            return event["event"] == "visit.start"
        all_along = self.listen("/api/v1/events?types=visit.start,visit.end")
        with Listener(self.daemon, "/api/v1/events?types=visit.start,visit.end") as first:
            last = first.until(is_start)
        expected = [all_along.until(lambda event: event["id"] == last["id"])] + [all_along.event() for _ in range(2)]
        for path, headers in (("&last_event_id=" + last["id"], {}), ("", {"Last-Event-ID": last["id"]})):
            with Listener(self.daemon, "/api/v1/events?types=visit.start,visit.end" + path, headers) as again:
                self.assertEqual([again.event() for _ in range(2)], expected[1:])

    def test_what_is_not_known_any_more_is_said(self):
        newest = self.listen("/api/v1/events?types=prediction").event()["id"]
        boot, seq = newest.split("-")
        for last in ("00000000-1", "nonsense", boot, boot + "-", boot + "-" + str(int(seq) + 10**6), boot + "-18446744073709551616"):
            with Listener(self.daemon, "/api/v1/events?types=visit.deleted", {"Last-Event-ID": last}) as again:
                self.assertEqual(again.event()["event"], "resync", last)

    def test_a_review_and_a_removal_are_told(self):
        owner = self.daemon.claim()
        listener = self.listen("/api/v1/events?types=visit")
        path = listener.until(lambda event: event["event"] == "visit.end")["data"]["visit"]["links"]["self"]
        self.daemon.until(lambda: "snapshot" in self.daemon.ask(path).json()["links"], "the picture, after which it stays as it is")
        headers = {**owner, "If-Match": "*", "Content-Type": "application/json"}
        reply = self.daemon.ask(path, "PATCH", '{"review": {"verdict": "confirmed"}}', headers)
        self.assertEqual(reply.status, 200, reply.body)
        told = listener.until(lambda event: event["event"] == "visit.reviewed")["data"]["visit"]
        self.assertEqual(told, reply.json())
        self.assertEqual(self.daemon.ask(path, "DELETE", headers=owner).status, 204)
        told = listener.until(lambda event: event["event"] == "visit.deleted")["data"]["visit"]
        self.assertEqual(told, {"id": reply.json()["id"]})


class Stream(Live):
    sets = ["source=demo:"]  # pictures of 1280x720

    def test_pictures_of_the_wished_size_come_one_after_the_other(self):
        for query, width in (("", 640), ("?width=320&fps=15", 320), ("?fps=1e9", 640), ("?width=1280", 1280)):
            with Listener(self.daemon, "/stream.mjpg" + query) as listener:
                self.assertEqual(listener.headers["content-type"], "multipart/x-mixed-replace; boundary=kinglet")
                parts = [listener.part() for _ in range(3)]
            seqs = [int(headers["X-Frame-Seq"]) for headers, _ in parts]
            self.assertEqual(seqs, sorted(set(seqs)))
            for headers, jpeg in parts:
                self.assertTrue(jpeg.startswith(b"\xff\xd8") and jpeg.endswith(b"\xff\xd9"))
                self.assertEqual(width_of(jpeg), width)
                self.assertRegex(headers["X-Timestamp"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")

    def test_wrong_wishes_are_refused(self):
        for query in ("width=641", "fps=fast", "fps=nan", "fps=", "width="):
            self.assert_problem(self.daemon.ask("/stream.mjpg?" + query), 400, "bad-parameter")

    def test_a_watcher_who_does_not_read_is_sent_away(self):
        self.assertEqual(self.listen("/stream.mjpg?width=1280&fps=15", buffer=4096).status, 200)
        self.daemon.until(lambda: self.streams() == (0, 0), "that the watcher is gone")


class Places(Live):
    PICTURES = "/stream.mjpg?fps=0.1"  # so few that one who does not read them is not sent away

    def assert_full(self, path, source):
        with Listener(self.daemon, path, source=source) as refused:
            self.assertEqual(refused.status, 503)
            self.assertEqual(refused.headers["retry-after"], "10")
            self.assertEqual(json.loads(refused.response.read())["type"], "/problems/too-many-streams")

    def test_one_address_has_three_of_each_and_gets_them_back(self):
        for path in ("/api/v1/events", self.PICTURES):
            listeners = [self.listen(path, source="127.0.0.1") for _ in range(3)]
            self.assertEqual([one.status for one in listeners], [200] * 3)
            self.assert_full(path, "127.0.0.1")
            with Listener(self.daemon, path, source="127.0.0.2") as other:
                self.assertEqual(other.status, 200)
            listeners[0].close()

            def free(path=path):
                with Listener(self.daemon, path, source="127.0.0.1") as again:
                    return again.status == 200
            self.daemon.until(free, "a free place")
            for one in listeners:
                one.close()

    def test_with_all_places_taken_everything_else_is_answered(self):
        for i in range(8):
            self.assertEqual(self.listen("/api/v1/events", source=f"127.0.1.{1 + i // 3}").status, 200)
        for i in range(4):
            self.assertEqual(self.listen(self.PICTURES, source=f"127.0.1.{1 + i // 3}").status, 200)
        self.assertEqual(self.streams(), (8, 4))
        for i in range(50):
            self.assert_full("/api/v1/events" if i % 2 else "/stream.mjpg", f"127.0.2.{1 + i}")
            self.assertEqual(self.daemon.ask("/healthz").status, 200)
        metrics = self.daemon.ask("/metrics").body.decode()
        self.assertIn('\nkinglet_http_streams{kind="sse"} 8\n', metrics)
        self.assertIn('\nkinglet_http_streams{kind="mjpeg"} 4\n', metrics)
        # The watchers themselves may ask as well.
        with Listener(self.daemon, "/livez", source="127.0.1.1") as own:
            self.assertEqual(own.status, 200)


class End(ScratchFolder):
    def test_open_streams_do_not_hold_up_the_end(self):
        daemon = Daemon(sets=QUICK)
        daemon.first_prediction()
        with Listener(daemon, "/api/v1/events"), Listener(daemon, "/stream.mjpg"):
            self.assertEqual(daemon.stop()[0], 0)

    def test_what_happens_to_the_camera_is_told(self):
        with Daemon(sets=QUICK) as other:
            picture = other.until(lambda: (reply := other.ask("/snapshot.jpg")).status == 200 and reply.body, "a picture")
        pictures = self.folder / "pictures"
        with Daemon(sets=[f"source=images:{pictures}"]) as daemon:
            daemon.until(lambda: daemon.ask("/api/v1/stats").json()["camera"]["state"] == "absent", "no camera")
            with Listener(daemon, "/api/v1/events?types=camera") as listener:
                made = self.folder / "made"
                made.mkdir()
                (made / "one.jpg").write_bytes(picture)
                made.rename(pictures)
                told = listener.until(lambda event: event["data"]["camera"]["state"] == "streaming")
                self.assertEqual(told["event"], "camera")

    def test_http_1_0_readers_are_served_until_they_go(self):
        with Daemon(sets=QUICK) as daemon:
            daemon.first_prediction()
            with socket.create_connection(daemon.url, PATIENCE) as connection:
                connection.sendall(b"GET /api/v1/events?types=prediction HTTP/1.0\r\n\r\n")
                received = b""
                while received.count(b"\nevent: prediction\n") < 3:
                    received += connection.recv(65536)
            self.assertNotRegex(received.split(b"\r\n\r\n", 1)[1].split(b"\n")[0], re.compile(rb"^[0-9a-f]+\r$"))


if __name__ == "__main__":
    main()
