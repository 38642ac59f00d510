# SPDX-License-Identifier: Apache-2.0
"""A kingletd in a network where this machine, phones at home and strangers ask it, and tokens of each role."""
import os
import subprocess

import home_network
from support import PATIENCE, Daemon, ScratchFolder

home_network.enter()

KINGLET = os.environ["KINGLET"]


class Roles(ScratchFolder):
    def start(self, *sets):
        daemon = Daemon(sets=["http.listen=[::]:0", "source=demo:1", f"store.path={self.folder}/state", *sets])
        self.addCleanup(daemon.stop)
        self.port = daemon.url[1]
        return daemon

    def ask(self, source, *arguments, **named):
        return home_network.ask(source, self.port, *arguments, **named)

    def tool(self, *arguments):
        command = [KINGLET, *arguments, "--set", f"store.path={self.folder}/state"]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout.strip()

    def token(self, name, role):
        return {"Authorization": "Bearer " + self.tool("token", "add", name, "--role", role)}
