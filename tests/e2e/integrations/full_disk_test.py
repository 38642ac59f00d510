# SPDX-License-Identifier: Apache-2.0
"""A disk that is full is told to a phone once, and once when there is room again; no visit is lost, neither one that was on the
disk nor one that waited."""
import sqlite3
from contextlib import closing

import phone_services
import small_disk
from phone_case import Phone
from support import main

small_disk.enter()


class FullDisk(Phone):
    def test_a_full_disk_is_told_once_and_that_it_is_over(self):
        state = self.folder / "state"
        state.mkdir()
        disk = small_disk.SmallDisk(state, "8m")
        self.addCleanup(disk.stop)
        service = self.service(phone_services.ntfy)
        daemon = self.daemon(self.ntfy(service, events=["disk"]), sets=["source=demo:", "visits.end_after=1s", "store.clips=0s",
                                                                               "store.flush_interval=2s"])
        told = set()  # that have ended, by whoever asked in time

        def store():
            return daemon.ask("/api/v1/stats").json()["store"]

        def ended():
            found = {one["id"] for one in daemon.ask("/api/v1/visits?limit=500").json()["items"] if one["state"] == "ended"}
            told.update(found)
            return found
        stored = daemon.until(lambda: store()["state"] == "disk" and ended(), "a visit on the disk")
        # What can be made again takes none of so little room.
        daemon.says("packed weights are not kept")
        self.assertEqual(list((state / "packed").iterdir()), [])

        def is_full():
            disk.fill()
            ended()
            return store()["state"] == "waiting"
        daemon.until(is_full, "a full disk")
        began = service.wait()[0]
        self.assertEqual((began["title"], began["pictures"]), ("Visits cannot be written", []))
        self.assertRegex(began["text"], r"(?i)full|space")
        # It lasts, and nothing is told of it again.
        waiting = store()["waiting_visits"]
        daemon.until(lambda: disk.fill() or ended() and store()["waiting_visits"] > waiting + 1, "more visits that wait")
        self.assertLess(stored, told)
        disk.empty()
        self.assertEqual(service.wait(2)[1]["title"], "Visits are written again")
        daemon.until(lambda: store()["waiting_visits"] <= 1, "what waited is written")
        self.assertEqual(([one["title"] for one in service.messages], service.refusals),
                         (["Visits cannot be written", "Visits are written again"], []))
        self.assertLessEqual(told, ended())
        self.assertEqual(daemon.stop()[0], 0)
        with closing(sqlite3.connect(state / "kinglet.db")) as database:
            self.assertLessEqual(told, {name for name, in database.execute("SELECT id FROM visits")})
        self.assertFalse([line for line in daemon.lines if "damaged" in line], "a disk that is full damages nothing")


if __name__ == "__main__":
    main()
