# SPDX-License-Identifier: Apache-2.0
"""The watchdog tells the truth: who is slow on purpose is fed in time, and a thread that hangs starves."""
import contextlib
import ctypes
import http.server
import os
import socket
import sys
import threading
import time
import unittest
from pathlib import Path

from PIL import Image
from support import DISK, PATIENCE, Daemon, ScratchFolder, free_port, main

WATCHDOG = 30  # seconds, WatchdogSec= of the unit
HUNGER = 15    # what we allow ourselves of it; a loaded machine included
SPAN = 25
VISIT = ("source=demo:1", "gate.motion=false", "visits.end_after=2s", "http.rate=1000")

# As rpicam-vid: raw frames of the size that it was asked for.
CAMERA = """#!{python}
import sys, time
words = sys.argv
width, height = (int(words[words.index(name) + 1]) for name in ("--width", "--height"))
while True:
    sys.stdout.buffer.write(bytes([100]) * (width * height) + bytes([128]) * (width * height // 2))
    sys.stdout.buffer.flush()
    time.sleep(0.1)
"""


class Manager:
    """What a service manager hears, with the times."""

    def __init__(self, path):
        self.path = path
        self.heard = []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.thread = threading.Thread(target=self._listen, daemon=True)
        self.thread.start()

    def _listen(self):
        with contextlib.suppress(OSError):
            while True:
                self.heard.append((time.monotonic(), self.socket.recv(4096).decode()))

    def environment(self):
        return {"NOTIFY_SOCKET": str(self.path), "WATCHDOG_USEC": str(WATCHDOG * 1_000_000)}

    def times(self, word):
        return [at for at, heard in self.heard if heard == word]

    def hunger(self):
        """The longest time without food, since it was ready."""
        times = self.times("READY=1")[:1] + self.times("WATCHDOG=1") + [time.monotonic()]
        return max(after - before for before, after in zip(times, times[1:]))

    def close(self):
        self.socket.close()


class Frozen:
    """One thread of another process, stopped; the others go on."""
    SEIZE, INTERRUPT, DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000

    def __init__(self, daemon, name):
        tasks = Path(f"/proc/{daemon.process.pid}/task")
        found = [int(task.name) for task in tasks.iterdir() if (task / "comm").read_text().strip() == name]
        if not found:
            raise LookupError(name)
        self.thread = found[0]
        self.call = ctypes.CDLL(None, use_errno=True).ptrace
        self.call.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]

    def __enter__(self):
        if self.call(self.SEIZE, self.thread, None, None) != 0:
            raise unittest.SkipTest("this system lets nobody stop a thread: " + os.strerror(ctypes.get_errno()))
        self.call(self.INTERRUPT, self.thread, None, None)
        os.waitpid(self.thread, self.WALL)

    def __exit__(self, *_):
        self.call(self.DETACH, self.thread, None, None)


class Pictures(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "image/jpeg")
        self.end_headers()
        self.wfile.write(self.server.picture)

    def log_message(self, *_):
        pass


