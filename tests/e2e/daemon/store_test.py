# SPDX-License-Identifier: Apache-2.0
"""The history of visits as a user has it: it outlives restarts and kills, its pictures can be had, and what is wrong
with the disk is said while everything goes on."""
import json
import os
import signal
import sqlite3
import unittest

from support import Daemon, ScratchFolder, copy_visits, main

QUICK = ["source=demo:", "visits.end_after=1s", "store.flush_interval=100ms", "gate.max_fps=100"]


class History(ScratchFolder):
    def daemon(self, *flags, sets=()):
        return Daemon(*flags, sets=[*QUICK, f"store.path={self.folder / 'state'}", *sets])

    def visits(self, daemon, query=""):
        reply = daemon.ask("/api/v1/visits" + query)
        self.assertEqual(reply.status, 200, reply.body)
        return reply.json()["items"]

    def ended(self, daemon, count=1):
        """Ended visits that are on the disk."""
        def safe():
            found = [visit for visit in self.visits(daemon) if visit["state"] == "ended"]
            store = daemon.ask("/api/v1/stats").json()["store"]
            return found if len(found) >= count and store["waiting_visits"] == 0 else None
        return daemon.until(safe, f"{count} ended visits")

    def test_visits_outlive_a_restart_with_their_pictures(self):
        with self.daemon() as daemon:
            before = self.ended(daemon)[0]
            self.assertEqual(daemon.stop()[0], 0)
        with self.daemon() as daemon:
            after = daemon.ask("/api/v1/visits/" + before["id"]).json()
            for member in ("seq", "species_id", "started_at", "duration_seconds", "model_result", "source"):
                self.assertEqual(after[member], before[member])
            for kind in ("crop", "snapshot"):
                picture = daemon.ask(after["links"][kind])
                self.assertEqual(picture.status, 200)
                self.assertEqual(picture.headers["content-type"], "image/jpeg")
                self.assertTrue(picture.body.startswith(b"\xff\xd8") and picture.body.endswith(b"\xff\xd9"))
                again = daemon.ask(after["links"][kind], headers={"If-None-Match": picture.headers["etag"]})
                self.assertEqual(again.status, 304)
            newer = daemon.until(lambda: [v for v in self.visits(daemon) if v["seq"] > before["seq"] + 1], "a new visit")
            self.assertGreater(newer[0]["id"], before["id"])

    def test_the_predictions_a_visit_rests_on_outlive_a_restart(self):
        with self.daemon() as daemon:
            visit = self.ended(daemon)[0]
            path = "/api/v1/predictions/" + visit["best_prediction"]
            before = daemon.ask(path).json()
            self.assertEqual(before["visit_id"], visit["id"])
            self.assertEqual(daemon.stop()[0], 0)
        with self.daemon() as daemon:
            self.assertEqual(daemon.ask(path).json(), before)
        with sqlite3.connect(self.folder / "state" / "kinglet.db") as database:
            kept = database.execute("SELECT answer FROM predictions WHERE seq = ? ORDER BY id", [visit["seq"]]).fetchall()
        answers = [json.loads(text) for text, in kept]
        self.assertGreaterEqual(len(answers), 3)
        self.assertEqual({answer["visit_id"] for answer in answers}, {visit["id"]})
        # The looks that it began with were not enough until the last of them.
        self.assertEqual((before["outcome"], answers[-1]["outcome"]), ("accepted", "accepted"))
        self.assertIn(before, answers)

    def test_a_killed_daemon_has_lost_nothing_that_was_on_the_disk(self):
        with self.daemon() as daemon:
            before = {visit["id"] for visit in self.ended(daemon, 2)}
            daemon.stop(signal.SIGKILL)
        with self.daemon() as daemon:
            self.assertLessEqual(before, {visit["id"] for visit in self.visits(daemon)})
            self.assertEqual(daemon.ask("/readyz").json()["checks"]["store"]["status"], "pass")

    def test_species_and_days_count_the_visits(self):
        with self.daemon(sets=["time.zone=Asia/Tokyo"]) as daemon:
            visit = self.ended(daemon)[0]
            species = daemon.ask("/api/v1/species")
            self.assertIn(visit["species_id"], [one["species_id"] for one in species.json()["items"]])
            one = daemon.ask("/api/v1/species/" + visit["species_id"]).json()
            self.assertGreaterEqual(one["visits"], 1)
            self.assertEqual((sum(one["hours"]), sum(one["months"])), (one["visits"], one["visits"]))
            best = one["best_visits"][0]
            self.assertEqual(best["species_id"], visit["species_id"])
            self.assertEqual(daemon.ask(best["links"]["crop"]).status, 200)
            self.assertEqual(daemon.ask("/api/v1/species/no-such-bird").status, 404)
            days = daemon.ask("/api/v1/days").json()
            self.assertEqual(days["zone"], "Asia/Tokyo")
            hours = daemon.ask("/api/v1/days/" + days["items"][0]["date"]).json()["species"]
            self.assertEqual([len(row["hours"]) for row in hours], [24] * len(hours))
            self.assertGreaterEqual(sum(sum(row["hours"]) for row in hours), days["items"][0]["visits"])
            self.assertEqual(daemon.ask("/api/v1/days?from=yesterday").status, 400)
            self.assertEqual(daemon.ask("/api/v1/days/2026-02-30").status, 404)

    def test_a_damaged_database_is_moved_aside_and_reported(self):
        state = self.folder / "state"
        state.mkdir()
        (state / "kinglet.db").write_bytes(b"this is no database" * 1000)
        with self.daemon() as daemon:
            self.ended(daemon)
            self.assertEqual(len(list(state.glob("kinglet.db.damaged-*"))), 1)
            daemon.says("the database is damaged")
            self.assertEqual(daemon.ask("/readyz").json()["checks"]["store"]["status"], "pass")

    def test_what_can_be_read_of_a_damaged_database_is_saved(self):
        state = self.folder / "state"
        with self.daemon() as daemon:
            self.ended(daemon)
        copy_visits(state, 1000)
        with sqlite3.connect(state / "kinglet.db") as database:
            pages = [row[0] for row in database.execute(
                "SELECT pageno FROM dbstat WHERE name = 'visits' AND pagetype = 'leaf' ORDER BY path")]
        database.close()
        with open(state / "kinglet.db", "r+b") as file:
            file.seek((pages[len(pages) // 2] - 1) * 4096)
            file.write(b"noise..." * 512)
        (state / "kinglet.db-wal").touch()  # as after a power cut: it is looked at as a whole
        with self.daemon() as daemon:
            daemon.says("store: saved from kinglet.db.damaged-")
            saved = daemon.ask("/api/v1/stats").json()["store"]["salvaged_visits_total"]
            self.assertGreater(saved, 900)
            self.assertLess(saved, 1001)
            rows = daemon.until(lambda: daemon.ask("/api/v1/visits.csv").body.count(b"row ") > 900, "them in the list")
            self.assertTrue(rows)
            daemon.says(f"{saved} visits (0 reviewed)")

    def test_a_folder_that_cannot_be_had_is_said_and_visits_go_on(self):
        with Daemon(sets=[*QUICK, "store.path=/proc/self"]) as daemon:
            daemon.until(lambda: self.visits(daemon), "a visit")
            store = daemon.ask("/api/v1/stats").json()["store"]
            self.assertEqual(store["state"], "memory")
            self.assertIn("/proc/self", store["note"])
            ready = daemon.ask("/readyz")
            self.assertEqual(ready.status, 200)
            self.assertEqual(ready.json()["checks"]["store"]["status"], "warn")

    def test_a_folder_that_is_pulled_and_put_back_gets_the_visits_of_meanwhile(self):
        state, away = self.folder / "state", self.folder / "away"
        with self.daemon() as daemon:
            self.ended(daemon)
            os.rename(state, away)
            daemon.until(lambda: daemon.ask("/api/v1/stats").json()["store"]["state"] == "waiting", "a waiting store")
            last = daemon.until(lambda: [v for v in self.visits(daemon) if v["state"] == "ended"], "a visit meanwhile")[0]
            os.rename(away, state)
            daemon.until(lambda: daemon.ask("/api/v1/stats").json()["store"]["state"] == "disk", "a store on the disk")
            daemon.stop(signal.SIGKILL)
        with self.daemon() as daemon:
            self.assertEqual(daemon.ask("/api/v1/visits/" + last["id"]).status, 200)

    def test_the_store_is_in_the_metrics(self):
        with self.daemon(sets=["store.quota=20MiB"]) as daemon:
            self.ended(daemon)
            text = daemon.ask("/metrics").body.decode()
            self.assertIn("kinglet_store_quota_bytes 20971520\n", text)
            self.assertRegex(text, r"kinglet_store_written_bytes_total [1-9]")
            self.assertRegex(text, r"kinglet_store_bytes [1-9]")
            self.assertIn("kinglet_store_dropped_writes_total 0\n", text)

    def test_a_zone_that_is_not_there_ends_the_start(self):
        daemon = Daemon(sets=[*QUICK, "time.zone=Mars/Olympus"], wait=False)
        code, _ = daemon.stop(0)
        self.assertEqual(code, 78, "".join(daemon.lines))
        self.assertIn("Mars/Olympus", "".join(daemon.lines))


if __name__ == "__main__":
    main()
