# SPDX-License-Identifier: Apache-2.0
"""A restore that is cut: wherever that is, the state is the old one or the new one."""
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time

from support import Daemon, main
from backup_case import KINGLET, Boxes

KILLS = int(os.environ.get("KILLS", "12"))


class Kills(Boxes):
    def test_wherever_it_is_killed_the_state_is_the_old_one_or_the_new_one(self):
        old, new = self.box("old"), self.box("new")
        for box in (old, new):
            with self.daemon(box) as daemon:
                self.ended_visits(daemon)
        self.back_up(old, self.folder / "feeder.tar")
        untouched = self.folder / "untouched"
        shutil.copytree(new[0], untouched)
        taken = time.monotonic()
        self.restore(new, self.folder / "feeder.tar")
        taken = time.monotonic() - taken

        def ids(state):
            with sqlite3.connect(state / "kinglet.db") as database:
                found = {row[0] for row in database.execute("SELECT id FROM visits")}
            database.close()
            return found

        def pictures(state):
            return {path.name for path in (state / "pictures").rglob("*.jpg")}

        states = [(ids(one), pictures(one)) for one in (untouched, new[0])]
        self.assertFalse(states[0][0] & states[1][0])
        seen = set()
        for turn in range(KILLS):
            shutil.rmtree(new[0])
            shutil.copytree(untouched, new[0])
            process = subprocess.Popen([KINGLET, "restore", str(self.folder / "feeder.tar"), "--etc", str(new[1]), "--set",
                                        f"store.path={new[0]}"], stderr=subprocess.DEVNULL)
            time.sleep(random.uniform(0, taken * 1.2) if turn % 2 else taken * random.uniform(0.6, 1.1))
            process.send_signal(signal.SIGKILL)
            process.wait()
            with Daemon(sets=["source=images:/nonexistent", f"store.path={new[0]}"]):
                pass  # a start goes on where it was
            found = (ids(new[0]), pictures(new[0]))
            self.assertIn(found, states)
            self.assertFalse((new[0] / "restore" / "ready").exists())
            seen.add(states.index(found))
        self.assertTrue(seen)

    def test_one_that_waits_for_its_files_of_etc_is_not_taken_up_without_them_after_another_has_failed(self):
        old, new = self.box("old"), self.box("new")
        with self.daemon(old) as daemon:
            archive = self.owned_backup(daemon)[1]
        with self.daemon(new) as daemon:
            owner = daemon.claim()
            own = set(self.ended_visits(daemon))
            self.assertEqual(daemon.ask("/api/v1/restore", "POST", archive, owner).status, 202)
        plan = new[0] / "restore/ready/plan.json"  # as `kinglet restore` leaves it where the power goes before its last steps
        plan.write_text(json.dumps({**json.loads(plan.read_text()), "etc": str(new[1])}))
        waits = new[1].with_name("etc.restore-new")
        waits.mkdir()
        wrong = self.folder / "wrong.tar"
        wrong.write_bytes(b"no backup")
        self.restore(new, wrong, code=65)
        with self.daemon(new) as daemon:
            self.assertLessEqual(own, set(self.visits(daemon)))
        self.assertFalse(waits.exists())

    def test_a_change_that_was_cut_is_gone_on_with_from_each_of_its_steps(self):
        old, new = self.box("old"), self.box("new")
        for box in (old, new):
            with self.daemon(box) as daemon:
                owner = daemon.claim()
                self.ended_visits(daemon)
                if box is old:
                    archive = daemon.ask("/api/v1/backup", headers=owner).body
                elif box is new:
                    self.assertEqual(daemon.ask("/api/v1/restore", "POST", archive, owner).status, 202)
        waiting = self.folder / "waiting"
        shutil.copytree(new[0], waiting)
        items = [one["name"] for one in json.loads((waiting / "restore/ready/plan.json").read_text())["items"]]
        wanted = None
        for steps in range(2 * len(items) + 1):  # of each item: the old one goes, the new one comes
            shutil.rmtree(new[0])
            shutil.copytree(waiting, new[0])
            ready, before = new[0] / "restore/ready", new[0] / "before-restore"
            (ready / "begun").write_bytes(b"")
            for number in range(steps):
                name = items[number // 2]
                place = new[0] / name.removeprefix("state/") if name.startswith("state/") else new[0] / name
                for folder in ("state", "models"):
                    (before / folder).mkdir(parents=True, exist_ok=True)
                if number % 2 == 0 and place.exists():
                    place.rename(before / name)
                elif number % 2 == 1 and (ready / name).exists():
                    (ready / name).rename(place)
            with Daemon(sets=["source=images:/nonexistent", f"store.path={new[0]}"]) as daemon:
                found = set(self.visits(daemon))
            wanted = wanted or found
            self.assertTrue(found)
            self.assertEqual(found, wanted)
            self.assertFalse((new[0] / "restore").exists())


if __name__ == "__main__":
    main()
