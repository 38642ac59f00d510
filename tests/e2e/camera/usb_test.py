# SPDX-License-Identifier: Apache-2.0
"""A USB camera that is plugged in, pulled out, silent and damaged, with the arm64 daemon, libcamera and Linux's own driver
in an emulated machine. Only the camera's far side of the cable is ours. `./dev camera-test --usb` collects what it needs."""
import contextlib
import csv
import io
import os
import time
import unittest
from pathlib import Path

from machine import HTTP_PORTS, SLOW, MachineCase, MachineDaemon
from PIL import Image, ImageDraw
from support import main
from usb_machine import UsbMachine

FOLDER = Path(os.environ["MACHINE_FOLDER"])  # becomes /app: programs, lib/, demo/, drawn/ with labels.csv
KERNEL = Path(os.environ["USB_KERNEL"])      # Debian's whole arm64 kernel, unpacked
MEMORY_MB = 512
SETTINGS = ["source.fps=5", "gate.motion=false", "gate.max_fps=2", "store.clips=0s", "gate.settle=0s",
            "model.path=/app/demo/kinglet-demo.onnx"]
COLOURS = [(255, 255, 255), (255, 255, 0), (0, 255, 255), (0, 255, 0), (255, 0, 255), (255, 0, 0), (0, 0, 255), (0, 0, 0)]


def drawn_birds():
    """The pictures and the label of each."""
    rows = list(csv.DictReader((FOLDER / "drawn" / "labels.csv").read_text().splitlines()))
    return [Image.open(FOLDER / "drawn" / row["file"]).convert("RGB") for row in rows], {row["label"] for row in rows}


def colour_bars():
    picture = Image.new("RGB", (320, 240))
    draw = ImageDraw.Draw(picture)
    for i, colour in enumerate(COLOURS):
        draw.rectangle((i * 40, 0, i * 40 + 39, 239), fill=colour)
    return picture


class UsbCameras(MachineCase):
    """One machine for all: its start is the dear part. The tests follow each other."""

    @classmethod
    def setUpClass(cls):
        cls.birds, cls.labels = drawn_birds()
        begin = time.monotonic()
        cls.machine = UsbMachine(os.environ["EMULATOR"], FOLDER, KERNEL, MEMORY_MB)
        cls.addClassCleanup(cls.machine.end)
        print(f"machine: {time.monotonic() - begin:.1f} s; {cls.machine.shell('uname -srm').strip()}")

    def setUp(self):
        self.cameras = []
        self.addCleanup(lambda: [camera.unplug() for camera in self.cameras])

    def plug_in(self, pictures=None, port=1):
        self.cameras.append(self.machine.plug_in(pictures or self.birds, port))
        self.machine.until(lambda: "Feeder camera" in self.listed(), "the camera in the machine's list", SLOW)
        return self.cameras[-1]

    def pull_out(self):
        self.cameras.pop().unplug()

    def listed(self, pipelines="uvcvideo"):
        return self.machine.shell(f"export LD_LIBRARY_PATH=/app/lib LIBCAMERA_PIPELINES_MATCH_LIST={pipelines}\n"
                                  "./kinglet-camera --list 2>&1")

    @contextlib.contextmanager
    def watch(self, size, source="libcamera:", pipelines="uvcvideo"):
        daemon = MachineDaemon(self.machine, HTTP_PORTS[0], [f"source={source}", f"source.size={size}", *SETTINGS], pipelines)
        try:
            self.until_state(daemon, "streaming")
            yield daemon
        finally:
            code = daemon.stop()
        self.assertEqual(code, 0)

    def until_state(self, daemon, *states):
        return daemon.until(lambda: (camera := daemon.camera()).get("state") in states and camera, f"state {states}", SLOW)

    def is_back(self, daemon):
        self.until_state(daemon, "streaming")
        self.see(daemon, self.labels)

    def assert_colours(self, daemon):
        picture = Image.open(io.BytesIO(daemon.ask("/snapshot.jpg").body)).convert("RGB")
        for i, colour in enumerate(COLOURS):
            pixel = picture.getpixel((picture.width * (2 * i + 1) // 16, picture.height // 2))
            self.assertLess(max(abs(a - b) for a, b in zip(pixel, colour)), 12, f"{pixel} for {colour}")

    def test_1_birds_before_it_are_named(self):
        self.plug_in()
        self.assertRegex(self.listed(), r"0: /base/\S+-1209:0001  Feeder camera.*external")
        with self.watch("320x240") as daemon:
            self.see(daemon, self.labels)
            self.assertIn("320x240 YUYV", daemon.camera()["description"])

    def test_2_large_pictures_come_as_mjpeg(self):
        self.plug_in()
        with self.watch("1280x720") as daemon:
            self.see(daemon, self.labels)
            self.assertIn("1280x720 MJPEG", daemon.camera()["description"])

    def test_3_colours_are_right_in_both_formats(self):
        self.plug_in([colour_bars()])
        for size in ("320x240", "1280x720"):
            with self.watch(size) as daemon:
                daemon.until(daemon.prediction, "a prediction", SLOW)
                self.assert_colours(daemon)

    def test_4_pulled_out_it_is_missed_and_plugged_in_it_is_back(self):
        self.plug_in()
        with self.watch("320x240") as daemon:
            self.pull_out()
            print("pulled out:", self.until_state(daemon, "stalled", "failed"))
            self.assertEqual((daemon.ask("/livez").status, daemon.ask("/readyz").status), (200, 503))
            time.sleep(20)  # the next attempt would be 16 seconds away
            begin = time.monotonic()
            self.plug_in()
            self.is_back(daemon)
            print(f"back and seen after {time.monotonic() - begin:.1f} s")

    def test_5_another_camera_does_not_take_its_place_and_another_port_is_found(self):
        self.plug_in()
        with self.watch("320x240", "libcamera:0", "uvcvideo,virtual") as daemon:
            self.assertIn("Feeder camera", daemon.camera()["description"])
            self.pull_out()
            self.until_state(daemon, "stalled", "failed")
            time.sleep(5)  # two attempts to start
            self.assertNotEqual(daemon.camera()["state"], "streaming")
            self.plug_in(port=2)
            self.is_back(daemon)

    def test_6_silent_it_is_started_again_until_it_speaks(self):
        camera = self.plug_in()
        with self.watch("320x240") as daemon:
            camera.silent.set()
            daemon.until(lambda: daemon.camera().get("restarts_total", 0) > 0, "a restart", SLOW)
            self.assertEqual(daemon.ask("/livez").status, 200)
            camera.silent.clear()
            self.is_back(daemon)

    def test_7_cut_pictures_are_not_judged_and_are_told(self):
        camera = self.plug_in()
        with self.watch("1280x720") as daemon:
            camera.cut.set()
            self.assertIn("no frame that can be read", self.until_state(daemon, "stalled")["detail"])
            self.assertEqual(daemon.ask("/readyz").status, 503)
            last = daemon.prediction()["seq"]
            daemon.until(lambda: daemon.camera().get("restarts_total", 0) > 0, "a restart", SLOW)
            self.assertEqual(daemon.prediction()["seq"], last)
            camera.cut.clear()
            self.is_back(daemon)


if __name__ == "__main__":
    main()
