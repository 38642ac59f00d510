# SPDX-License-Identifier: Apache-2.0
"""Nothing that was promised is lost: kingletd, with visits and pictures coming all the time, is killed at random moments on
disks that sync at once or slowly. A visit is promised store.flush_interval after its end was told, a review or a removal
when it was answered. 30 kills in every run, where a machine that is busy with other tests has GRACE seconds more. By hand:
kills_test.py [--kills 1000 | --measure SECONDS]; the second tells for each speed of disk how long visits take to the
disk."""
import argparse
import http.client
import itertools
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from contextlib import closing
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("DEV_BUILD_FOLDER", SOURCE / "build")) / "tests"
for name, built in (("KINGLETD", "bin/kingletd"), ("KINGLET", "bin/kinglet"), ("SLOW_DISK", "bin/libslow_disk.so")):
    os.environ.setdefault(name, str(BUILD / built))
os.environ.setdefault("SOURCE_FOLDER", str(SOURCE))
sys.path.insert(0, str(SOURCE / "tests/e2e/daemon"))
from support import PATIENCE, Daemon, ScratchFolder, Starved, bird_show  # noqa: E402

OPTIONS = argparse.ArgumentParser()
OPTIONS.add_argument("--kills", type=int)
OPTIONS.add_argument("--measure", type=float)
OPTIONS = OPTIONS.parse_args()
KINGLET, KILLS = os.environ["KINGLET"], OPTIONS.kills or 30
SPEEDS = ["0", "20", "0-100", "150", "0-300", "300"]  # milliseconds a sync takes
INTERVAL = 3
GRACE = 0 if OPTIONS.kills else 1.5
ENDINGS = {"crop_bytes": "crop.jpg", "frame_bytes": "frame.jpg", "clip_bytes": "clip.mjpeg"}


TOKEN = "owner.json"


class Run:
    """One life of the daemon, and what it promised in it."""

    def __init__(self, folder, speed):
        self.token = folder / TOKEN
        self.ended = {}     # id: when its end was told, and how long the store had waited for a processor by then
        self.reviewed = {}  # id: verdict that was answered
        self.removed = set()
        self.wished_away = set()
        self.daemon = Daemon(sets=[*bird_show(), f"store.flush_interval={INTERVAL}s", "store.clips=1s",
                                   "store.write_budget=10GiB", f"store.path={folder / 'state'}", "log.level=info"],
                             env={"SLOW_DISK_MS": speed, "SLOW_DISK_LOG": str(folder / "synced.txt")})
        self.store = Starved(self.daemon.process.pid, thread="store")
        self.stopped = threading.Event()
        self.threads = [threading.Thread(target=self.listen, daemon=True),
                        threading.Thread(target=self.review, daemon=True)]

    def start(self):
        if not self.token.exists():
            self.token.write_text(json.dumps(self.daemon.claim()))
        self.owner = json.loads(self.token.read_text())
        for thread in self.threads:
            thread.start()

    def listen(self):
        connection = http.client.HTTPConnection(*self.daemon.url, timeout=PATIENCE)
        try:
            connection.request("GET", "/api/v1/events?types=visit", headers=self.owner)
            kind = None
            for line in connection.getresponse():
                if line.startswith(b"event: "):
                    kind = line[7:].strip()
                elif line.startswith(b"data: ") and kind == b"visit.end":
                    self.ended[json.loads(line[6:])["visit"]["id"]] = (time.monotonic(), self.store.seconds())
        except (OSError, http.client.HTTPException, ValueError):
            pass

    def review(self):
        """Now and then somebody names a visit or removes it."""
        while not self.stopped.wait(random.uniform(0.2, 1.0)):
            known = list(self.ended)[-6:]
            if not known:
                continue
            visit = random.choice(known)
            headers = {**self.owner, "If-Match": "*", "Content-Type": "application/merge-patch+json"}
            try:
                if random.random() < 0.3:
                    self.wished_away.add(visit)
                    if self.daemon.ask("/api/v1/visits/" + visit, "DELETE", None, headers).status == 204:
                        self.removed.add(visit)
                else:
                    body = json.dumps({"review": {"verdict": "confirmed"}})
                    if self.daemon.ask("/api/v1/visits/" + visit, "PATCH", body, headers).status == 200:
                        self.reviewed[visit] = "confirmed"
            except (OSError, http.client.HTTPException):
                return

    def kill(self):
        self.stopped.set()
        killed, starved = time.monotonic(), self.store.seconds()
        self.daemon.process.send_signal(signal.SIGKILL)
        self.daemon.stop(signal.SIGKILL)
        for thread in self.threads:
            thread.join(PATIENCE)
        ended = dict(self.ended)
        promised = {visit for visit, (at, by_then) in ended.items() if at + INTERVAL + GRACE + starved - by_then <= killed}
        promised |= set(self.reviewed)
        return promised - self.wished_away


