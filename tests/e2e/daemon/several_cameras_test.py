# SPDX-License-Identifier: Apache-2.0
"""Several cameras, one history: each has its birds, its state and its picture under its name, and one that ends, hangs or is
not there takes nothing from the others."""
import csv
import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import PATIENCE, Daemon, ScratchFolder, main
from json_schema import faults

KINGLET = os.environ["KINGLET"]
SHOWN, EMPTY = 8, 24  # pictures of a bird, and of nobody, ten a second


def setUpModule():
    """A folder of pictures a camera: a bird of its own comes, and goes again."""
    global FOLDER, GARDEN, TREE, BIRDS
    FOLDER = tempfile.TemporaryDirectory()
    drawn = Path(FOLDER.name) / "drawn"
    subprocess.run([KINGLET, "demo-frames", "--scene", "--count", "60", "--size", "320x180", "--out", drawn, "-q"], check=True,
                   timeout=PATIENCE)
    files = {}
    with open(drawn / "labels.csv", encoding="utf-8") as table:
        for row in csv.DictReader(table):
            files.setdefault(row["label"].lower().replace(" ", "-"), drawn / row["file"])
    nobody = files.pop("background")
    BIRDS = list(files)[:2]
    GARDEN, TREE = (Path(FOLDER.name) / name for name in ("garden", "tree"))
    for folder, bird in zip((GARDEN, TREE), BIRDS):
        folder.mkdir()
        for i in range(SHOWN + EMPTY):
            shutil.copy(files[bird] if i < SHOWN else nobody, folder / f"{i:06}.png")


def tearDownModule():
    FOLDER.cleanup()


class Cameras(ScratchFolder):
    def daemon(self, *sources, flags=(), sets=(), wait=True):
        """With a [[source]] for each name and spec."""
        settings = self.folder / "kinglet.toml"
        settings.write_text("".join(f"[[source]]\nname = \"{name}\"\nspec = '{spec}'\n" for name, spec in sources))
        daemon = Daemon("--config", str(settings), *flags,
                        sets=["visits.end_after=500ms", "gate.motion=false", "store.flush_interval=100ms",
                              f"store.path={self.folder}/state", *sets], wait=wait)
        self.addCleanup(daemon.stop)
        return daemon

    def state(self, daemon, name):
        return daemon.ask(f"/api/v1/cameras/{name}").json()["state"]

    def answers(self, daemon, name):
        return daemon.ask(f"/api/v1/predictions?limit=1&source={name}").json()["items"]

    def goes_on(self, daemon, name):
        """It gives answers that were not there before."""
        before = [one["seq"] for one in self.answers(daemon, name)] or [0]
        daemon.until(lambda: [one for one in self.answers(daemon, name) if one["seq"] > before[0]], f"another answer of {name}")

    def birds(self, daemon, source, path="visits"):
        items = daemon.ask(f"/api/v1/{path}?source={source}").json()["items"]
        self.assertLessEqual({one["source"] for one in items}, {source})
        return {visit["species_id"] for visit in items if visit["state"] == "ended"}


