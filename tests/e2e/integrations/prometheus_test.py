# SPDX-License-Identifier: Apache-2.0
"""Metrics with Prometheus itself: its linter, its server, the dashboard and the alerts that the documents offer."""
import json
import re
import subprocess
import sys
import unittest
import urllib.error
import urllib.parse
import urllib.request

from broker import free_port, until
from support import ELSEWHERE, PATIENCE, SOURCE_DIR, Daemon, ScratchFolder, main

DOCS = SOURCE_DIR / "docs"
EVERYTHING = ["source=demo:", "gate.max_fps=100", "visits.end_after=1s", "mqtt.enabled=true", "mqtt.url=mqtt://127.0.0.1:1",
              "webhook.url=http://127.0.0.1:1/",
              'notify=[{name="phone", to="birds", server="http://127.0.0.1:1"}]']
WITH_DETECTOR = [f"detector.path={SOURCE_DIR / 'models/demo/kinglet-demo-detector.onnx'}", "look.propose=motion"]
SUFFIXES = ("_bucket", "_sum", "_count")


def rows():
    """Kind by name, of every row of the table."""
    text = (SOURCE_DIR / "daemon/metrics/metrics.def").read_text()
    return dict(re.findall(r'^KINGLET_METRIC\(\w+, "(\w+)", k(\w+),', text, re.MULTILINE))


def names_in(expression):
    return set(re.findall(r"\b(?:kinglet|process)_\w+", expression))


def dashboard_expressions():
    dashboard = json.loads((DOCS / "grafana/kinglet.json").read_text())
    return [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]


def series_of(table):
    """What of the table an expression may name: of a histogram its parts."""
    names = set()
    for name, kind in table.items():
        names |= {name + suffix for suffix in SUFFIXES} if kind == "Histogram" else {name}
    return names


class Documents(unittest.TestCase):
    def test_the_dashboard_names_only_what_is_in_the_table_and_nearly_all_of_it(self):
        expressions = dashboard_expressions()
        named = set().union(*map(names_in, expressions))
        self.assertLessEqual(named, series_of(rows()))
        unnamed = {name for name, kind in rows().items()
                   if name not in named and not any(name + suffix in named for suffix in SUFFIXES)}
        self.assertEqual(unnamed, {"process_open_fds"})

    def test_alerts_and_questions_name_only_what_is_in_the_table(self):
        for file in ("grafana/kinglet.rules.yml", "prometheus.md"):
            named = {name for name in names_in((DOCS / file).read_text())}
            self.assertGreater(len(named), 4)
            self.assertLessEqual(named, series_of(rows()), file)

    def test_promtool_takes_the_alerts(self):
        checked = subprocess.run(["promtool", "check", "rules", DOCS / "grafana/kinglet.rules.yml"], capture_output=True,
                                 text=True, timeout=PATIENCE)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertIn("6 rules found", checked.stdout)


class Linter(unittest.TestCase):
    def check(self, daemon):
        text = daemon.ask("/metrics").body
        checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, timeout=PATIENCE)
        self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, b"", b""))
        return text.decode()

    def test_it_has_nothing_to_say_and_every_row_is_served_or_known_to_be_absent_here(self):
        with Daemon(sets=EVERYTHING + WITH_DETECTOR) as daemon:
            daemon.first_prediction()
            daemon.ask("/livez")
            daemon.until(lambda: b"kinglet_detector_looks_total" in daemon.ask("/metrics").body, "no look of the detector")
            text = self.check(daemon)
            served = set(re.findall(r"^# TYPE (\w+) ", text, re.MULTILINE))
            self.assertLessEqual(served, rows().keys())
            # What only some boards can say.
            self.assertLessEqual(rows().keys() - served, {"kinglet_temperature_celsius", "kinglet_throttled"})
            states = re.findall(r'^kinglet_camera_state\{source="camera",state="(\w+)"\} 1$', text, re.MULTILINE)
            self.assertEqual(states, ["streaming"])

    def test_it_has_nothing_to_say_of_a_daemon_without_a_model_and_camera(self):
        with Daemon(sets=["source=images:/nowhere", "model.path=/nowhere.onnx"]) as daemon:
            daemon.until(lambda: 'state="absent"} 1' in daemon.ask("/metrics").body.decode(), "no camera")
            self.assertNotIn("kinglet_model_info", self.check(daemon))


