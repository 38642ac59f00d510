# SPDX-License-Identifier: Apache-2.0
"""A camera that stalls, ends, changes its size and comes back: told everywhere, cured alone, HTTP alive throughout."""
import re
import struct
import sys
import time
import unittest

from PIL import Image
from support import PATIENCE, Daemon, ScratchFolder, main

# What a program of a camera does: frames of YUV4MPEG2, as long as its order says so.
CAMERA = r'''
import sys, time
order, log = sys.argv[1:3]
open(log, "a").write("started\n")
width, at_first = 0, open(order).read().strip()
out = sys.stdout.buffer
while True:
    now = open(order).read().strip()
    if now == "exit":
        print("the cable is out", file=sys.stderr)
        sys.exit(5)
    if now == "stall" or now == "hang once" != at_first:
        time.sleep(0.05)
        continue
    if now in ("whole", "cut"):
        jpeg = open(sys.argv[3], "rb").read()
        out.write(jpeg if now == "whole" else jpeg[:len(jpeg) // 2] + b"\xff\xd9")
        out.flush()
        time.sleep(0.03)
        continue
    wished = 320 if now == "large" else 160
    if wished != width:
        width = wished
        out.write(b"YUV4MPEG2 W%d H%d F25:1\n" % (width, width // 2))
    out.write(b"FRAME\n" + bytes([100]) * (width * width // 2) + bytes([128]) * (width * width // 4))
    out.flush()
    time.sleep(0.03)
'''


