# SPDX-License-Identifier: Apache-2.0
"""The whole history over HTTP: visits as CSV, however many there are, and throughput over weeks."""
import contextlib
import csv
import datetime
import io
import socket
import sqlite3
import unittest

from support import Daemon, ScratchFolder, bird_show, copy_visits, main

QUICK = [*bird_show(), "store.flush_interval=100ms"]
MANY = 2300
PLACES = 4  # for long answers


class Export(ScratchFolder):
    def setUp(self):
        super().setUp()
        self.state = self.folder / "state"
        with self.daemon() as daemon:
            daemon.until(lambda: self.pictured(daemon), "a visit on the disk")

    def daemon(self):
        return Daemon(sets=[*QUICK, f"store.path={self.state}"])

    def pictured(self, daemon):
        return [one for one in daemon.ask("/api/v1/visits").json()["items"] if "snapshot" in one["links"]]

    def test_all_visits_come_as_csv_with_the_filters_of_the_list(self):
        copy_visits(self.state, MANY)
        with self.daemon() as daemon:
            reply = daemon.ask("/api/v1/visits.csv?until=2100-01-01T00:00:00Z")
            self.assertEqual(reply.status, 200)
            self.assertTrue(reply.headers["content-type"].startswith("text/csv"))
            self.assertIn("attachment", reply.headers["content-disposition"])
            rows = list(csv.DictReader(io.StringIO(reply.body.decode(), newline="")))
            seqs = [int(row["seq"]) for row in rows]
            self.assertEqual(seqs, sorted(set(seqs), reverse=True))
            notes = [row["note"] for row in rows if row["note"]]
            self.assertEqual(notes, [f'row {i}, "quoted"\n=1+1' for i in range(MANY, 0, -1)])
            oldest = list(csv.DictReader(io.StringIO(daemon.ask("/api/v1/visits.csv?order=asc").body.decode())))
            self.assertEqual(oldest[0]["seq"], rows[-1]["seq"])
            header = daemon.ask("/api/v1/visits.csv?species=nobody").body
            self.assertEqual(header.count(b"\r\n"), 1)
            self.assertTrue(header.startswith(b"id,seq,started_at,"))
            self.assert_problem(daemon.ask("/api/v1/visits.csv?limit=5"), 400, "unknown-parameter")
            self.assert_problem(daemon.ask("/api/v1/visits.csv?order=up"), 400, "bad-parameter")

    def test_http_1_0_gets_the_same_without_chunks(self):
        copy_visits(self.state, MANY)
        with self.daemon() as daemon:
            got = daemon.raw(b"GET /api/v1/visits.csv?order=asc HTTP/1.0\r\n\r\n")
            head, _, body = got.partition(b"\r\n\r\n")
            self.assertIn(b" 200 ", head.splitlines()[0])
            self.assertNotIn(b"chunked", head.lower())
            self.assertGreaterEqual(len(list(csv.DictReader(io.StringIO(body.decode(), newline="")))), MANY)

    def test_readers_that_do_not_read_hold_only_their_places(self):
        copy_visits(self.state, MANY, "n" * 20_000)
        request = b"GET /api/v1/visits.csv HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with self.daemon() as daemon, contextlib.ExitStack() as sleepers:
            for _ in range(PLACES):
                sleeper = sleepers.enter_context(socket.create_connection(daemon.url))
                sleeper.sendall(request)
                self.assertTrue(sleeper.recv(1))
            refused = daemon.ask("/api/v1/visits.csv")
            self.assert_problem(refused, 503, "too-many-streams")
            self.assertEqual(refused.headers["retry-after"], "10")
            self.assertEqual(daemon.ask("/api/v1/visits?limit=1").status, 200)
            sleepers.close()
            daemon.until(lambda: daemon.ask("/api/v1/visits.csv?since=2100-01-01T00:00:00Z").status == 200, "a free place")

    def test_throughput_is_a_history(self):
        minute = datetime.datetime(2026, 5, 4, 6, 0, tzinfo=datetime.timezone.utc).timestamp() * 1000
        with sqlite3.connect(self.state / "kinglet.db") as database:
            for i in range(300):
                database.execute("INSERT INTO throughput(at_ms, clock_synced, span_ms, frames, images, accepted, "
                                 "latency_p50_ms, latency_p99_ms) VALUES(?, 1, 300000, 9000, ?, 7, 33.125, 48.5)",
                                 (minute + 300_000 * i, 3000 + i))
        database.close()
        with self.daemon() as daemon:
            page = daemon.ask("/api/v1/stats/history").json()
            self.assertEqual((len(page["items"]), page["has_more"]), (288, True))
            self.assertEqual([item["images"] for item in page["items"]], list(range(3299, 3011, -1)))
            page = daemon.ask("/api/v1/stats/history?since=2026-05-04T06:00:00Z&until=2026-05-04T06:05:00Z").json()
            self.assertEqual(page, {"has_more": False, "items": [{
                "at": "2026-05-04T06:00:00.000Z", "clock_synced": True, "span_seconds": 300.0, "frames": 9000,
                "images": 3000, "accepted": 7, "images_per_second": 10.0, "latency_ms": {"p50": 33.125, "p99": 48.5}}]})
            self.assert_problem(daemon.ask("/api/v1/stats/history?limit=2001"), 400, "bad-parameter")


if __name__ == "__main__":
    main()
