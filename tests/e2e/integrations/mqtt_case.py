# SPDX-License-Identifier: Apache-2.0
"""What the tests of MQTT have in common: a broker, a listener and a daemon that ends with the test."""
import re

from broker import Broker, Listener
from support import Daemon, ScratchFolder

QUICK = ["source=demo:", "visits.end_after=1s", "gate.max_fps=100", "store.flush_interval=100ms", "node.name=test",
         "mqtt.enabled=true"]


class Mqtt(ScratchFolder):
    def broker(self, *lines):
        broker = Broker(self.folder, lines or ("allow_anonymous true",))
        self.addCleanup(broker.stop)
        return broker

    def listen(self, broker, *options):
        listener = Listener(broker.port, *options)
        self.addCleanup(listener.stop)
        return listener

    def daemon(self, port, *sets, host="127.0.0.1", scheme="mqtt"):
        daemon = Daemon(sets=[*QUICK, f"mqtt.url={scheme}://{host}:{port}", *sets])
        self.addCleanup(daemon.stop)
        return daemon

    def status(self, daemon):
        return daemon.ask("/api/v1/stats").json()["mqtt"]

    def connected(self, daemon):
        daemon.until(lambda: self.status(daemon)["state"] == "connected", "a connection")

    def metric(self, daemon, name):
        text = daemon.ask("/metrics").body.decode()
        return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)[1])

    def secret(self, text, name="password"):
        file = self.folder / name
        file.write_text(text)
        file.chmod(0o600)
        return file
