# SPDX-License-Identifier: Apache-2.0
"""Starts the built kingletd on a free port and speaks HTTP with it; standard library only."""
import atexit
import contextlib
import csv
import functools
import http.client
import json
import os
import random
import re
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from datetime import datetime
from pathlib import Path

KINGLETD = os.environ["KINGLETD"]
SOURCE_DIR = Path(os.environ["SOURCE_FOLDER"])
sys.path.insert(0, str(SOURCE_DIR / "tests" / "support"))
CORPUS = Path(os.environ.get("KINGLET_CORPUS", SOURCE_DIR / ".." / "shared" / "corpus"))
BIRD = CORPUS / "models" / "bird_mobilenetv2_fp32.onnx"
BIRD_LABELS = CORPUS / "labels" / "inat_bird_965.txt"
BIRD_RECIPE = {"mean": [128, 128, 128], "std": [128, 128, 128], "resize_mode": "stretch"}
PATIENCE = 120  # seconds: only a failing test waits so long
SLOWER = float(os.environ.get("SLOWER", 1))  # than in a release: what a daemon under a sanitizer may take for a bound
# This machine's own disk may be busy with builds for seconds. Not built with sanitizers.
DISK = {"LD_PRELOAD": os.environ["SLOW_DISK"], "SLOW_DISK_MS": "5"} if os.environ.get("SLOW_DISK") else {}
# Where it is noon, or the hour after it: no day ends while a test runs. (The signs of these names are the other way round.)
NOON = f"Etc/GMT{time.gmtime().tm_hour - 12 or -1:+d}"
ELSEWHERE = "Etc/GMT+12" if time.gmtime().tm_hour < 11 else "Etc/GMT-14"  # where it is another day than in UTC, and will be


def need_corpus():
    if not (CORPUS / "corpus.json").exists():
        print("SKIPPED: no corpus of models and photographs (../shared/corpus or KINGLET_CORPUS)")
        sys.exit(77)


def free_port():
    """Of those that the system gives to nobody by itself: it is still free when a program that is started next binds it."""
    while True:
        port = random.randrange(20000, 32768)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class Reply:
    def __init__(self, response, path=""):
        """Of an answer without an end only what comes first."""
        endless = response.status == 200 and path.split("?")[0].endswith(("/events", "/stream.mjpg"))
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read1(65536) if endless else response.read()

    def json(self):
        return json.loads(self.body)


def accepted(server):
    """Who connects, one after the other, until the server is closed."""
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        yield connection


class Starved:
    """How long that thread of processes, or of those of a name, stood ready without a processor that did so longest: what a
    busy machine adds to their time at least. (All of them together wait for longer than a clock says.)"""

    def __init__(self, *processes, thread=None):
        self.tasks, self.thread = [Path(f"/proc/{one}/task") for one in processes], thread
        self.first, self.last = {}, {}
        self.seconds()

    def seconds(self):
        """Until now; asked often, since a thread that is gone tells nothing."""
        for task in self.tasks:
            for schedule in task.glob("*/schedstat"):
                with contextlib.suppress(OSError):
                    if self.thread and (schedule.parent / "comm").read_text().strip() != self.thread:
                        continue
                    self.last[schedule] = int(schedule.read_text().split()[1]) / 1e9
                    self.first.setdefault(schedule, self.last[schedule])
        return max((last - self.first[schedule] for schedule, last in self.last.items()), default=0.0)


