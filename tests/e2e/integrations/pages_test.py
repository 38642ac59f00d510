# SPDX-License-Identifier: Apache-2.0
"""The documents for other programs, tried as written: shell lines with their own tools, configurations with the daemon's
own check, Node-RED's flow and Home Assistant's automation with what a real broker was told."""
import contextlib
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import threading

import jinja2.sandbox

from mqtt_case import Mqtt
from support import KINGLETD, NOON, PATIENCE, SOURCE_DIR, WithAVisit, ScratchFolder, main

DOCS = SOURCE_DIR / "docs"
HERE = "http://127.0.0.1:8420"
NTFY = "https://ntfy.sh/YOUR-TOPIC"


def blocks(page):
    """What is indented: the commands and files of a page, by the sentence before each."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.findall(r"^([^\n]*)\n\n((?:    [^\n]*\n|\n(?=    ))+)", text, re.MULTILINE)
    return {before: "\n".join(line[4:] for line in block.splitlines()).strip() for before, block in found}


class Messages(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.got.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


class Shell(WithAVisit, ScratchFolder):
    @classmethod
    def setUpClass(cls):
        for tool in ("curl", "jq"):
            if shutil.which(tool) is None:
                print(f"SKIPPED: there is no {tool}")
                raise SystemExit(77)
        super().setUpClass()
        cls.lines = blocks("scripts.md")

    def start(self, beginning, **replaced):
        command = next(block for before, block in self.lines.items() if before.startswith(beginning))
        command = command.replace(HERE, "http://{}:{}".format(*self.daemon.url))
        for old, new in replaced.items():
            command = command.replace(old, new)
        process = subprocess.Popen(["bash", "-o", "pipefail", "-c", command], cwd=self.folder, text=True,
                                   env={**os.environ, "TZ": NOON}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()

    def names(self):
        return {visit.get("common_name", visit["species_id"]) for visit in self.daemon.ask("/api/v1/visits?limit=500").json()["items"]}

    def test_one_line_for_each_visitor(self):
        line = self.start("One line for each visitor").stdout.readline().rstrip()
        self.assertRegex(line, r"^\d{4}-\d\d-\d\dT[\d:.]+Z \S")
        self.assertIn(line.split(" ", 1)[1], self.names())

    def test_who_came_today(self):
        told, _ = self.start("Who came today").communicate(timeout=PATIENCE)
        rows = dict(reversed(line.split("\t")) for line in told.splitlines())
        self.assertTrue(rows)
        self.assertLessEqual(set(rows), self.names())
        self.assertTrue(all(int(count) > 0 for count in rows.values()))

    def test_the_picture_of_the_newest_visit(self):
        _, said = self.start("The picture of the newest visit").communicate(timeout=PATIENCE)
        self.assertEqual((self.folder / "visitor.jpg").read_bytes()[:2], b"\xff\xd8", said)

    def test_a_message_on_the_phone(self):
        receiver = http.server.HTTPServer(("127.0.0.1", 0), Messages)
        receiver.got = []
        thread = threading.Thread(target=receiver.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(receiver.server_close)
        self.addCleanup(receiver.shutdown)
        self.start("A message on the phone", **{NTFY: "http://127.0.0.1:%d/birds" % receiver.server_port})
        self.daemon.until(lambda: receiver.got, "a message")
        bird, rest = receiver.got[0].split(" is here")
        self.assertEqual(rest, "")
        self.assertIn(bird, self.names())


class Configurations(ScratchFolder):
    def test_every_configuration_of_the_pages_is_taken(self):
        for page, count in (("home-assistant.md", 2), ("webhooks.md", 1)):
            text = (DOCS / page).read_text(encoding="utf-8")
            found = re.findall(r"^    \[\w+\]\n(?:    \w+ = .*\n)+", text, re.MULTILINE)
            self.assertEqual(len(found), count, page)
            for block in found:
                file = self.folder / "page.toml"
                file.write_text(re.sub(r"^    ", "", block, flags=re.MULTILINE))
                checked = subprocess.run([KINGLETD, "--check-config", "--config", file], capture_output=True, text=True)
                self.assertEqual(checked.returncode, 0, f"{page}\n{block}\n{checked.stderr}")


class Flows(Mqtt):
    def setUp(self):
        super().setUp()
        self.broker_ = self.broker()
        self.live = self.listen(self.broker_)
        self.daemon(self.broker_.port, f"store.path={self.folder}")
        self.start = json.loads(self.live.wait("event/visit", lambda p: b'"visit.start"' in p))
        self.name = self.start["visit"].get("common_name") or self.start["visit"]["species_id"]

    def test_home_assistants_automation_says_who_is_here(self):
        automation = next(block for before, block in blocks("home-assistant.md").items() if "An automation" in before)
        visit = json.loads(self.live.wait("kinglet_test/config"))["cmps"]["visit"]
        environment = jinja2.sandbox.ImmutableSandboxedEnvironment(undefined=jinja2.StrictUndefined)
        told = json.loads(environment.from_string(visit["value_template"]).render(value_json=self.start))
        trigger = {"to_state": {"attributes": told}}
        condition, message = re.findall(r'"(\{\{.*?\}\}.*?)"\n?', automation + "\n")
        self.assertEqual(environment.from_string(condition).render(trigger=trigger), "True")
        self.assertEqual(environment.from_string(message).render(trigger=trigger), self.name + " is here")

    def test_node_reds_flow_finds_what_it_reads(self):
        nodes = {node["id"]: node for node in json.loads((DOCS / "node-red.json").read_text())}
        for node in nodes.values():
            for wire in sum(node.get("wires", []), []) + [node[name] for name in ("broker", "z") if node.get(name) in nodes]:
                self.assertIn(wire, nodes)
        topic = re.escape(nodes["kinglet-in"]["topic"]).replace(r"\+", "[^/]+")
        self.assertRegex("kinglet/test/event/visit", f"^{topic}$")
        self.assertEqual(nodes["kinglet-switch"]["property"], "payload.type")
        self.assertEqual([rule["v"] for rule in nodes["kinglet-switch"]["rules"]], [self.start["type"]])
        # Every member that the sentence reads is in the message.
        function = nodes["kinglet-text"]["func"]
        self.assertEqual(set(re.findall(r"visit\.(\w+)", function)) - self.start["visit"].keys(), set())
        if shutil.which("node"):
            script = f"const msg = {{payload: {json.dumps(self.start)}}};" \
                     f"console.log((new Function('msg', {json.dumps(function)}))(msg).payload)"
            said = subprocess.run(["node", "-e", script], capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(said.stdout, self.name + " is here\n", said.stderr)


if __name__ == "__main__":
    main()