def rows_of(state):
    """By id, as the next start will find them: of a copy, because who opens the file changes what it finds."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("kinglet.db", "kinglet.db-wal"):
            if (state / name).exists():
                shutil.copy(state / name, folder)
        return read_rows(Path(folder) / "kinglet.db")


def read_rows(file):
    with closing(sqlite3.connect(file)) as database:
        database.row_factory = sqlite3.Row
        return {row["id"]: dict(row) for row in database.execute("SELECT * FROM visits")}


class Kills(ScratchFolder):
    def setUp(self):
        super().setUp()
        self.state, self.log = self.folder / "state", self.folder / "synced.txt"

    def synced(self):
        """Pictures and folders in the order in which they were synced."""
        if not self.log.exists():
            return []
        return self.log.read_text(errors="replace").splitlines()

    def faults_of_pictures(self, rows):
        """A row that tells of a picture without the whole, synced file."""
        synced = {}
        for number, path in enumerate(self.synced()):
            synced[re.sub(r"\.\w{6}$", "", path)] = number
        faults = []
        for visit, row in rows.items():
            for column, ending in ENDINGS.items():
                if not row[column]:
                    continue
                path = self.state / "pictures" / visit[-1] / f"{visit}.{ending}"
                if not path.exists() or path.stat().st_size != row[column]:
                    faults.append(f"{path.name}: {row[column]} bytes are told")
                elif str(path) not in synced:
                    faults.append(f"{path.name} was never synced")
                elif synced.get(str(path.parent), -1) < synced[str(path)]:
                    faults.append(f"{path.parent} was not synced after {path.name}")
        return faults

    @unittest.skipIf(OPTIONS.measure, "--measure")
    def test_what_was_promised_is_found_after_every_kill(self):
        promised, reviewed, removed, total, lost, faults, late_pictures = set(), {}, set(), 0, [], [], 0
        for number in itertools.count():
            if number >= KILLS and total > KILLS or number >= 3 * KILLS:
                break  # a busy machine has fewer visits, and dies more often for them
            speed = SPEEDS[number % len(SPEEDS)]
            run = Run(self.folder, speed)
            run.start()
            time.sleep(random.uniform(0.5, 3 * INTERVAL + 2 * GRACE))
            new = run.kill()
            promised = (promised | new) - run.wished_away
            total += len(new)
            removed |= run.removed
            reviewed.update(run.reviewed)
            rows = rows_of(self.state)
            what = f"kill {number + 1}, {speed} ms a sync"
            lost += [f"{what}: {visit} is lost" for visit in promised - rows.keys()]
            lost += [f"{what}: the review of {visit} is lost" for visit in (promised & reviewed.keys() & rows.keys())
                     if rows[visit]["verdict"] != 1]
            lost += [f"{what}: {visit} was removed and is there" for visit in removed & rows.keys()]
            faults += [f"{what}: {fault}" for fault in self.faults_of_pictures(rows)]
            late_pictures += sum(1 for visit in new & rows.keys() if not rows[visit]["crop_bytes"])
            promised &= rows.keys()
            if number % 50 == 49:
                print(f"{number + 1} kills: {total} promised, {len(lost)} lost, {len(faults)} pictures told and not there, "
                      f"{late_pictures} rows before their pictures", file=sys.stderr, flush=True)
        print(f"{number} kills: {total} promised, {len(lost)} lost, {len(faults)} pictures told and not there, "
              f"{late_pictures} rows before their pictures", file=sys.stderr)
        self.assertEqual((lost, faults), ([], []))
        self.assertGreater(total, KILLS, "there was hardly anything to lose")
        checked = subprocess.run([KINGLET, "store", "check", "--path", self.state], capture_output=True, text=True, check=False)
        self.assertIn(checked.returncode, (0, 2), checked.stdout + checked.stderr)


    @unittest.skipUnless(OPTIONS.measure, "by hand: --measure SECONDS")
    def test_how_long_visits_take_to_the_disk(self):
        for speed in SPEEDS:
            shutil.rmtree(self.state, ignore_errors=True)
            (self.folder / TOKEN).unlink(missing_ok=True)
            run = Run(self.folder, speed)
            run.start()
            run.stopped.set()  # no reviews
            row_at, picture_at = {}, {}
            end = time.monotonic() + OPTIONS.measure
            while time.monotonic() < end:
                for visit, row in read_rows(self.state / "kinglet.db").items():
                    row_at.setdefault(visit, time.monotonic())
                    if row["crop_bytes"]:
                        picture_at.setdefault(visit, time.monotonic())
                time.sleep(0.02)
            waited = {visit: at for visit, (at, _) in run.ended.items() if at + 3 * INTERVAL < end}
            run.kill()
            for name, seen in (("rows", row_at), ("pictures", picture_at)):
                times = [seen.get(visit, end) - at for visit, at in waited.items()]
                late = sum(1 for took in times if took > INTERVAL)
                print(f"{speed} ms a sync, {name}: {len(times)} visits, median {statistics.median(times):.2f} s, "
                      f"at most {max(times):.2f} s, {late} later than {INTERVAL:g} s", file=sys.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
