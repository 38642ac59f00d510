# SPDX-License-Identifier: Apache-2.0
"""`kinglet config check`, `kingletd --check-config`, the start and POST /api/v1/config/validate say the same of a file."""
import json
import os
import subprocess

from support import PATIENCE, Daemon, ScratchFolder, main

KINGLET = os.environ["KINGLET"]
KINGLETD = os.environ["KINGLETD"]

# What the table of keys cannot judge: a line that is wrong, and what has to be said of it besides file and line.
WRONG = [
    ('time.zone = "Europe/Nowhere"', "Europe/Nowhere"),
    ('source = "camera:0"', "source = ...: expected one of auto, demo:, images:, libcamera:"),
    ('source = "rtps://camera/stream"', "did you mean"),
    ('source = "photos"', "images:FOLDER"),
    ('source = 5', "source = 5: expected"),
    ('source.spec = "camera:0"', "source.spec = ...: expected one of"),
    ('source = [{spec = "demo:"}, {name = "tree", spec = "camera:1"}]', "source.spec of tree"),
    ('source = [{spec = "demo:"}, {name = "tree"}]', "auto is for the first"),
    ('source = [{spec = "demo:"}, {spec = "demo:2"}]', "needs a name"),
    ('source = [{name = "a"}, {name = "a"}]', "another [[source]]"),
    ('camera.rotation = 45', "camera.rotation = 45: expected 0, 90, 180 or 270"),
    ('source = [{spec = "demo:"}, {name = "tree", spec = "demo:2", rotation = 45}]', "source.rotation of tree: expected 0, 90, 180 or 270"),
    ('gate.hours = "25:00-26:00"', "06:30-20:00"),
    ('gate.hours = "daylight"', "gate.latitude"),
    ('decide.region = "/nowhere/region.txt"', "/nowhere/region.txt"),
    ('decide.region_overrides = "/nowhere/mine.txt"', "decide.region_overrides"),
    ('http.listen = "unix:/' + "a" * 120 + '"', "108"),
    ('http.public_url = "feeder.local"', "http://feeder.local:8420"),
    ('http.trusted_proxies = ["router"]', "router"),
    ('http.trusted_proxies = ["10.0.0.0/33"]', "10.0.0.0/24"),
    ('http.allowed_hosts = ["*"]', "birds.example"),
    ('http.allowed_hosts = ["birds.example:8420"]', "without port"),
    ('http.allowed_hosts = ["http://birds.example"]', "birds.example"),
    ('http.allowed_origins = ["*"]', "https://birds.example"),
    ('http.allowed_origins = ["https://*.example"]', "https://birds.example"),
    ('http.allowed_origins = ["https://birds.example/"]', "no slash"),
    ('http.allowed_origins = ["birds.example"]', "https://birds.example"),
    ('http.allowed_origins = ["https://Birds.example"]', "small letters"),
    ('http.allowed_origins = ["https://birds.example:443"]', "443"),
    ('http.tls_certificate = "/nowhere/tls.pem"', "tls"),
    ('mqtt = {enabled = true, url = "broker"}', "mqtt://HOST"),
    ('mqtt = {enabled = true, topic_prefix = "a/#"}', "home/kinglet"),
    ('mqtt.topic_prefix = "vögel"', "home/kinglet"),
    ('mqtt.topic_prefix = ""', "home/kinglet"),  # also of what is off: it would be found when it is switched on
    ('mqtt.discovery_prefix = "a b"', "homeassistant"),
    ('mqtt.client_id = "a\\u0000b"', "a name without blanks"),
    ('mqtt.client_id = ""', "a name without blanks"),
    ('webhook.events = ["visit.begin"]', "visit.start"),
    ('mqtt = {enabled = true, discovery_prefix = "/a"}', "homeassistant"),
    ('webhook.url = "example.com/secret"', "http://"),
    ('webhook = {url = "http://example.com", events = ["visit.begin"]}', "visit.start"),
    ('notify = [{name = "phone", to = "no topic"}]', "letters, digits"),
    ('notify = [{name = "Phone", to = "birds"}]', "a to z"),
    ('notify = [{name = "phone", service = "telegram", to = "1"}]', "the bot's token"),
    ('notify = [{name = "phone", service = "mail", to = "a@b.example"}]', "smtps://"),
    ('notify = [{name = "phone", to = "birds", server = "gopher://a"}]', "without a login"),
    ('notify = [{name = "phone", to = "birds", only = ["first"]}]', "first_today"),
    ('notify = [{name = "phone", to = "birds", quiet = "22-7"}]', "06:30-20:00"),
    ('notify = [{name = "phone", to = "birds", digest = "8 pm"}]', "20:00"),
    ('notify = [{name = "a", to = "birds"}, {name = "a", to = "more"}]', "twice"),
    ('notify = [{name = "a", service = "template"}]', "https://gotify.example"),
    ('notify = [{name = "a", service = "ntfy", preset = "discord", to = "birds"}]', "template"),
]
RIGHT = """
source = "demo:1"
time.zone = "Europe/Berlin"
gate.hours = "06:30-20:00"
http.public_url = "https://birds.example/"
http.trusted_proxies = ["127.0.0.1", "10.0.0.0/8", "fe80::/10"]
http.allowed_hosts = ["birds.example", "feeder_2", "192.0.2.7"]
http.allowed_origins = ["https://birds.example", "http://192.0.2.7:8080", "http://[2001:db8::1]:81"]
mqtt.url = "nonsense, but nobody is told"
webhook.events = ["visit"]
[[notify]]
name = "phone"
to = "birds-7f3a"
events = ["visit.start", "camera", "disk"]
only = ["first_today", "first_season", "first_ever", "unusual"]
quiet = "22:00-07:00"
digest = "20:00"
"""