class Daemon:
    """A running kingletd, whose disk takes as long as DISK says. `with Daemon(...) as daemon:` ends it with SIGTERM."""

    def __init__(self, *flags, sets=(), env=None, wait=True, program=KINGLETD):
        self.no_settings = tempfile.NamedTemporaryFile(suffix=".toml")
        command = [str(program), "--set", "http.listen=127.0.0.1:0", "--set", f"time.zone={NOON}"]
        if "--config" not in flags:
            command += ["--config", self.no_settings.name]
        self.lines = []
        self.url = None
        for assignment in sets:
            command += ["--set", assignment]
        if "--for" not in flags:
            command += ["--for", "40m"]  # nothing stays behind when a test is killed, which CTest does first
        self.process = subprocess.Popen(command + list(flags), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **DISK, **(env or {})})
        self.opened = threading.Event()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        if wait:
            self.opened.wait(PATIENCE)
            if self.url is None:
                self.process.kill()
                raise AssertionError("kingletd did not open its page:\n" + "".join(self.lines))

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line)
            match = re.search(r"open http://([0-9.]+):(\d+)/", line)
            if match:
                self.url = (match[1], int(match[2]))
                self.opened.set()
        self.opened.set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self, number=signal.SIGTERM, waits_for=()):
        """The exit code and the seconds it took, but for those in which others had the processors: its own, and those of the
        processes that it waits for."""
        taken = self._end(number, waits_for) if self.process.poll() is None else 0.0
        code = self.process.wait()
        self.reader.join(PATIENCE)
        self.process.stderr.close()
        self.process.stdout.close()
        self.no_settings.close()
        return code, taken

    def _end(self, number, waits_for):
        """Until it has ended, not until the system has cleaned up behind it: beside an emulator and a program that read its /proc,
        waitpid() was seen to do that for up to a minute."""
        start, starved = time.monotonic(), Starved(self.process.pid, os.getpid(), *waits_for)
        with open(os.pidfd_open(self.process.pid), "rb", buffering=0) as ended:
            self.process.send_signal(number)
            lost = starved.seconds()
            while not select.select([ended], [], [], 0.02)[0]:
                if time.monotonic() > start + PATIENCE:
                    self.process.kill()
                    raise AssertionError("kingletd did not end:\n" + "".join(self.lines))
                lost = starved.seconds()
            return time.monotonic() - start - lost

    def ask(self, path, method="GET", body=None, headers=None, timeout=PATIENCE):
        connection = http.client.HTTPConnection(*self.url, timeout=timeout)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            return Reply(connection.getresponse(), path)
        finally:
            connection.close()

    def ask_again(self, *arguments, **named):
        """Long answers have few places: one whose reader just left is free a moment later, as the 503 says."""
        def answer():
            reply = self.ask(*arguments, **named)
            return reply if reply.status != 503 or "retry-after" not in reply.headers else None
        return self.until(answer, "a free place")

    def claim(self):
        """The header of the first owner of a daemon that has none."""
        reply = self.ask("/api/v1/session", "POST", '{"claim": true}', {"Content-Type": "application/json"})
        assert reply.status == 200, reply.body
        token = re.match(r"kinglet=(kgl_[\w-]{43});", reply.headers["set-cookie"])[1]
        return {"Authorization": "Bearer " + token}

    def raw(self, data, timeout=PATIENCE):
        """What comes back for these bytes, until the other side closes."""
        with socket.create_connection(self.url, timeout=timeout) as connection:
            connection.sendall(data)
            received = b""
            while chunk := connection.recv(65536):
                received += chunk
            return received

    def until(self, condition, what, patience=PATIENCE):
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            value = condition()
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(f"never came true: {what}\n" + "".join(self.lines[-20:]))

    def says(self, *words, since=0):
        """The first line of its log with all these words. A line comes through a pipe: a moment after what it tells of."""
        return self.until(lambda: next((line for line in self.lines[since:] if all(word in line for word in words)), None),
                          f"a line with {words}")

    def goes_on_and_ends(self, seconds):
        """Names birds although somebody holds it up, and then ends within so many seconds."""
        before = self.first_prediction()["seq"]
        self.until(lambda: self.prediction()["seq"] > before + 5, "predictions")
        code, taken = self.stop()
        assert code == 0 and taken < seconds, (code, taken, self.lines[-20:])

    def prediction(self):
        reply = self.ask("/api/v1/predictions/latest")
        return reply.json() if reply.status == 200 else None

    def first_prediction(self):
        return self.until(self.prediction, "a prediction")


def seconds_between(first, second):
    """Of two times as the API has them."""
    return (datetime.fromisoformat(second) - datetime.fromisoformat(first)).total_seconds()


def picture_within(events, seconds):
    """Once of five visits in a row with a picture three had it so soon after their start: the start of the newest visit with
    one, and what told of it. A busy machine may hold up some of them, and not most."""
    pictured = []
    for start in (one for one in events if one["type"] == "visit.start"):
        told = next((one for one in events if one["type"] in ("visit.start", "visit.picture")
                     and one["visit"]["id"] == start["visit"]["id"] and "crop" in one["visit"]["links"]), None)
        if told:
            pictured.append((seconds_between(start["at"], told["at"]) < seconds, start, told))
    soon = [in_time for in_time, _, _ in pictured]
    return pictured[-1][1:] if any(sum(soon[i:i + 5]) >= 3 for i in range(len(soon) - 4)) else None


