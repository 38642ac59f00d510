# SPDX-License-Identifier: Apache-2.0
"""The arm64 daemon and camera program in an emulated machine with the memory of the smallest boards: real arm64 Linux,
real udmabuf, real processes; only the cameras are libcamera's virtual ones. `./dev camera-test` collects what it needs."""
import csv
import io
import itertools
import os
import shutil
import time
import unittest
from pathlib import Path

from machine import HTTP_PORTS, SLOW, Machine, MachineCase, MachineDaemon
from photos import PHOTOS, expected_names
from PIL import Image
from support import BIRD_LABELS, BIRD_RECIPE, CORPUS, main, need_corpus

need_corpus()
FOLDER = Path(os.environ["MACHINE_FOLDER"])  # becomes /app: programs, lib/, demo/, drawn/ with labels.csv
MEMORY_MB = 512
BIRD = CORPUS / "models" / "bird_mobilenetv2_u8_qdq.onnx"
SMALL_PHOTOS = [name for name in PHOTOS if "_150" in name][:2]  # libcamera decodes all at each start
BARS = {"white": (255, 255, 255), "yellow": (255, 255, 0), "cyan": (0, 255, 255), "green": (0, 255, 0),
        "magenta": (255, 0, 255), "red": (255, 0, 0), "blue": (0, 0, 255), "black": (0, 0, 0)}
SETTINGS = ["source.size=320x240", "source.fps=2", "gate.motion=false", "gate.max_fps=1", "store.clips=0s"]

CAMERA = """"{name}":
  supported_formats:
  - {{ width: 320, height: 240, frame_rates: [15] }}
{more}  location: "CameraLocationExternal"
  model: "Virtual {name}"
"""
CAMERAS = (CAMERA.format(name="bars", more="  - { width: 1280, height: 720, frame_rates: [15] }\n  test_pattern: \"bars\"\n")
           + CAMERA.format(name="photos", more="  frames: { path: \"/app/photos/\" }\n")
           + CAMERA.format(name="drawn", more="  frames: { path: \"/app/drawn/\" }\n"))


def fill_folder():
    """Adds what the cameras see and the bird model; gives the label of each drawn picture."""
    photos, drawn = FOLDER / "photos", FOLDER / "drawn"
    shutil.rmtree(photos, ignore_errors=True)
    photos.mkdir()
    for name in SMALL_PHOTOS:
        shutil.copy(CORPUS / "photos" / name, photos / name)
    labels = {row["file"]: row["label"] for row in csv.DictReader((drawn / "labels.csv").read_text().splitlines())}
    for picture in drawn.glob("*.png"):
        Image.open(picture).convert("RGB").save(picture.with_suffix(".jpg"), quality=95)
        picture.unlink()
    (drawn / "labels.csv").rename(FOLDER / "drawn.csv")
    shutil.copy(BIRD, FOLDER / "bird.onnx")
    shutil.copy(BIRD_LABELS, FOLDER / "bird.labels.txt")
    (FOLDER / "bird.recipe.json").write_text(str(BIRD_RECIPE).replace("'", '"'))
    return set(labels.values())


class Cameras(MachineCase):
    """One machine for all: its start is the dear part. `photos` and `drawn` are two daemons with a camera each."""

    @classmethod
    def setUpClass(cls):
        cls.drawn_labels = fill_folder()
        begin = time.monotonic()
        cls.machine = Machine(os.environ["EMULATOR"], FOLDER, CAMERAS, MEMORY_MB)
        cls.addClassCleanup(cls.machine.end)
        print(f"machine: {time.monotonic() - begin:.1f} s; {cls.machine.shell('uname -srm').strip()}")
        cls.photos = MachineDaemon(cls.machine, HTTP_PORTS[0], [
            "source=libcamera:photos", *SETTINGS, "decide.min_score=0.3", "model.path=/app/bird.onnx"])
        cls.drawn = MachineDaemon(cls.machine, HTTP_PORTS[1], [
            "source=libcamera:2", *SETTINGS, "model.path=/app/demo/kinglet-demo.onnx"])

    def test_1_birds_on_photographs_are_named(self):
        names = expected_names()
        self.see(self.photos, {names[name] for name in SMALL_PHOTOS})

    def test_2_birds_of_the_demonstration_are_named_by_the_other_camera(self):
        self.see(self.drawn, self.drawn_labels)

    def test_3_both_fit_into_the_memory(self):
        facts = dict(line.split(":", 1) for line in self.machine.shell("cat /proc/meminfo").splitlines())
        available = int(facts["MemAvailable"].split()[0]) // 1024
        print(f"{available} MB of {int(facts['MemTotal'].split()[0]) // 1024} MB are free")
        self.assertGreater(available, 32)

    def test_4_a_killed_camera_program_is_started_again(self):
        before = self.photos.camera()["restarts_total"]
        first = self.photos.camera_program()
        self.machine.shell(f"kill -9 {first}")
        self.photos.until(lambda: self.photos.camera().get("restarts_total", 0) > before, "a restart", SLOW)
        self.photos.until(lambda: self.photos.camera().get("state") == "streaming", "frames again", SLOW)
        self.assertNotIn(self.photos.camera_program(), (0, first))
        self.answers_again(self.photos, {expected_names()[name] for name in SMALL_PHOTOS})

    def test_5_a_hanging_camera_program_is_replaced_with_http_alive(self):
        before = self.drawn.camera()
        first = self.drawn.camera_program()
        self.machine.shell(f"kill -STOP {first}")
        self.drawn.until(lambda: self.drawn.camera().get("stalls_total", 0) > before["stalls_total"], "a stall", SLOW)
        self.assertEqual(self.drawn.ask("/livez").status, 200)
        self.drawn.until(lambda: self.drawn.camera().get("restarts_total", 0) > before["restarts_total"], "a restart", SLOW)
        self.drawn.until(lambda: self.drawn.camera().get("state") == "streaming", "frames again", SLOW)
        self.assertNotIn(self.drawn.camera_program(), (0, first))
        self.answers_again(self.drawn, self.drawn_labels)

    def test_6_the_test_pattern_comes_in_the_size_the_camera_has_and_is_no_bird(self):
        self.assertEqual(self.photos.stop(), 0)
        bars = MachineDaemon(self.machine, HTTP_PORTS[0], [
            "source=libcamera:bars", *SETTINGS, "source.size=300x300", "model.path=/app/bird.onnx"])
        prediction = bars.until(bars.prediction, "a prediction", SLOW)
        self.assertNotEqual(prediction["outcome"], "accepted")
        self.assertIn("1280x720", bars.camera()["description"])
        picture = Image.open(io.BytesIO(bars.ask("/snapshot.jpg").body)).convert("RGB")
        self.assertEqual(picture.width * 9, picture.height * 16)
        row = [nearest_bar(picture.getpixel((x, picture.height // 2))) for x in range(picture.width)]
        runs = [name for name, pixels in itertools.groupby(row) if len(list(pixels)) > picture.width // 40]
        self.assertIn(len(runs), (8, 9))
        around = list(BARS) * 3
        start = around.index(runs[0])
        self.assertEqual(runs, around[start:start + len(runs)], "the bars in their order")
        self.assertEqual(bars.stop(), 0)


def nearest_bar(pixel):
    return min(BARS, key=lambda name: sum((a - b) ** 2 for a, b in zip(BARS[name], pixel)))


if __name__ == "__main__":
    main()
