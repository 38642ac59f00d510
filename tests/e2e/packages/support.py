# SPDX-License-Identifier: Apache-2.0
"""Packages that hold nothing but their own name, machines that are nothing but a folder for apt, and keys for a minute."""
import contextlib
import functools
import http.server
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

SOURCE_DIR = Path(os.environ["SOURCE_FOLDER"])
MAKE_REPOSITORY = SOURCE_DIR / "cross" / "package" / "make-repository"
ARCHITECTURE = "arm64"
PATIENCE = 120  # seconds: only a failing test waits so long


def need(*tools):
    """Skips the whole program where one of them is missing."""
    for tool in tools:
        if shutil.which(tool) is None:
            print(f"SKIPPED: there is no {tool}")
            sys.exit(77)


def run(*command, code=0, **options):
    ended = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=PATIENCE, check=False, **options)
    if code is not None and ended.returncode != code:
        raise AssertionError(f"{command} ended with {ended.returncode}, not {code}\n{ended.stdout}\n{ended.stderr}")
    return ended


def from_package_script(call):
    """What a function of ./dev package prints."""
    script = f'set -euo pipefail; repository={SOURCE_DIR}; source "$repository/cross/lib/package.sh"; {call}'
    return run("bash", "-c", script).stdout


def control_of(template, version="0.1.0-1", libraries="libc6 (>= 2.38)", libcamera=""):
    return from_package_script(f"fill_control {template} {version} {ARCHITECTURE} '{libraries}' '{libcamera}' 100")


def make_package(folder, control, content=None, below_etc=None):
    """A .deb of this control file; it holds its own name and version, or `content`. `below_etc`: the text of its configuration
    file there, or None: the folder alone, as kinglet's packages have it."""
    fields = dict(line.split(": ", 1) for line in control.splitlines() if ": " in line and not line.startswith(" "))
    name, version = fields["Package"], fields["Version"]
    stage = folder / "stage"
    shutil.rmtree(stage, ignore_errors=True)
    (stage / "DEBIAN").mkdir(parents=True)
    (stage / "DEBIAN" / "control").write_text(control)
    place = stage / "usr" / "share" / "stand-in" / name
    place.parent.mkdir(parents=True)
    place.write_text(content or f"{name} {version}\n")
    (stage / "etc" / name / "conf.d").mkdir(parents=True)
    if below_etc is not None:
        (stage / "etc" / name / f"{name}.toml").write_text(below_etc)
        (stage / "DEBIAN" / "conffiles").write_text(f"/etc/{name}/{name}.toml\n")
    file = folder / f"{name}_{version.replace(':', '%3a')}_{fields['Architecture']}.deb"
    run("dpkg-deb", "--root-owner-group", "--build", stage, file)
    return file


def stand_in(folder, name, version, below_etc=None, **fields):
    lines = {"Package": name, "Version": version, "Architecture": ARCHITECTURE, "Maintainer": "nobody <nobody@kinglet.invalid>",
             "Description": "stands in for another package"}
    lines |= {key.capitalize(): value for key, value in fields.items()}
    return make_package(folder, "".join(f"{key}: {value}\n" for key, value in lines.items()), below_etc=below_etc)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class PackageTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.environment = {**os.environ, "GNUPGHOME": str(self.folder / "keys"), "LC_ALL": "C.UTF-8"}

    def key(self, name="archive@kinglet.invalid"):
        """One of the owner's, in a keyring of this test."""
        if not (self.folder / "keys").exists():
            (self.folder / "keys").mkdir(mode=0o700)
            self.addCleanup(run, "gpgconf", "--kill", "all", env=self.environment)
        run("gpg", "--batch", "--passphrase", "", "--quick-gen-key", name, "ed25519", "sign", "never", env=self.environment)
        return name

    def served(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}"

    def publish(self, folder, key, address, *packages, code=0):
        return run(MAKE_REPOSITORY, folder, key, address, *packages, code=code, env=self.environment)


class Machine:
    """A folder that apt takes for a machine of ARCHITECTURE, with what `installed` says."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("etc/apt/apt.conf.d", "etc/apt/preferences.d", "etc/apt/sources.list.d", "var/lib/apt/lists/partial",
                     "var/cache/apt/archives/partial", "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/log/apt"):
            (folder / name).mkdir(parents=True)
        (folder / "var/lib/dpkg/status").write_text("")
        self.configuration = folder / "apt.conf"
        self.configuration.write_text(
            f'Dir "{folder}";\nDir::State::status "{folder}/var/lib/dpkg/status";\nAPT::Architecture "{ARCHITECTURE}";\n'
            f'APT::Architectures {{ "{ARCHITECTURE}"; }};\nAPT::Sandbox::User "";\nAcquire::http::Proxy "DIRECT";\n'
            f'Acquire::Languages "none";\nDebug::NoLocking "true";\n'
            f'DPkg::Options {{ "--root={folder}"; "--force-not-root"; "--force-architecture"; "--log=/dev/null"; '
            f'"--no-triggers"; "--force-script-chrootless"; }};\n')

    def source(self, name, text):
        (self.folder / "etc/apt/sources.list.d" / name).write_text(text)

    def apt(self, *arguments, code=0):
        # Nobody is there to answer.
        return run("apt-get", "-y", "-q", *arguments, code=code, stdin=subprocess.DEVNULL,
                   env={**os.environ, "APT_CONFIG": str(self.configuration), "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"})

    def update(self, code=0):
        # What cannot be had is an error here, not a warning.
        return self.apt("-o", "APT::Update::Error-Mode=any", "update", code=code)

    def has(self):
        """The packages that are installed, with their versions."""
        listed = run("dpkg-query", f"--admindir={self.folder}/var/lib/dpkg", "-W", "-f=${db:Status-Abbrev} ${Package} ${Version}\n")
        rows = [line.split() for line in listed.stdout.splitlines()]
        return {name: version for state, name, version in rows if state == "ii"}

    def content(self, name):
        with contextlib.suppress(FileNotFoundError):
            return (self.folder / "usr/share/stand-in" / name).read_text()


def main():
    unittest.main(verbosity=2)
