# SPDX-License-Identifier: Apache-2.0
"""What the tests of messages to a phone have in common: a stand-in of a service, and a daemon that ends with the test."""
import json

from phone_services import Service
from support import Daemon, ScratchFolder, bird_show

QUICK = [*bird_show(), "store.flush_interval=100ms", "http.public_url=http://feeder.example"]


class Phone(ScratchFolder):
    def service(self, form, **named):
        service = Service(form, **named)
        self.addCleanup(service.stop)
        return service

    def secret(self, text, name="secret", mode=0o600):
        file = self.folder / name
        file.write_text(text + "\n")
        file.chmod(mode)
        return file

    def tables(self, *tables):
        text = ""
        for table in tables:
            text += "[[notify]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
        file = self.folder / "kinglet.toml"
        file.write_text(text)
        return file

    def daemon(self, *tables, sets=()):
        daemon = Daemon("--config", str(self.tables(*tables)), sets=[*QUICK, f"store.path={self.folder}/state", *sets],
                        env={"https_proxy": "http://127.0.0.1:1"})  # nothing of a test reaches a real service
        self.addCleanup(daemon.stop)
        return daemon

    def ntfy(self, service, **keys):
        return {"name": "phone", "to": "birds", "server": service.address, "secret_file": str(self.secret("tk_secret")), **keys}

    def state(self, daemon, owner, name="phone"):
        return next(one for one in daemon.ask("/api/v1/notify", headers=owner).json()["items"] if one["name"] == name)
