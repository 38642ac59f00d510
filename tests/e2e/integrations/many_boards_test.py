# SPDX-License-Identifier: Apache-2.0
"""A reserve with many boards, as docs/many-boards.md has it: ten daemons, one broker, one Prometheus, one dashboard."""
import json
import re
import signal
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from broker import free_port, until
from mqtt_case import QUICK, Mqtt
from support import PATIENCE, SOURCE_DIR, Daemon, main

BOARDS = [f"feeder_{number}" for number in range(1, 11)]


class ManyBoards(Mqtt):
    def start(self, broker):
        """Each a device of its own; two images a second, so that one machine can be all of them."""
        sets = [one for one in QUICK if not one.startswith(("source", "node", "gate"))]
        boards = {}
        for number, name in enumerate(BOARDS, 1):
            boards[name] = Daemon(sets=[*sets, f"source=demo:{number}", f"node.name={name}", "gate.max_fps=2", "inference.threads=1",
                                        f"mqtt.url=mqtt://127.0.0.1:{broker.port}", f"store.path={self.folder}/{name}"])
            self.addCleanup(boards[name].stop)
        return boards

    def prometheus(self, boards):
        text = re.search(r"```yaml\n(scrape_configs:.*?)```", (SOURCE_DIR / "docs/many-boards.md").read_text(), re.DOTALL)[1]
        targets = ", ".join('"%s:%d"' % board.url for board in boards.values())
        config = self.folder / "prometheus.yml"
        config.write_text(re.sub(r"targets: \[.*?\]", f"targets: [{targets}]", text, flags=re.DOTALL).replace("15s", "1s"))
        self.port = free_port()
        server = subprocess.Popen(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={self.folder}/data",
                                   f"--web.listen-address=127.0.0.1:{self.port}"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)

    def query(self, expression):
        address = f"http://127.0.0.1:{self.port}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        try:
            with urllib.request.urlopen(address, timeout=PATIENCE) as reply:
                return json.load(reply)["data"]["result"]
        except (urllib.error.HTTPError, OSError):
            return []  # it still starts

    def panel(self, title):
        dashboard = json.loads((SOURCE_DIR / "docs/grafana/kinglet.json").read_text())
        found, = (panel for panel in dashboard["panels"] if panel["title"] == title)
        return found["targets"][0]["expr"].replace("$instance", ".*").replace("$__rate_interval", "1m")

    def test_ten_boards_are_ten_devices_on_one_dashboard_and_one_that_is_lost_is_seen(self):
        broker = self.broker()
        live = self.listen(broker)
        boards = self.start(broker)
        self.prometheus(boards)
        names = set()
        for board in BOARDS:
            live.wait(f"kinglet/{board}/status", lambda payload: payload == b"online")
            live.wait(f"kinglet/{board}/event/visit", lambda payload: b'"visit.start"' in payload)
            device = json.loads(live.wait(f"homeassistant/device/kinglet_{board}/config"))
            own = {entity["unique_id"] for entity in device["cmps"].values()}
            self.assertFalse(names & own)
            names |= own
        until(lambda: len(self.query('up{job="kinglet"} == 1')) == 10, "ten scrapes")
        for title in ("Camera", "Images per second", "Visits today"):
            until(lambda: len(self.query(self.panel(title))) == 10, f"ten boards in {title}")
        lost = boards[BOARDS[3]]
        lost.stop(signal.SIGKILL)
        live.wait(f"kinglet/{BOARDS[3]}/status", lambda payload: payload == b"offline")
        until(lambda: [one["metric"]["instance"] for one in self.query('up{job="kinglet"} == 0')] == ["%s:%d" % lost.url], "its loss")
        for board in (BOARDS[0], BOARDS[9]):
            before = len(live.of(f"kinglet/{board}/event/visit"))
            until(lambda: len(live.of(f"kinglet/{board}/event/visit")) > before, f"news of {board}")


if __name__ == "__main__":
    main()