class Watchdog(ScratchFolder):
    def setUp(self):
        super().setUp()
        self.pictures = self.folder / "pictures"
        self.pictures.mkdir()
        for i in range(2):
            Image.effect_noise((320, 240), 50).convert("RGB").save(self.pictures / f"{i}.jpg")
        self.camera = self.program("rpicam-vid", CAMERA.format(python=sys.executable))
        self.hangs = self.program("hangs", "#!/bin/sh\nexec sleep 1000\n")

    def program(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def start(self, cleanup, name, *sets, env=None):
        manager = Manager(self.folder / f"{name}.notify")
        cleanup.callback(manager.close)
        daemon = cleanup.enter_context(Daemon(sets=sets, env={**manager.environment(), **(env or {})}))
        daemon.until(lambda: manager.times("READY=1"), "ready")
        return daemon, manager

    def test_who_is_slow_on_purpose_is_fed_in_time(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pictures)
        server.picture = (self.pictures / "0.jpg").read_bytes()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        with contextlib.ExitStack() as cleanup:
            managers = {}

            def start(name, *sets, env=None):
                managers[name] = self.start(cleanup, name, *sets, env=env)[1]
            start("images", f"source=images:{self.pictures}?fps=0.02")
            start("snapshot", f"source=snapshot:http://127.0.0.1:{server.server_port}/it.jpg#fps=0.02")
            start("settle", "source=rpicam:", "source.size=256x128", "gate.settle=60s",
                  env={"KINGLET_RPICAM_PROGRAM": str(self.camera)})
            start("hours", "source=demo:", "source.size=320x180", "gate.hours=03:00-03:01")
            start("hanging", "source=auto", env={"KINGLET_CAMERA_PROGRAM": str(self.hangs),
                                                 "KINGLET_RPICAM_PROGRAM": str(self.hangs)})
            start("absent", "source=images:/nowhere")
            time.sleep(SPAN)
            hunger = {name: manager.hunger() for name, manager in managers.items()}
        self.assertLess(max(hunger.values()), HUNGER, hunger)

    def test_a_thread_that_hangs_starves_it_and_one_that_is_back_feeds_it(self):
        with contextlib.ExitStack() as cleanup:
            daemon, manager = self.start(cleanup, "stuck", "source=demo:", "source.size=320x180", "gate.motion=false",
                                         "inference.threads=1")
            daemon.first_prediction()
            daemon.until(lambda: manager.times("WATCHDOG=1"), "food")
            for name in ("capture", "answer", "prepare"):
                with self.subTest(thread=name):
                    fed = manager.times("WATCHDOG=1")
                    try:
                        frozen = Frozen(daemon, name)
                    except LookupError:
                        self.assertEqual(name, "prepare")  # there with a core to spare only
                        continue
                    with frozen:
                        daemon.until(lambda: time.monotonic() - manager.times("WATCHDOG=1")[-1] > 5, "no food")
                        fed = manager.times("WATCHDOG=1")
                    daemon.until(lambda: len(manager.times("WATCHDOG=1")) > len(fed) + 2, "food again")

    def test_so_does_each_thread_beside_the_line(self):
        names = ("store", "events", "models", "clips", "samples", "mqtt", "webhook", "notify", "http-accept", "http-0", "signals")
        with contextlib.ExitStack() as cleanup, contextlib.ExitStack() as frozen:
            stuck = {}
            for name in names:
                stuck[name] = self.start(cleanup, name, "source=demo:", "source.size=320x180", "mqtt.enabled=true",
                                         f"store.path={self.folder / 'histories' / name}",
                                         f"mqtt.url=mqtt://127.0.0.1:{free_port()}", "webhook.events=visit",
                                         f"webhook.url=http://127.0.0.1:{free_port()}/")
            for name, (daemon, manager) in stuck.items():
                daemon.until(lambda manager=manager: manager.times("WATCHDOG=1"), "food")
                frozen.enter_context(Frozen(daemon, name))
            for name, (daemon, manager) in stuck.items():
                daemon.until(lambda manager=manager: time.monotonic() - manager.times("WATCHDOG=1")[-1] > 5,
                             f"no food while {name} hangs")
                if name not in ("http-accept", "http-0"):
                    def late(daemon=daemon):
                        answer = daemon.ask("/livez")
                        return answer.status, [one for one, check in answer.json()["checks"].items() if check["status"] != "pass"]
                    # On a busy machine another one may be late for a while.
                    daemon.until(lambda name=name, late=late: late() == (503, [name]), f"that {name} is late and no other")
            frozen.close()
            for name, (daemon, manager) in stuck.items():
                fed = len(manager.times("WATCHDOG=1"))
                daemon.until(lambda manager=manager, fed=fed: len(manager.times("WATCHDOG=1")) > fed + 2,
                             f"food again after {name} hung")

    def test_a_disk_that_hangs_does_not_for_a_new_start_would_cost_what_waits(self):
        if not DISK:
            self.skipTest("libslow_disk.so is not built with sanitizers")
        place = self.folder / "hangs"
        place.touch()
        with contextlib.ExitStack() as cleanup:
            daemon, manager = self.start(
                cleanup, "disk", *VISIT, "store.flush_interval=1s", f"store.path={self.folder / 'history'}",
                env={"SLOW_DISK_HANGS": str(place)})
            daemon.until(lambda: daemon.ask("/api/v1/visits").json()["items"], "a visit")
            pipe = self.folder / "pipe"
            os.mkfifo(pipe)
            pipe.rename(place)
            daemon.until(lambda: "store" in daemon.ask("/livez").json()["checks"], "that the store does not come round")
            answer = daemon.ask("/livez")
            self.assertEqual(answer.status, 200)
            self.assertEqual(answer.json()["checks"]["store"]["status"], "warn")
            self.assertIn("the disk hangs or is very slow", answer.json()["checks"]["store"]["detail"])
            fed = len(manager.times("WATCHDOG=1"))
            daemon.until(lambda: len(manager.times("WATCHDOG=1")) > fed + 4, "food")
            place.unlink()
            place.touch()


if __name__ == "__main__":
    main()