class Check(ScratchFolder):
    def file(self, text):
        path = self.folder / "kinglet.toml"
        path.write_text(text)
        return path

    def ends(self, *command):
        ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        return ended.returncode, ended.stdout + ended.stderr

    def test_every_fault_is_found_before_the_start_as_at_the_start(self):
        for line, word in WRONG:
            with self.subTest(line=line):
                path = self.file(f"log.level = \"info\"\n{line}\n")
                code, told = self.ends(KINGLET, "config", "check", "--config", path)
                self.assertEqual(code, 1, told)
                self.assertIn(f"{path}:2:", told)
                self.assertIn(word, told)
                fault = told.split(": ", 1)[1]
                for flags in (["--check-config"], ["--for", "1s"]):
                    code, output = self.ends(KINGLETD, "--config", path, *flags)
                    self.assertEqual(code, 78, output)
                    self.assertEqual(output.split(": ", 1)[1], fault)

    def test_all_of_them_at_once(self):
        keys = {"time.zone": '"x/y"', "http.trusted_proxies": '["router"]', "http.allowed_hosts": '["*"]'}
        path = self.file("".join(f"{key} = {value}\n" for key, value in keys.items()))
        code, told = self.ends(KINGLET, "config", "check", "--config", path, "--json")
        self.assertEqual(code, 1, told)
        self.assertEqual([error["detail"].split(" = ")[0] for error in json.loads(told)["errors"]], list(keys))

    def test_what_is_right_starts(self):
        path = self.file(RIGHT)
        self.assertEqual(self.ends(KINGLET, "config", "check", "--config", path)[0], 0)
        self.assertEqual(self.ends(KINGLETD, "--config", path, "--check-config")[0], 0)
        with Daemon("--config", str(path)) as daemon:
            self.assertEqual(daemon.ask("/livez").status, 200)

    def test_a_browser_is_told_the_same_but_no_file_is_opened_for_it(self):
        with Daemon(sets=["source=demo:1"]) as daemon:
            owner = daemon.claim()
            for line, word in WRONG:
                with self.subTest(line=line):
                    reply = daemon.ask("/api/v1/config/validate", "POST", f"\n{line}\n".encode(), owner).json()
                    if "/nowhere" in line:
                        self.assertTrue(reply["valid"], reply)
                        continue
                    self.assertEqual([error["line"] for error in reply["errors"]], [2], reply)
                    self.assertIn(word, json.dumps(reply, ensure_ascii=False))

    def test_values_that_may_be_secrets_are_not_repeated(self):
        path = self.file('webhook.url = "example.com/secret"\n')
        self.assertNotIn("secret", self.ends(KINGLET, "config", "check", "--config", path)[1])


if __name__ == "__main__":
    main()
