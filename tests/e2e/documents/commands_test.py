# SPDX-License-Identifier: Apache-2.0
"""Every command of README and documents is run here, against a feeder of this test at the address that the documents name,
or has a row in commands.py that says where it is run or why not."""
import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
import unittest
from pathlib import Path

import numpy
from PIL import Image

import home_network
from commands import KEPT, SOURCE_DIR, TESTED, commands_of, pages, row_for, units, units_in
from support import PATIENCE, Daemon, ScratchFolder, main

home_network.enter()  # in which nobody else has port 8420

KINGLET = Path(os.environ["KINGLET"])
DEMO = SOURCE_DIR / "models" / "demo" / "kinglet-demo.onnx"
# Without an end of their own: it is enough that they say something.
ENDLESS = re.compile(r"^(curl -N |kinglet events|kingletd )")
# "The answer is no" is an answer.
MAY_SAY_NO = re.compile(r"^kinglet (doctor|verify|models check|models activate .* --trial)")
# A stand-in for rights and a service manager that a test does not have.
STAND_INS = {"sudo": 'while [ "${1#-}" != "$1" ]; do [ "$1" = -u ] && shift; shift; done; exec "$@"',
             "systemctl": f'case "$2" in {"|".join(sorted(units()))}) ;; *) echo "Unit $2 not found." >&2; exit 5;; esac'}


class Table(unittest.TestCase):
    def test_every_row_is_of_a_command_and_names_a_test(self):
        found = [(page, command) for page in pages() for command in commands_of(page)]
        self.assertGreater(len(found), 100)
        for row in TESTED + KEPT:
            self.assertTrue(row[1].strip(), f"a row that stands for every command of its page: {row}")
            self.assertTrue(any(row_for(page, command) == row for page, command in found), f"no such command any more: {row}")
        for _, _, test in TESTED:
            self.assertTrue((SOURCE_DIR / "tests" / test).exists(), test)


    def test_every_unit_that_a_page_names_is_one_of_the_package(self):
        found = [(page.name, unit) for page in pages() for unit in units_in(page.read_text(encoding="utf-8"))]
        self.assertGreater(len(found), 5)
        self.assertEqual([(page, unit) for page, unit in found if unit not in units()], [])


class Commands(ScratchFolder):
    def setUp(self):
        super().setUp()
        self.programs = self.folder / "bin"
        self.programs.mkdir()
        for name, body in STAND_INS.items():
            (self.programs / name).write_text(f"#!/bin/sh\n{body}\n")
            (self.programs / name).chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{self.programs}:{KINGLET.parent}:{os.environ['PATH']}",
                            "KINGLET_STORE__PATH": str(self.folder / "state"),
                            "KINGLET_HTTP__LISTEN": f'["127.0.0.1:8420", "unix:{self.folder}/http.sock"]', "LC_ALL": "C.UTF-8"}
        for name in ("KINGLET", "KINGLETD", "KINGLET_BIN", "KINGLET_SOURCE"):
            self.environment.pop(name, None)
        self.lay_out()

    def lay_out(self):
        """What a reader of the documents has beside him: a model by several names, photographs, a configuration."""
        for name in ("bird", "MODEL", "IN", "A", "B", "bird-small", "bird-int8", "bird-old"):
            for ending in (".onnx", ".labels.txt", ".recipe.json"):
                shutil.copy(DEMO.with_suffix(ending), self.folder / (name + ending))
        shutil.copy(DEMO.with_suffix(".labels.txt"), self.folder / "birds.txt")
        shutil.copy(DEMO.with_suffix(".labels.txt"), self.folder / "LABELS.txt")
        self.run_one("kinglet demo-frames --seed 7 --count 30 --size 320x240 --out photos")
        with Image.open(self.folder / "photos" / "frame_000000.png") as photo:
            for name in ("photo.jpg", "PHOTO.jpg"):
                photo.save(self.folder / name)
        numpy.save(self.folder / "x.npy", numpy.full((1, 3, 96, 96), 0.5, numpy.float32))
        for name in ("kinglet.toml", "now.toml", "stricter.toml"):
            (self.folder / name).write_text("")
        models = self.folder / "state" / "models"
        models.mkdir(parents=True)
        for name in ("bird-int8", "bird-old"):
            for ending in (".onnx", ".labels.txt", ".recipe.json"):
                shutil.copy(DEMO.with_suffix(ending), models / (name + ending))

    def here(self, command):
        """The command with this test's places in those of an installed feeder."""
        if command.startswith("kinglet record"):
            command += " --frames 20"
        for name, found in (("feeder.local", "127.0.0.1"), ("/run/kinglet/http.sock", str(self.folder / "http.sock")),
                            ("/etc/kinglet", str(self.folder / "etc")), ("/var/lib/kinglet", str(self.folder / "state")),
                            ("-g kinglet ", ""), ("vis_...", self.visit), ("job_01JTCX8M2Q4R6T8V0W2Y4Z6B8D", self.job),
                            ("SOURCE", "demo:"), ("morning.kgr", "it.kgr"), ("fc.weight", "0.0.weight"), ("scores=y", "probabilities=y")):
            command = command.replace(name, found)
        return command

    def run_one(self, command, endless=False):
        for written in re.findall(r"(?:-o|--html) ([\w.-]+)", command):
            (self.folder / written).unlink(missing_ok=True)  # of the page before
        process = subprocess.Popen(["bash", "-o", "pipefail", "-c", command], cwd=self.folder, env=self.environment, errors="replace",
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            if endless:
                said = select.select([process.stdout], [], [], PATIENCE)[0]
                return (0, "") if said else (1, "said nothing")
            out, _ = process.communicate(timeout=PATIENCE)
            return process.returncode, out
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()

    def begin(self):
        daemon = Daemon("--set", f'http.listen=["127.0.0.1:8420", "unix:{self.folder}/http.sock"]', env=self.environment,
                        sets=["source=demo:1", "visits.end_after=1s", "store.flush_interval=100ms", "http.rate=10000"])
        self.addCleanup(daemon.stop)
        daemon.first_prediction()
        self.environment["TOKEN"] = daemon.claim()["Authorization"].split()[1]
        self.visit = daemon.until(lambda: daemon.ask("/api/v1/visits").json()["items"], "a visit")[0]["id"]
        owner = {"Authorization": "Bearer " + self.environment["TOKEN"]}
        self.job = daemon.ask("/api/v1/models/bird-int8/activate", "POST", headers=owner).json()["id"]
        return daemon, owner

    def test_every_other_command_works_as_written(self):
        daemon, owner = self.begin()
        for page in pages():
            for command in commands_of(page):
                if row_for(page, command):
                    continue
                with self.subTest(page=page.name, command=command):
                    code, said = self.run_one(self.here(command), ENDLESS.search(command) is not None)
                    if "control/pause" in command:
                        daemon.ask("/api/v1/control/resume", "POST", headers=owner)  # "and resume", as it says there
                    self.assertTrue(code == 0 or (code == 1 and MAY_SAY_NO.search(command)), f"exit code {code}\n{said}")


if __name__ == "__main__":
    main()