class Supervision(ScratchFolder):
    def setUp(self):
        super().setUp()
        self.camera = self.folder / "camera.py"
        self.camera.write_text(CAMERA)
        self.order = self.folder / "order"
        self.starts = self.folder / "starts"
        self.tell("small")

    def tell(self, order):
        # Renamed, so that it is never read half written.
        (self.folder / "next").write_text(order)
        (self.folder / "next").rename(self.order)

    def programs(self):
        """How many were started until now."""
        return self.starts.read_text().count("started")

    def daemon(self):
        return Daemon(sets=[f"source=exec:{sys.executable} {self.camera} {self.order} {self.starts}?format=y4m"])

    def state(self, daemon):
        return daemon.ask("/api/v1/stats").json()["camera"]

    def until_state(self, daemon, *states):
        return daemon.until(lambda: (camera := self.state(daemon))["state"] in states and camera, f"state {states}")

    def metric(self, daemon, name, *labels):
        for line in daemon.ask("/metrics").body.decode().splitlines():
            if line.startswith(name + "{") and all(label in line for label in labels):
                return float(line.split()[-1])
        raise AssertionError(f"no metric {name} {labels}")

    def snapshot_width(self, daemon):
        reply = daemon.ask("/snapshot.jpg")
        if reply.status != 200:
            return 0
        found = re.search(rb"\xff[\xc0\xc2]..\x08(..)(..)", reply.body, re.DOTALL)
        return struct.unpack(">H", found[2])[0]

    def test_a_stall_is_told_everywhere_and_cured_by_a_new_start(self):
        with self.daemon() as daemon:
            daemon.first_prediction()
            self.tell("stall")
            camera = self.until_state(daemon, "stalled")
            self.assertRegex(camera["detail"], r"no frame for \d")
            ready = daemon.until(lambda: (now := daemon.ask("/readyz")).status == 503 and now, "not ready")
            self.assertRegex(ready.json()["checks"]["camera"]["detail"], "no frame for|restarting")
            self.assertEqual(self.metric(daemon, "kinglet_camera_up"), 0)
            for path in ("/", "/livez", "/api/v1/predictions/latest"):
                self.assertEqual(daemon.ask(path).status, 200, path)
            self.tell("small")
            # The program goes on by itself, or is started anew: both are a cure.
            self.until_state(daemon, "streaming")
            # One for each program that hung: on a busy machine a new one may do so as well.
            programs = self.programs()
            self.assertIn(self.state(daemon)["stalls_total"], range(max(1, programs - 1), 1 + programs))
            self.assertEqual(daemon.ask("/readyz").status, 200)
            self.assertEqual(self.metric(daemon, "kinglet_camera_up"), 1)

    def test_a_program_that_works_for_nobody_is_ended_until_somebody_wants_its_pictures(self):
        with self.daemon() as daemon:
            daemon.first_prediction()
            owner = daemon.claim()
            daemon.ask("/api/v1/control/pause", "POST", headers=owner)
            daemon.until(lambda: "stopped" in self.state(daemon).get("detail", ""), "an ended program", patience=PATIENCE + 20)
            self.assertEqual(self.state(daemon)["state"], "paused")
            self.assertEqual(self.programs(), 1)
            for path in ("/livez", "/readyz"):
                self.assertEqual(daemon.ask(path).status, 200, path)
            self.assertEqual(daemon.ask("/snapshot.jpg").status, 200)
            self.assertEqual(self.programs(), 2)

            before = daemon.ask("/api/v1/stats").json()["images"]["total"]
            daemon.ask("/api/v1/control/resume", "POST", headers=owner)
            self.until_state(daemon, "streaming")
            daemon.until(lambda: daemon.ask("/api/v1/stats").json()["images"]["total"] > before, "images")
            self.assertEqual(self.state(daemon)["restarts_total"], 0)

    def test_a_program_that_hangs_is_ended_and_started_anew(self):
        with self.daemon() as daemon:
            daemon.first_prediction()
            self.tell("hang once")
            stalled = time.monotonic()
            daemon.until(lambda: self.programs() >= 2, "a second program")
            self.assertGreater(time.monotonic() - stalled, 2)
            self.until_state(daemon, "streaming")
            # Each that hung is one stall and one start, and the last one did not.
            hung = self.programs() - 1
            self.assertEqual(self.state(daemon)["stalls_total"], hung)
            self.assertEqual(self.metric(daemon, "kinglet_camera_restarts_total", 'reason="stall"'), hung)
            self.assertEqual(daemon.ask("/livez").status, 200)

    def test_a_program_that_ends_is_started_anew_and_its_last_word_is_the_reason(self):
        with self.daemon() as daemon:
            daemon.first_prediction()
            self.tell("exit")
            camera = self.until_state(daemon, "restarting", "failed")
            self.assertIn("the cable is out", camera["detail"])
            self.assertIn("exit code 5", camera["detail"])
            self.tell("small")
            self.until_state(daemon, "streaming")
            self.assertGreaterEqual(self.metric(daemon, "kinglet_camera_restarts_total", 'reason="lost"'), 1)

    def test_pictures_that_nobody_can_read_are_as_bad_as_none(self):
        picture = self.folder / "picture.jpg"
        Image.effect_noise((320, 240), 50).convert("RGB").save(picture)
        self.tell("whole")
        command = f"{sys.executable} {self.camera} {self.order} {self.starts} {picture}?format=mjpeg"
        with Daemon(sets=[f"source=exec:{command}", "gate.motion=true"]) as daemon:
            daemon.first_prediction()
            self.tell("cut")
            unread = lambda: re.search(r"no frame that can be read for \d.*JPEG", self.state(daemon).get("detail", ""))
            daemon.until(lambda: self.until_state(daemon, "stalled") and unread(), "that they cannot be read")
            self.assertEqual(daemon.ask("/readyz").status, 503)
            daemon.until(lambda: self.programs() >= 2, "a second program")
            last = daemon.prediction()["seq"]
            self.tell("whole")
            self.until_state(daemon, "streaming")
            daemon.until(lambda: daemon.prediction()["seq"] > last, "a prediction")

    def test_a_size_that_changes_is_followed(self):
        with self.daemon() as daemon:
            daemon.first_prediction()
            self.assertEqual(self.snapshot_width(daemon), 160)
            self.tell("large")
            daemon.until(lambda: self.snapshot_width(daemon) == 320, "the new size")
            before = daemon.prediction()["seq"]
            daemon.until(lambda: daemon.prediction()["seq"] > before + 2, "further predictions")
            camera = self.state(daemon)
            self.assertEqual((camera["state"], camera["stalls_total"], camera["restarts_total"]), ("streaming", 0, 0))
            self.assertEqual(daemon.prediction()["crop_px"]["height"], 160)


if __name__ == "__main__":
    main()