class OneHistory(Cameras):
    def test_each_bird_is_of_the_camera_that_saw_it(self):
        daemon = self.daemon(("garden", f"images:{GARDEN}"), ("tree", f"images:{TREE}"))
        for name, bird in zip(("garden", "tree"), BIRDS):
            daemon.until(lambda: self.birds(daemon, name), f"a visit at {name}")
            self.assertEqual(self.birds(daemon, name), {bird})
        visits = daemon.ask("/api/v1/visits").json()["items"]
        self.assertEqual({visit["source"] for visit in visits}, {"garden", "tree"})
        numbers = [visit["seq"] for visit in visits]
        self.assertEqual(numbers, sorted(set(numbers), reverse=True))
        self.assertEqual(self.birds(daemon, "attic"), set())
        self.assertIn(",tree,", daemon.ask("/api/v1/visits.csv?source=tree").body.decode())
        self.assertNotIn(",garden,", daemon.ask("/api/v1/visits.csv?source=tree").body.decode())
        kept = daemon.until(lambda: [visit for visit in daemon.ask("/api/v1/visits?source=tree").json()["items"]
                                     if "crop" in visit["links"]], "its picture")[0]
        best = daemon.ask(f"/api/v1/predictions/{kept['best_prediction']}").json()
        self.assertEqual((best["source"], best["top"][0]["species_id"]), ("tree", BIRDS[1]))
        for name in ("garden", "tree"):
            self.assertEqual(daemon.ask(f"/api/v1/predictions/latest?source={name}").json()["source"], name)
        with self.subTest("the tool"):
            settings = str(self.folder / "kinglet.toml")
            shown = subprocess.run([KINGLET, "config", "show", "--config", settings], capture_output=True, text=True,
                                   timeout=PATIENCE, check=True).stdout
            self.assertIn('[[source]]\nname = "tree"\n', shown)

    def test_two_demonstrations_show_two_scenes(self):
        daemon = self.daemon(("garden", "demo:"), ("tree", "demo:"))
        described = [daemon.until(lambda: daemon.ask(f"/api/v1/cameras/{name}").json().get("description"), name)
                     for name in ("garden", "tree")]
        self.assertEqual([text.split(", ")[-1] for text in described], ["seed 1", "seed 2"])

    def test_each_is_told_by_its_name(self):
        daemon = self.daemon(("garden", f"images:{GARDEN}"), ("tree", f"images:{TREE}"))
        for name in ("garden", "tree"):
            daemon.until(lambda: self.answers(daemon, name), f"an answer of {name}")
        listed = daemon.ask("/api/v1/cameras").json()["items"]
        self.assertEqual([camera["source"] for camera in listed], ["garden", "tree"])
        self.assertEqual(daemon.ask("/api/v1/camera").json()["source"], "garden")
        pictures = {daemon.ask(camera["links"]["snapshot"]).body[:2] for camera in listed}
        self.assertEqual(pictures, {b"\xff\xd8"})
        for address in ("/snapshot.jpg", "/stream.mjpg"):
            self.assertEqual(daemon.ask(f"{address}?source=tree").status, 200)
            self.assertEqual(daemon.ask(f"{address}?source=attic").status, 404)
        stats = daemon.ask("/api/v1/stats").json()
        self.assertEqual([camera["source"] for camera in stats["cameras"]], ["garden", "tree"])
        self.assertEqual(stats["camera"]["source"], "garden")
        documented = {"$ref": "#/components/schemas/Stats"}
        self.assertEqual(list(faults(stats, documented, daemon.ask("/api/v1/openapi.json").json())), [])
        self.assertGreaterEqual(stats["images"]["total"], max(camera["images"]["total"] for camera in stats["cameras"]))
        metrics = daemon.ask("/metrics").body.decode()
        for name in ("garden", "tree"):
            self.assertIn(f'kinglet_camera_up{{source="{name}"}} 1', metrics)
            self.assertIn(f'kinglet_frames_total{{source="{name}",outcome="classified"}}', metrics)
        checks = daemon.ask("/readyz").json()["checks"]
        self.assertEqual((checks["camera"]["status"], checks["camera_tree"]["status"]), ("pass", "pass"))
        self.assertIn("capture_tree", daemon.ask("/livez").json()["checks"])
        found = {check["name"]: check for check in daemon.ask("/api/v1/doctor").json()["checks"]}
        self.assertIn("tree streaming", found["camera"]["detail"])
        daemon.says("tree: camera: streaming")


class UnequalTurns(Cameras):
    def test_six_parts_in_each_frame_of_one_that_floods_leave_the_others_theirs(self):
        six = [[column / 3, row / 2, 1 / 3, 1 / 2] for row in range(2) for column in range(3)]
        daemon = self.daemon(("six", f"images:{GARDEN}?fps=max"), ("one", f"images:{TREE}?fps=max"), ("lone", f"images:{TREE}?fps=4"),
                             sets=[f"look.fixed={six}", 'look.propose="fixed"', "look.regions=6", "look.budget=0",
                                   "gate.max_fps=1000"])

        def looks():
            return {camera["source"]: camera["inferences"]["total"] for camera in daemon.ask("/api/v1/stats").json()["cameras"]}

        last = daemon.until(lambda: min(now.values()) >= 20 and now if (now := looks()) else None, "twenty looks of each")
        print("looks:", last)  # shares are a matter of time: unit tests have them, with the time as a value
        for name, parts in (("six", 6), ("one", 1), ("lone", 1)):
            answers = daemon.ask(f"/api/v1/predictions?limit=100&source={name}").json()["items"]
            self.assertEqual({len(answer["regions"]) for answer in answers}, {parts}, name)
            self.assertTrue(all(answer["timing"]["wait_ms"] >= 0 for answer in answers))
        self.assertEqual(daemon.stop()[0], 0)


