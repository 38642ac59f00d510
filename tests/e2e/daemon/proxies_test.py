# SPDX-License-Identifier: Apache-2.0
"""Real reverse proxies in front, each with its lines of docs/access.md: who their clients are to the daemon."""
import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

import home_network
from home_network import HERE, HOME, PHONE, STRANGER
from support import SOURCE_DIR, Daemon, ScratchFolder, free_port, main

home_network.enter()

KINGLET = os.environ["KINGLET"]
JSON = {"Content-Type": "application/json"}
CLAIM = ("/api/v1/session", "POST", '{"claim": true}')
PROGRAMS = {"HAProxy": "haproxy", "nginx": "nginx", "Caddy": "caddy", "Apache": "apache2"}


def documented(name):
    """The lines for this proxy."""
    text = (SOURCE_DIR / "docs" / "access.md").read_text()
    part = text[text.index("## Behind a reverse proxy"):]
    part = part[re.search(rf"^(So does )?{name}", part, re.MULTILINE).start():]
    lines = part[part.index("\n\n    ") + 2:].split("\n")
    end = next(i for i, line in enumerate(lines) if not line.startswith("    "))
    return "\n".join(line[4:] for line in lines[:end]) + "\n"


def haproxy(folder, lines):
    (folder / "haproxy.cfg").write_text("defaults\n mode http\n timeout connect 60s\n timeout client 60s\n"
                                        " timeout server 60s\n" + lines)
    return ["haproxy", "-db", "-f", str(folder / "haproxy.cfg")]


def nginx(folder, lines):
    temporary = "".join(f"{name}_temp_path {folder}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (folder / "nginx.conf").write_text(f"daemon off; master_process off; pid {folder}/pid;\nevents {{}}\n"
                                       f"http {{ access_log off;\n{temporary}{lines} }}\n".replace("include proxy_params",
                                                                                              "include /etc/nginx/proxy_params"))
    return ["nginx", "-e", "stderr", "-c", str(folder / "nginx.conf")]


def caddy(folder, lines):
    (folder / "Caddyfile").write_text("{\n admin off\n auto_https off\n}\n" + lines)
    return ["caddy", "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]


def apache(folder, lines):
    modules = "".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n"
                      for name in ("mpm_event", "authz_core", "proxy", "proxy_http"))
    (folder / "apache.conf").write_text(f"{modules}ServerRoot {folder}\nServerName birds.example\nPidFile {folder}/pid\n"
                                        f"DefaultRuntimeDir {folder}\nMutex file:{folder}\nErrorLog {folder}/error.log\n"
                                        f"User www-data\nGroup www-data\nListen 80\n{lines}")
    return ["apache2", "-X", "-f", str(folder / "apache.conf")]


START = {"HAProxy": haproxy, "nginx": nginx, "Caddy": caddy, "Apache": apache}


class Proxies(ScratchFolder):
    def start(self, *sets):
        self.daemon = Daemon(sets=["http.listen=[::]:0", "source=demo:1", "http.rate=10000",
                                   f"store.path={self.folder}/state", *sets])
        self.addCleanup(self.daemon.stop)
        self.direct = self.daemon.url[1]
        return self.daemon

    def put_in_front(self, name, change=lambda lines: lines):
        if shutil.which(PROGRAMS[name]) is None:
            self.skipTest(f"SKIPPED: no {PROGRAMS[name]}")
        if name == "Apache" and os.getuid() == 0 and Path("/proc/self/uid_map").read_text().split()[2] == "1":
            self.skipTest("SKIPPED: Apache wants a second user, and this user namespace has one")
        self.port = free_port()
        lines = change(documented(name)).replace("127.0.0.1:8420", f"127.0.0.1:{self.direct}")
        folder = self.folder / name
        folder.mkdir(mode=0o777, exist_ok=True)
        command = START[name](folder, lines)
        for path in folder.iterdir():
            text = path.read_text()
            text = re.sub(r"(bind :|listen |\*:|Listen )80\b", rf"\g<1>{self.port}", text)
            path.write_text(text.replace("http://birds.example {", f"http://:{self.port} {{"))
        environment = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
        output = open(folder / "output", "wb")
        self.addCleanup(output.close)
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

        def up():
            if process.poll() is not None:
                raise AssertionError(f"{name} ended:\n" + (folder / "output").read_text())
            try:
                home_network.connect(PHONE, self.port, 5).close()
                return True
            except OSError:
                return False
        self.daemon.until(up, f"{name} answers")

    def through(self, source, *arguments, **named):
        return home_network.ask(source, self.port, *arguments, **named)

    def pair(self):
        subprocess.run([KINGLET, "pair", "--set", f"store.path={self.folder}/state"], check=True, capture_output=True)


