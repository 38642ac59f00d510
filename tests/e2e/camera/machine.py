# SPDX-License-Identifier: Apache-2.0
"""An emulated arm64 machine with kingletd and kinglet-camera in it, asked from outside. Nothing in it listens beyond
its own loopback: two forwarders and a shell in the machine are behind ports of this one's loopback."""
import http.client
import shlex
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

from support import PATIENCE, Reply, free_port

HTTP_PORTS = (8420, 8421)  # of two daemons
FORWARD = 10000            # so much above is a port that the machine forwards to its own loopback
SHELL_PORT = 7000
SLOW = 300  # seconds: an emulated processor beside other work; only a failing test waits so long

COMMAND = "; ".join(
    ["echo machine is up"]
    + [f"nc -ll -p {FORWARD + port} -e nc 127.0.0.1 {port} &" for port in HTTP_PORTS]
    + [f"nc -ll -p {SHELL_PORT} -e sh &", "while [ ! -e /tmp/end ]; do sleep 1; done"]).replace("&;", "&")


class Machine:
    """`cameras`: libcamera's virtual ones; `options`: of the emulator; `prelude`: commands before all others."""

    def __init__(self, emulator, folder, cameras, memory_mb, options=(), prelude=(), environment=None):
        self.ports = {port: free_port() for port in (*HTTP_PORTS, SHELL_PORT)}
        self.yaml = tempfile.NamedTemporaryFile("w", suffix=".yaml")
        self.yaml.write("%YAML 1.1\n---\n" + cameras)
        self.yaml.flush()
        forwards = [word for port, outside in self.ports.items() for word in
                    ("--forward", f"{outside}:{port if port == SHELL_PORT else FORWARD + port}")]
        self.log = []
        self.process = subprocess.Popen(
            [emulator, "--cpu", "cortex-a76", "--memory", str(memory_mb), "--timeout", "600", "--yaml", self.yaml.name, *forwards,
             *options, folder, "; ".join((*prelude, COMMAND))], env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stdout), daemon=True)
        self.reader.start()
        self.until(lambda: self.shell("echo ready").strip() == "ready", "a shell in the machine")

    def end(self):
        if self.process.poll() is None:
            self.shell("touch /tmp/end")
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.terminate()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        self.yaml.close()

    def shell(self, command):
        """What the command prints in the machine; what it starts in the background must not keep its output."""
        try:
            with socket.create_connection(("127.0.0.1", self.ports[SHELL_PORT]), timeout=PATIENCE) as connection:
                connection.sendall(f"{command}\nexit\n".encode())
                received = b""
                while chunk := connection.recv(65536):
                    received += chunk
                return received.decode(errors="replace")
        except OSError:
            return ""

    def until(self, condition, what, patience=PATIENCE):
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline and self.process.poll() is None:
            value = condition()
            if value:
                return value
            time.sleep(0.2)
        raise AssertionError(f"never came true: {what}\n" + "".join(self.log[-20:]))


class MachineDaemon:
    """A kingletd in the machine, on one of HTTP_PORTS."""

    def __init__(self, machine, port, sets, pipelines="virtual"):
        self.machine = machine
        self.port = port
        self.file = f"/tmp/daemon-{port}.log"
        sets = [*sets, f"http.listen=127.0.0.1:{port}"]
        words = " ".join(f"--set {shlex.quote(assignment)}" for assignment in sets)
        machine.shell(
            f"export LD_LIBRARY_PATH=/app/lib LIBCAMERA_PIPELINES_MATCH_LIST={pipelines}\n"
            f"rm -f /tmp/pid-{port} /tmp/exit-{port}\n"
            f"(sh -c 'echo $$ >/tmp/pid-{port}; exec ./kingletd \"$@\"' kingletd --no-status {words}; echo $? >/tmp/exit-{port})"
            f" </dev/null >{self.file} 2>&1 &")
        self.pid = int(self.until(lambda: machine.shell(f"cat /tmp/pid-{port}"), "a process number"))

    def ask(self, path):
        """None while nobody answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.machine.ports[self.port], timeout=PATIENCE)
        try:
            connection.request("GET", path, headers={"Host": f"127.0.0.1:{self.port}", "Connection": "close"})
            return Reply(connection.getresponse())
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def until(self, condition, what, patience=PATIENCE):
        try:
            return self.machine.until(condition, what, patience)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.machine.shell('tail -n 20 ' + self.file)}") from None

    def prediction(self):
        reply = self.ask("/api/v1/predictions/latest")
        return reply.json() if reply and reply.status == 200 else None

    def camera(self):
        reply = self.ask("/api/v1/stats")
        return reply.json()["camera"] if reply and reply.status == 200 else {}

    def camera_program(self):
        """The process number of this daemon's kinglet-camera, 0 without one."""
        found = self.machine.shell(f"for p in /proc/[0-9]*; do read -r n name state parent rest <$p/stat && "
                                   f"[ $parent = {self.pid} ] && [ $state != Z ] && echo $n; done 2>/dev/null").split()
        return int(found[0]) if found else 0

    def stop(self):
        """Its exit code after SIGTERM."""
        self.machine.shell(f"kill -TERM {self.pid}")
        return int(self.until(lambda: self.machine.shell(f"cat /tmp/exit-{self.port}"), "the daemon's end"))


class MachineCase(unittest.TestCase):
    def see(self, daemon, expected):
        """All of the expected birds and nothing else."""
        seen = set()

        def all_seen():
            prediction = daemon.prediction()
            if prediction:
                seen.add(prediction["top"][0]["label"])
            return expected <= seen
        begin = time.monotonic()
        try:
            daemon.until(all_seen, f"the sight of {expected - seen}", SLOW)
        finally:
            print(f"seen in {time.monotonic() - begin:.1f} s:", ", ".join(sorted(seen)))
        self.assertEqual(seen, expected)
        daemon.until(lambda: daemon.ask("/readyz").status == 200, "readiness", SLOW)
        stats = daemon.ask("/api/v1/stats").json()
        print("inference:", stats["stages_ms"]["inference"], "ms; camera:", stats["camera"]["description"])

    def answers_again(self, daemon, expected):
        last = daemon.until(daemon.prediction, "an answer", SLOW)["seq"]
        after = daemon.until(lambda: (lambda p: p if p and p["seq"] > last + 1 else None)(daemon.prediction()),
                             "an answer after the restart", SLOW)
        self.assertIn(after["top"][0]["label"], expected)