class OneThatFails(Cameras):
    def program(self, daemon):
        """The process id of the program that the daemon has started."""
        def children():
            tasks = Path(f"/proc/{daemon.process.pid}/task").glob("*/children")
            return [int(pid) for task in tasks for pid in task.read_text().split()]
        return daemon.until(children, "the program")[0]

    def ready(self, daemon):
        reply = daemon.ask("/readyz")
        self.assertEqual(reply.status, 200, reply.body)
        return reply.json()["checks"]

    def test_killed_or_hanging_it_is_told_and_the_other_goes_on(self):
        film = (f"exec:ffmpeg -nostdin -loglevel error -re -loop 1 -framerate 10 -i {TREE}/%06d.png -pix_fmt yuvj420p -q:v 2 "
                "-f mjpeg -")
        daemon = self.daemon(("garden", f"images:{GARDEN}"), ("tree", film))
        for name, bird in zip(("garden", "tree"), BIRDS):
            daemon.until(lambda: self.birds(daemon, name), f"a visit at {name}")
            self.assertEqual(self.birds(daemon, name), {bird})
        os.kill(self.program(daemon), signal.SIGSTOP)
        checks = daemon.until(lambda: (now := self.ready(daemon))["camera_tree"]["status"] == "warn" and now, "a stall")
        self.assertEqual(checks["camera"]["status"], "pass")
        self.assertRegex(checks["camera_tree"]["detail"], "^tree: (stalled|restarting)")
        self.goes_on(daemon, "garden")
        daemon.until(lambda: self.state(daemon, "tree") == "streaming", "the program that was started anew")
        os.kill(self.program(daemon), signal.SIGKILL)
        daemon.until(lambda: daemon.ask("/api/v1/cameras/tree").json()["restarts_total"] >= 2, "another start")
        self.goes_on(daemon, "garden")
        daemon.until(lambda: self.state(daemon, "tree") == "streaming", "the program once more")
        self.goes_on(daemon, "tree")
        self.assertEqual(daemon.ask("/api/v1/cameras/garden").json()["restarts_total"], 0)
        self.assertEqual(daemon.stop()[0], 0)

    def test_the_first_ends_and_the_second_goes_on(self):
        daemon = self.daemon(("garden", f"images:{GARDEN}?once"), ("tree", f"images:{TREE}"))
        daemon.until(lambda: self.state(daemon, "garden") == "absent", "the end of the first")
        self.goes_on(daemon, "tree")
        checks = self.ready(daemon)
        self.assertEqual((checks["camera"]["status"], checks["camera_tree"]["status"]), ("warn", "pass"))
        self.assertEqual(checks["camera"]["detail"], "garden: absent: the source has ended")
        self.assertEqual(daemon.ask("/livez").json()["status"], "pass")
        daemon.until(lambda: self.birds(daemon, "garden"), "the end of its visit")
        self.assertEqual(self.birds(daemon, "garden"), {BIRDS[0]})

    def test_one_that_is_not_there_is_named(self):
        daemon = self.daemon(("garden", f"images:{GARDEN}"), ("tree", "images:/nowhere"))
        daemon.until(lambda: self.state(daemon, "tree") == "absent", "a camera that is absent")
        self.goes_on(daemon, "garden")
        self.assertIn("tree: absent", self.ready(daemon)["camera_tree"]["detail"])
        self.assertEqual(daemon.ask("/snapshot.jpg?source=tree").status, 503)
        camera = {check["name"]: check for check in daemon.ask("/api/v1/doctor").json()["checks"]}["camera"]
        self.assertEqual(camera["status"], "fail")
        self.assertIn("tree absent", camera["detail"])

    def test_when_none_gives_frames_it_is_not_ready(self):
        daemon = self.daemon(("garden", "images:/nowhere"), ("tree", "images:/nowhere"))
        daemon.until(lambda: daemon.ask("/readyz").status == 503, "not ready")
        checks = daemon.ask("/readyz").json()["checks"]
        self.assertEqual((checks["camera"]["status"], checks["camera_tree"]["status"]), ("fail", "fail"))

    def test_strict_wants_all_of_them(self):
        daemon = self.daemon(("garden", f"images:{GARDEN}"), ("tree", "images:/nowhere"), flags=["--strict"], wait=False)
        self.assertEqual(daemon.process.wait(PATIENCE), 69)
        daemon.stop()
        self.assertIn("/nowhere", "".join(daemon.lines))


if __name__ == "__main__":
    main()