class Trusted(Proxies):
    """In its usual configuration, trusted."""

    def check(self, name):
        self.start("http.trusted_proxies=127.0.0.1", "http.allowed_hosts=birds.example")
        self.put_in_front(name)
        host = {"Host": "birds.example"}
        self.assertEqual(self.through(PHONE, "/api/v1/stats", headers=host).status, 200)
        self.assert_problem(self.through(PHONE, "/snapshot.jpg", headers=host), 401, "token-required")
        self.assert_problem(self.through(STRANGER, "/api/v1/stats", headers=host), 401, "token-required")
        self.assertEqual(self.through(STRANGER, "/livez", headers=host).status, 200)
        # What a stranger says of itself makes it nobody else.
        lies = [{"X-Forwarded-For": PHONE}, {"X-Forwarded-For": HERE}, {"X-Forwarded-For": f"{PHONE}, {HERE}"},
                {"X-Real-IP": PHONE}, {"Forwarded": f"for={PHONE}"}, {"Via": "1.1 box"}, {"x-forwarded-for": ""},
                {"X-Forwarded-For": f"{PHONE}%2C{PHONE}"}, [("X-Forwarded-For", PHONE), ("X-Forwarded-For", HERE)]]
        for lie in lies:
            with self.subTest(lie=lie):
                lines = [("Host", "birds.example"), *(lie.items() if isinstance(lie, dict) else lie)]
                self.assertIn(self.through(STRANGER, "/api/v1/stats", headers=lines).status, (400, 401))
                reply = self.through(STRANGER, *CLAIM, headers=[*lines, *JSON.items()])
                self.assertIn(reply.status, (400, 403), reply.body)
        twice = self.through(STRANGER, "/api/v1/stats", headers=[("Host", "birds.example"), ("Host", "localhost")])
        self.assertIn(twice.status, (400, 401))
        # At home it still needs somebody at the device.
        self.assertFalse(self.through(PHONE, "/api/v1/session", headers=host).json()["claimable"])
        self.assert_problem(self.through(PHONE, *CLAIM, headers={**host, **JSON}), 403, "role-too-low")
        self.pair()
        self.daemon.until(lambda: self.through(PHONE, "/api/v1/session", headers=host).json()["claimable"], "pairing")
        self.assert_problem(self.through(STRANGER, *CLAIM, headers={**host, **JSON}), 403, "role-too-low")
        self.assertEqual(self.through(PHONE, *CLAIM, headers={**host, **JSON}).status, 200)
        self.daemon.stop()
        self.assertFalse(any("does not say for whom" in line for line in self.daemon.lines))

    def test_haproxy(self):
        self.check("HAProxy")

    def test_nginx(self):
        self.check("nginx")

    def test_caddy(self):
        self.check("Caddy")

    def test_apache(self):
        self.check("Apache")

    def test_one_that_says_nothing_brings_strangers(self):
        for name, forget in (("HAProxy", lambda lines: lines.replace("    option forwardfor\n", "")),
                             ("nginx", lambda lines: lines.replace("include proxy_params;", ""))):
            with self.subTest(name=name):
                self.start("http.trusted_proxies=127.0.0.1")
                self.put_in_front(name, forget)
                host = {"Host": HOME}
                self.assert_problem(self.through(PHONE, "/api/v1/stats", headers=host), 401, "token-required")
                self.assert_problem(self.through(STRANGER, *CLAIM, headers={**host, **JSON}), 403, "role-too-low")
                self.daemon.says("does not say for whom")
                self.daemon.stop()


class NotTrusted(Proxies):
    """Put in front without a word in the configuration."""

    def check(self, name, change=lambda lines: lines):
        self.start("http.allowed_hosts=birds.example")
        self.put_in_front(name, change)
        for source in (PHONE, STRANGER):
            for host in ("birds.example", HOME):
                with self.subTest(name=name, source=source, host=host):
                    headers = {"Host": host}
                    self.assert_problem(self.through(source, "/api/v1/stats", headers=headers), 401, "token-required")
                    reply = self.through(source, *CLAIM, headers={**headers, **JSON})
                    self.assert_problem(reply, 403, "role-too-low")
        # Programs on this machine are what they were.
        self.assertEqual(home_network.ask(HERE, self.direct, "/api/v1/stats").status, 200)
        self.daemon.stop()
        told = [line for line in self.daemon.lines if "that is not trusted" in line and "http.trusted_proxies" in line]
        self.assertEqual(len(told), 1, self.daemon.lines)

    def test_haproxy(self):
        self.check("HAProxy")

    def test_nginx(self):
        self.check("nginx")

    def test_nginx_as_it_is_without_any_further_line(self):
        self.check("nginx", lambda lines: lines.replace("include proxy_params;", ""))

    def test_haproxy_without_any_further_line(self):
        self.check("HAProxy", lambda lines: lines.replace("    option forwardfor\n", ""))

    def test_caddy(self):
        self.check("Caddy")

    def test_apache(self):
        self.check("Apache")


if __name__ == "__main__":
    main()