@functools.cache
def bird_show():
    """Settings: of drawn pictures in which another bird comes about twice a second, each is a visit."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    drawn, show = folder / "drawn", folder / "show"
    subprocess.run([os.environ["KINGLET"], "demo-frames", "--out", drawn, "--count", "60", "--size", "320x240"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(drawn / "labels.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    empty = [row[0] for row in rows if row[2] == "background"]
    birds = [row[0] for row in rows if row[0] not in empty]
    show.mkdir()
    for number, bird in enumerate(birds[:12]):
        for copy in range(5):
            shutil.copy(drawn / bird, show / f"{number:03d}-{copy}{Path(bird).suffix}")
        for copy in range(5, 13):
            shutil.copy(drawn / empty[number % len(empty)], show / f"{number:03d}-{copy}{Path(bird).suffix}")
    return [f"source=images:{show}?fps=30", "gate.max_fps=100", "visits.end_after=200ms"]


class WithAVisit:
    """cls.daemon over what is shown, with an owner and cls.visit: a visit with all its pictures that has ended. Only two of the
    birds are named; the others are seen."""

    @classmethod
    def shown(cls):
        return bird_show()

    @classmethod
    def setUpClass(cls):
        cls.state = tempfile.TemporaryDirectory()
        cls.daemon = Daemon(sets=[*cls.shown(), "store.flush_interval=100ms", f"store.path={cls.state.name}",
                                  'decide.allow=["grey-naped-demopecker","plain-demothrush"]'])
        cls.daemon.first_prediction()
        cls.owner = cls.daemon.claim()
        cls.visit = cls.daemon.until(cls.visit_with_pictures, "a visit with its pictures")

    @classmethod
    def tearDownClass(cls):
        code, _ = cls.daemon.stop()
        cls.state.cleanup()
        assert code == 0, code

    @classmethod
    def unnamed_track(cls):
        """The id of the newest with a picture: only so many are kept."""
        def pictured():
            return [track for track in cls.daemon.ask("/api/v1/tracks").json()["items"] if "crop" in track["links"]]
        return cls.daemon.until(pictured, "a track")[0]["id"]

    @classmethod
    def visit_with_pictures(cls):
        found = cls.daemon.ask("/api/v1/visits").json()["items"]
        return next((visit for visit in found if "clip" in visit["links"] and visit["state"] == "ended"), None)


def bird_sets(folder):
    """Settings for the bird model of the corpus; its recipe is written into `folder`."""
    recipe = Path(folder) / "bird.recipe.json"
    recipe.write_text(json.dumps(BIRD_RECIPE))
    return [f"model.path={BIRD}", f"model.labels={BIRD_LABELS}", f"model.recipe={recipe}"]


def copy_visits(state, count, note=None):
    """Copies of the first visit in a history that no daemon has open: numbers, ids and notes of their own, no pictures."""
    with sqlite3.connect(Path(state) / "kinglet.db") as database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(visits)")]
        first, top = database.execute("SELECT min(seq), max(seq) FROM visits").fetchone()
        changed = {"seq": "?1", "id": "?2", "note": "?3", "crop_bytes": "NULL", "frame_bytes": "NULL", "clip_bytes": "NULL"}
        values = ", ".join(changed.get(name, name) for name in columns)
        for i in range(1, count + 1):
            database.execute(f"INSERT INTO visits SELECT {values} FROM visits WHERE seq = {first}",
                             (top + i, f"vis_{i:026d}", note or f'row {i}, "quoted"\n=1+1'))
    database.close()


class ScratchFolder(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = Path(self._folder.name)
        self.addCleanup(self._folder.cleanup)

    def assert_problem(self, reply, status, slug):
        self.assertEqual(reply.status, status, reply.body)
        self.assertEqual(reply.headers["content-type"], "application/problem+json")
        problem = reply.json()
        self.assertEqual(problem["type"], "/problems/" + slug)
        self.assertEqual(problem["status"], status)
        self.assertEqual(problem["request_id"], reply.headers["x-request-id"])
        for member in ("title", "detail", "instance"):
            self.assertIn(member, problem)
        return problem

    def assert_refused(self, path, reply, status, slug):
        """The same in the form of the path's protocol: below /v2 an object {"error": text}."""
        if path.split("?")[0] != "/v2" and not path.startswith("/v2/"):
            return self.assert_problem(reply, status, slug)
        self.assertEqual((reply.status, reply.headers["content-type"]), (status, "application/json"), reply.body)
        self.assertEqual(list(reply.json()), ["error"])
        return reply.json()


def main():
    unittest.main(verbosity=2)
