# SPDX-License-Identifier: Apache-2.0
"""A real mosquitto on a port of its own, what it tells a listener, and a broker that is none."""
import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

from support import PATIENCE, accepted, free_port


def until(condition, what):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"never came true: {what}")


class Broker:
    """mosquitto(8). `lines` go into its configuration; it may be killed and started again on the same port."""

    def __init__(self, folder, lines=("allow_anonymous true",)):
        self.port = free_port()
        self.file = Path(folder) / "mosquitto.conf"
        self.file.write_text("\n".join([f"listener {self.port} 127.0.0.1", *lines, ""]))
        self.process = None
        self.start()

    def start(self):
        # As root it would become another user, who cannot read our files.
        user = ["env"] if os.geteuid() else ["setpriv", "--reuid=0"]
        text = self.file.read_text()
        if not os.geteuid() and "user root" not in text:
            self.file.write_text(text + "user root\n")
        self.process = subprocess.Popen([*user, "mosquitto", "-c", str(self.file)], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        until(self.answers, "a broker")

    def answers(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self):
        self.process.kill()
        self.process.wait()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def publish(self, topic, payload, *options):
        subprocess.run(["mosquitto_pub", "-h", "127.0.0.1", "-p", str(self.port), "-t", topic, "-m", payload, *options],
                       check=True, timeout=PATIENCE)


class Listener:
    """mosquitto_sub(1) on every topic: `messages` in their order, each with topic, payload (bytes) and retain."""

    def __init__(self, port, *options, topic="#"):
        self.messages = []
        self.process = subprocess.Popen(
            ["mosquitto_sub", "-h", "127.0.0.1", "-p", str(port), "-t", topic, "-F", '{"t":"%t","r":%r,"q":%q,"x":"%x"}',
             *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            fields = json.loads(line)
            self.messages.append({"topic": fields["t"], "retain": fields["r"], "qos": fields["q"],
                                  "payload": bytes.fromhex(fields["x"])})

    def of(self, topic):
        return [message["payload"] for message in list(self.messages) if message["topic"].endswith(topic)]

    def json_of(self, topic):
        return [json.loads(payload) for payload in self.of(topic)]

    def wait(self, topic, matches=lambda payload: True, count=1):
        """The payload that matches, the count-th of them."""
        def found():
            return [payload for payload in self.of(topic) if matches(payload)][count - 1:count]
        return until(found, f"a message to {topic}")[0]

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.reader.join(PATIENCE)
        self.process.stdout.close()


class OldBroker:
    """Speaks MQTT 3.1.1 only and takes whatever is said; `versions` are those that it was asked for."""

    def __init__(self):
        self.versions = []
        self.published = []
        self.flood = 0  # bytes of the message that comes after a subscription
        self.flooded = 0  # of them, those that were taken
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        for connection in accepted(self.server):
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    @staticmethod
    def _packet(stream):
        head = stream.read(1)
        if not head:
            return None, b""
        length = shift = 0
        while True:
            byte = stream.read(1)[0]
            length |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return head[0], stream.read(length)

    def _flood(self, connection):
        """A message to command/pause that is as long as it may be, at the pace of a good network."""
        if not self.flood:
            return
        topic = b"kinglet/test/command/pause"
        length = 2 + len(topic) + self.flood
        head = b"\x30" + bytes(length >> 7 * i & 127 | (128 if length >> 7 * (i + 1) else 0) for i in range(4) if length >> 7 * i)
        connection.sendall(head + len(topic).to_bytes(2, "big") + topic)
        for _ in range(self.flood >> 16):
            connection.sendall(bytes(1 << 16))
            self.flooded += 1 << 16
            time.sleep(0.005)  # 13 MB/s

    def _talk(self, connection):
        with connection, connection.makefile("rb") as stream, contextlib.suppress(ConnectionError):
            while True:
                head, body = self._packet(stream)
                if head is None:
                    return
                kind = head >> 4
                if kind == 1:
                    version = body[6]
                    self.versions.append(version)
                    if version != 4:
                        connection.sendall(b"\x20\x02\x00\x01")
                        return
                    connection.sendall(b"\x20\x02\x00\x00")
                elif kind == 3:
                    length = int.from_bytes(body[:2], "big")
                    self.published.append(body[2:2 + length].decode())
                    if head & 6:
                        connection.sendall(b"\x40\x02" + body[2 + length:4 + length])
                elif kind == 8:
                    connection.sendall(b"\x90\x03" + body[:2] + b"\x01")
                    self._flood(connection)
                elif kind == 12:
                    connection.sendall(b"\xd0\x00")

    def stop(self):
        self.server.close()
