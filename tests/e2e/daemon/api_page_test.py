# SPDX-License-Identifier: Apache-2.0
"""docs/api.md says what the daemon does: it is made of the daemon's own document, and its commands work as written."""
import os
import re
import shlex
import shutil
import subprocess
import unittest

from support import PATIENCE, SOURCE_DIR, WithAVisit, main

import api_page  # tests/support, which support has put on the path

PAGE = SOURCE_DIR / "docs" / "api.md"


class Page(WithAVisit, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.document = cls.daemon.ask("/api/v1/openapi.json").json()
        cls.text = api_page.page(cls.document)
        cls.job = cls.daemon.ask("/api/v1/models/kinglet-demo/activate", "POST", headers=cls.owner).json()["id"]
        backup = cls.daemon.ask("/api/v1/backup", headers=cls.owner).body
        assert cls.daemon.ask("/api/v1/restore", "POST", backup, cls.owner).status == 202  # one that waits is told
        if os.environ.get("KINGLET_UPDATE_GOLDEN"):
            PAGE.write_text(cls.text, encoding="utf-8")

    def test_it_is_what_the_route_table_makes_of_it(self):
        self.assertEqual(PAGE.read_text(encoding="utf-8"), self.text, "KINGLET_UPDATE_GOLDEN=1 writes it anew")

    def test_every_route_has_its_command(self):
        for path, methods in self.document["paths"].items():
            for method in methods:
                self.assertIn(f"### {method.upper()} {path}\n", self.text)
        self.assertEqual(len(re.findall(r"^    curl ", self.text, re.MULTILINE)),
                         sum(len(methods) for methods in self.document["paths"].values()))

    def real(self, command):
        """The same with what this daemon has in place of what the page names."""
        day = self.daemon.ask("/api/v1/days").json()["items"][0]["date"]
        version = self.daemon.ask("/api/v1/model").json()["digest"].split(":")[1][:12]
        for example, found in ((api_page.IDS["visits"], self.visit["id"]), (api_page.IDS["predictions"], self.daemon.prediction()["id"]),
                               (api_page.IDS["jobs"], self.job), (api_page.IDS["tracks"], self.unnamed_track()),
                               ("/species/" + api_page.IDS["species"], "/species/" + self.visit["species_id"]),
                               ("/days/" + api_page.NAMES["date"], "/days/" + day), (api_page.NAMES["version"], version),
                               ("http://127.0.0.1:8420", "http://{}:{}".format(*self.daemon.url)),
                               ("$TOKEN", self.owner["Authorization"].split()[1])):
            command = command.replace(example, found)
        return command

    def test_its_commands_that_read_work_as_written(self):
        if shutil.which("curl") is None:
            self.skipTest("curl is not installed")
        blocks = re.findall(r"^### (\w+) (\S+)\n[\s\S]*?\n\n((?:    .*\n)+)", self.text, re.MULTILINE)
        self.assertGreater(len(blocks), 50)
        for method, path, command in blocks:
            if method != "GET":
                continue
            words = [*shlex.split(self.real(command.replace("\\\n", " "))), "-sS", "--fail", "--max-time", str(PATIENCE),
                     "-w", "%{stderr}%{http_code} %header{retry-after}"]
            endless = path.endswith(("/events", "stream.mjpg"))
            if "-o" in words:
                words[words.index("-o") + 1] = "-" if endless else os.devnull
            with self.subTest(path=path):
                asked = lambda words=words, endless=endless: self.answered(words, endless)
                code, told, fault = self.daemon.until(asked, "a free place")
                self.assertTrue(endless or code == 0, fault)
                self.assertTrue(told or os.devnull in words, fault)

    @staticmethod
    def answered(words, endless):
        """What curl ended with and said, and its fault; nothing when a place is free a moment later, as the answer says."""
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as curl:
            told = curl.stdout.read(1 if endless else -1)
            if endless and told:
                curl.kill()
            fault = curl.stderr.read()
        return None if re.search(rb"^503 \d", fault, re.MULTILINE) else (curl.returncode, told, fault)


if __name__ == "__main__":
    main()
