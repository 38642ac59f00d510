# SPDX-License-Identifier: Apache-2.0
"""kingletd with a libcamera camera: real photographs in front of libcamera's virtual camera, and a camera that hangs.
Everything but the camera is real: kingletd, kinglet-camera, libcamera, the shared buffers, the model, HTTP."""
import os
import shutil
import signal
import socket
import stat
import sys
import time
import unittest
from pathlib import Path

from photos import PHOTOS, expected_names
from support import CORPUS, PATIENCE, SOURCE_DIR, Daemon, ScratchFolder, bird_sets, main, need_corpus

PROGRAM = os.environ.get("CAMERA_PROGRAM", "")

need_corpus()
for program, reason in ((PROGRAM, "kinglet-camera is not built (no libcamera)"), ("gcc", "no gcc for cross/virtual-camera")):
    if not shutil.which(program):
        print(f"SKIPPED: {reason}")
        sys.exit(77)
EXPECTED = expected_names()
NOBODY = "hot_dog.jpg"  # with even sides, and background


class LibcameraSource(ScratchFolder):
    def start(self, photos, *switches, camera="", size="640x480", env=None):
        """A daemon whose camera sees `photos`, or one of two with test patterns when there are none; `switches` are
        those of cross/virtual-camera, `size` is what the configuration wishes."""
        frames = ""
        if photos:
            pictures = self.folder / "pictures"
            pictures.mkdir()
            # Of several each stays for a second, and leaves: what is seen in one place without a pause is one bird.
            shown = [(name, 3, NOBODY, 5) for name in photos] if len(photos) > 1 else [(photos[0], 1)]
            names = [name for group in shown for name, count in zip(group[::2], group[1::2]) for _ in range(count)]
            for number, name in enumerate(names):
                shutil.copy(CORPUS / "photos" / name, pictures / f"{number:03}.jpg")
            frames = f"--frames {pictures} --size 640x480"
        script = self.folder / "kinglet-camera"
        script.write_text(f"#!/bin/sh\nexport LIBCAMERA_PIPELINES_MATCH_LIST=virtual\necho $$ >{self.folder}/pid\n"
                          f"exec {SOURCE_DIR}/cross/virtual-camera {frames} {' '.join(switches)} {PROGRAM} \"$@\"\n")
        script.chmod(stat.S_IRWXU)
        return Daemon(sets=bird_sets(self.folder) + [f"source=libcamera:{camera}", f"source.size={size}",
                                                     "decide.min_score=0.3"],
                      env={"KINGLET_CAMERA_PROGRAM": str(script), **(env or {})})

    def camera(self, daemon):
        return daemon.ask("/api/v1/stats").json()["camera"]

    def test_birds_before_the_camera_are_named(self):
        expected = {EXPECTED[name] for name in PHOTOS}
        seen = set()
        with self.start(PHOTOS, "--fps", "10") as daemon:
            def all_seen():
                prediction = daemon.prediction()
                if prediction and prediction["outcome"] == "accepted":
                    seen.add(prediction["top"][0]["label"])
                return expected <= seen
            try:
                daemon.until(all_seen, "all birds")
            finally:
                print("seen:", ", ".join(sorted(seen)))
            self.assertEqual(seen, expected)
            self.assertEqual(self.camera(daemon)["state"], "streaming")
            self.assertEqual(daemon.ask("/readyz").status, 200)
            self.assertEqual(daemon.ask("/snapshot.jpg").status, 200)
            code, seconds = daemon.stop()
            self.assertEqual(code, 0)
            self.assertLess(seconds, 5)

    def test_a_camera_that_hangs_is_started_again_with_http_alive(self):
        slowest = 0  # of answers while it hangs, and before and after that
        notify = self.folder / "notify"
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        manager.bind(str(notify))
        with self.start(["bald_eagle.jpg"], "--fps", "10", "--stall-after", "40",
                        env={"NOTIFY_SOCKET": str(notify)}) as daemon:
            def alive():
                nonlocal slowest
                begin = time.monotonic()
                self.assertEqual(daemon.ask("/livez").status, 200)
                slowest = max(slowest, time.monotonic() - begin)
                return True
            daemon.first_prediction()
            first = (self.folder / "pid").read_text()
            stalled = lambda: (camera := self.camera(daemon))["state"] == "stalled" and camera["stalls_total"]
            daemon.until(lambda: (stall := stalled()) and alive() and stalled() == stall, "an answer while it hangs")
            daemon.until(lambda: alive() and daemon.ask("/readyz").status == 503, "not ready")
            daemon.until(lambda: alive() and self.camera(daemon)["restarts_total"] >= 1, "a restart")
            daemon.until(lambda: alive() and self.camera(daemon)["state"] == "streaming", "frames again")
            self.assertNotEqual((self.folder / "pid").read_text(), first)
            self.assertFalse(self.runs(int(first)), "the hanging kinglet-camera is still there")
            self.assertEqual(daemon.first_prediction()["top"][0]["label"], EXPECTED["bald_eagle.jpg"])
            manager.settimeout(PATIENCE)
            told = []
            while told.count("STATUS=camera streaming") < 2:
                told.append(manager.recv(4096).decode())
        print(f"slowest /livez {slowest * 1000:.0f} ms; the service manager heard: {told}")
        # What is not known why is not told as well: the watchdog goes hungry until something is done about it.
        stalled = told.index("STATUS=camera stalled")
        restarting = next(i for i, one in enumerate(told) if one.startswith("STATUS=camera restarting"))
        self.assertIn("WATCHDOG=1", told[:stalled])
        self.assertNotIn("WATCHDOG=1", told[stalled:restarting])

    def test_either_of_two_cameras_is_taken_by_its_name(self):
        for camera, size in (("bars", "640x480"), ("lines", "800x600"), ("1", "800x600")):
            with self.subTest(camera=camera), self.start([], "--fps", "10", camera=camera) as daemon:
                daemon.first_prediction()
                self.assertIn(size, self.camera(daemon)["description"])

    def test_a_size_the_camera_does_not_have_is_adjusted_and_the_bird_still_named(self):
        with self.start(["bald_eagle.jpg"], "--fps", "10", size="1000x300") as daemon:
            self.assertEqual(daemon.first_prediction()["top"][0]["label"], EXPECTED["bald_eagle.jpg"])
            self.assertIn("640x480", self.camera(daemon)["description"])

    def test_an_unknown_camera_is_told_those_there_are(self):
        with self.start([], "--fps", "10", camera="porch") as daemon:
            camera = daemon.until(lambda: (lambda c: c if c.get("detail") else None)(self.camera(daemon)), "a reason")
            self.assertEqual(camera["state"], "absent")
            self.assertIn('no camera "porch"', camera["detail"])
            self.assertIn("0: bars, 1: lines", camera["detail"])
            self.assertEqual(daemon.ask("/livez").status, 200)

    def test_a_killed_camera_program_is_started_again(self):
        with self.start(["bald_eagle.jpg"], "--fps", "10") as daemon:
            daemon.first_prediction()
            os.kill(int((self.folder / "pid").read_text()), signal.SIGKILL)
            daemon.until(lambda: self.camera(daemon)["restarts_total"] >= 1, "a restart")
            daemon.until(lambda: self.camera(daemon)["state"] == "streaming", "frames again")
            self.assertEqual(daemon.ask("/livez").status, 200)

    def test_the_camera_program_ends_with_a_killed_daemon(self):
        with self.start(["bald_eagle.jpg"], "--fps", "10", "--stall-after", "20") as daemon:
            daemon.first_prediction()
            pid = int((self.folder / "pid").read_text())
            daemon.until(lambda: self.camera(daemon)["last_frame_age_ms"] > 500, "the hang")
            daemon.process.kill()
            daemon.until(lambda: not self.runs(pid), "the end of kinglet-camera")

    @staticmethod
    def runs(pid):
        """Not gone and not merely waiting for somebody to collect its exit code."""
        try:
            return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
        except OSError:
            return False


if __name__ == "__main__":
    main()