class Today(ScratchFolder):
    def test_visits_today_are_those_of_the_day_also_after_a_restart(self):
        panel, = (panel for panel in json.loads((DOCS / "grafana/kinglet.json").read_text())["panels"]
                  if panel["title"] == "Visits today")
        name, = names_in(panel["targets"][0]["expr"])

        def value(daemon):
            return int(re.search(rf"^{name} (\d+)$", daemon.ask("/metrics").body.decode(), re.MULTILINE)[1])
        sets = [f"store.path={self.folder}", f"time.zone={ELSEWHERE}"]
        with Daemon(sets=["source=demo:", "gate.max_fps=100", "visits.end_after=1s", *sets]) as daemon:
            daemon.until(lambda: value(daemon) >= 2, "two visits")
        before = subprocess.run([sys.executable, SOURCE_DIR / "tests/e2e/page/seed_past.py", self.folder, ELSEWHERE],
                                check=True, capture_output=True, text=True, timeout=PATIENCE).stdout.strip()
        with Daemon(sets=["source=images:/nowhere", *sets]) as daemon:
            days = {day["date"]: day["visits"] for day in daemon.ask(f"/api/v1/days?from={before}").json()["items"]}
            self.assertEqual(days.pop(before), 1)
            self.assertEqual([value(daemon)], list(days.values()))


class Server(ScratchFolder):
    def setUp(self):
        super().setUp()
        self.daemon = Daemon(sets=EVERYTHING)
        self.addCleanup(self.daemon.stop)
        self.daemon.first_prediction()
        # As the document has it, but for the address and the pace.
        text = re.search(r"```yaml\n(scrape_configs:.*?)```", (DOCS / "prometheus.md").read_text(), re.DOTALL)[1]
        text = text.replace("feeder.local:8420", "%s:%d" % self.daemon.url).replace("15s", "250ms")
        config = self.folder / "prometheus.yml"
        config.write_text(text + f"rule_files: [{DOCS}/grafana/kinglet.rules.yml]\n")
        self.port = free_port()
        self.server = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={self.folder}/data",
             f"--web.listen-address=127.0.0.1:{self.port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.server.wait)
        self.addCleanup(self.server.kill)
        until(lambda: self.value('up{job="kinglet"}') == 1, "a scrape")

    def query(self, expression):
        address = f"http://127.0.0.1:{self.port}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        try:
            with urllib.request.urlopen(address, timeout=PATIENCE) as reply:
                return json.load(reply)["data"]["result"]
        except urllib.error.HTTPError as refused:
            if refused.code == 503:
                return []  # it still starts
            raise AssertionError(f"{expression}: {refused.read()}") from None
        except OSError:
            return []  # not yet there

    def value(self, expression):
        result = self.query(expression)
        return float(result[0]["value"][1]) if result else None

    def test_it_scrapes_and_every_question_of_the_documents_has_an_answer(self):
        until(lambda: (self.value('increase(kinglet_frames_total{outcome="classified"}[1m])') or 0) > 0, "a rise")
        self.assertEqual(self.value('kinglet_camera_state{state="streaming"}'), 1)
        self.assertEqual(self.query("kinglet_build_info")[0]["metric"]["job"], "kinglet")
        served = {series["metric"]["__name__"] for series in self.query('{job="kinglet"}')}
        document = re.search(r"```promql\n(.*?)```", (DOCS / "prometheus.md").read_text(), re.DOTALL)[1]
        for expression in dashboard_expressions() + document.splitlines():
            asked = expression.replace("$instance", ".*").replace("$__rate_interval", "1m")
            with self.subTest(expression=asked):
                if names_in(asked) <= served:
                    until(lambda: self.query(asked), f"an answer to {asked}")
                else:
                    self.assertEqual(self.query(asked), [])


if __name__ == "__main__":
    main()
