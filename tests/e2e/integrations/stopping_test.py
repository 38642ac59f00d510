# SPDX-License-Identifier: Apache-2.0
"""A signal ends the daemon in 3 s whatever it is doing, with the open visit on the disk and told to all who listen."""
import contextlib
import json
import os
import signal
import socket
import sqlite3
import struct
import sys
import threading
import time
from pathlib import Path

from broker import Broker, Listener, free_port
from events_test import Listener as Stream
from lifecycle_test import field, write_large_model
from models_test import put_model
from support import DISK, PATIENCE, Daemon, ScratchFolder, main
from webhook_test import Receiver

LIMIT = 3  # seconds from the signal; each case prints what it took
# A visit that stays open: the bird of the scene comes back before it would end.
VISIT = ["source=demo:1", "gate.motion=false", "visits.end_after=60s", "http.rate=1000"]
# Programs that give no frame. The second one is deaf to all but SIGKILL.
HANGS = "#!/bin/sh\nexec sleep 1000\n"
DEAF = "#!/bin/sh\ntrap '' INT TERM HUP\nwhile :; do sleep 1; done\n"


def write_slow_model(path, layers=5, channels=512, side=64):
    """Seconds for each picture: convolutions by weights of 0. It is sure of the first of its two classes."""
    def tensor(name, dims, data):
        return b"".join(field(1, dim) for dim in dims) + field(2, 1) + field(8, name) + field(9, data)

    def attribute(name, *numbers):
        return field(5, field(1, name) + b"".join(field(8, number) for number in numbers) + field(20, 7))

    def value(name, *dims):
        shape = b"".join(field(1, field(1, dim)) for dim in dims)
        return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))

    def node(op_type, inputs, output, *attributes):
        return b"".join(field(1, name) for name in inputs) + field(2, output) + field(4, op_type) + b"".join(attributes)
    nodes, last = [], "x"
    for i in range(layers):
        nodes.append(node("Conv", [last, "w" if i else "v"], f"c{i}", attribute("kernel_shape", 3, 3), attribute("pads", 1, 1, 1, 1)))
        last = f"c{i}"
    nodes += [node("GlobalAveragePool", [last], "a"), node("Flatten", ["a"], "b"), node("Gemm", ["b", "g", "h"], "l"),
              node("Softmax", ["l"], "y")]
    tensors = [tensor("v", (channels, 3, 3, 3), bytes(channels * 3 * 9 * 4)),
               tensor("w", (channels, channels, 3, 3), bytes(channels * channels * 9 * 4)),
               tensor("g", (channels, 2), bytes(channels * 2 * 4)), tensor("h", (2,), struct.pack("<2f", 10, 0))]
    graph = b"".join(field(1, it) for it in nodes) + field(2, "slow") + b"".join(field(5, it) for it in tensors) + \
        field(11, value("x", 1, 3, side, side)) + field(12, value("y", 1, 2))
    path.write_bytes(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17)))
    path.with_suffix(".labels.txt").write_text("Erithacus rubecula\nPica pica\n")


def listens_to_signals(pid):
    blocked = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigBlk:"))
    return int(blocked.split()[1], 16) >> (signal.SIGTERM - 1) & 1


class Stopping(ScratchFolder):
    def setUp(self):
        super().setUp()
        self.state = self.folder / "state"

    def start(self, *sets, flags=(), env=None, wait=True):
        daemon = Daemon(*flags, sets=[*sets, f"store.path={self.state}"], env=env, wait=wait)
        self.addCleanup(lambda: daemon.process.poll() is None and daemon.process.kill())
        return daemon

    def script(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def stops(self, daemon, *waits_for):
        code, taken = daemon.stop(waits_for=waits_for)
        print(f"{self.id().split('.')[-1]}: {taken:.2f} s but for those without a processor")
        self.assertEqual(code, 0, "".join(daemon.lines))
        self.assertLess(taken, LIMIT, "".join(daemon.lines))

    def open_visit(self, daemon):
        """The id of the visit that is going on."""
        def visit():
            found = daemon.ask("/api/v1/visits?limit=1").json()["items"]
            return found and found[0]["state"] == "open" and found[0]["id"]
        return daemon.until(visit, "a visit")

    def assert_on_disk(self, visit):
        with contextlib.closing(sqlite3.connect(self.state / "kinglet.db")) as database:
            rows = database.execute("SELECT open FROM visits WHERE id = ?", (visit,)).fetchall()
        self.assertEqual(rows, [(0,)], "the visit is not on the disk as ended")

    def stops_with_its_visit(self, daemon):
        visit = self.open_visit(daemon)
        self.stops(daemon)
        self.assert_on_disk(visit)
        return visit


class Camera(Stopping):
    def slow_starts(self):
        """Sources whose start takes its time, with the environment for each."""
        deaf = self.script("deaf", DEAF)
        self.script("rpicam-vid", HANGS)
        path = {"PATH": f"{self.folder}:{os.environ['PATH']}", "KINGLET_CAMERA_PROGRAM": "/nowhere/kinglet-camera"}
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        address = "http://127.0.0.1:%d/" % silent.getsockname()[1]
        return {"auto": path, "rpicam:": path, f"exec:{deaf}?format=mjpeg": {},
                "libcamera:": {"KINGLET_CAMERA_PROGRAM": str(deaf)}, f"mjpeg:{address}": {}, f"snapshot:{address}": {},
                "mjpeg:http://192.0.2.1/": {}}  # nobody is there (RFC 5737)

    def test_while_it_starts_and_hangs(self):
        for source, env in self.slow_starts().items():
            with self.subTest(source):
                daemon = self.start(f"source={source}", env=env)
                time.sleep(0.5)
                self.stops(daemon)

    def test_while_it_starts_and_the_daemon_is_strict(self):
        self.script("rpicam-vid", HANGS)
        daemon = self.start("source=rpicam:", flags=["--strict"], wait=False,
                            env={"PATH": f"{self.folder}:{os.environ['PATH']}"})
        daemon.says("http:")
        time.sleep(0.5)
        self.stops(daemon)

    def test_absent_or_again_and_again_started(self):
        comes_and_goes = self.script("goes", "#!/bin/sh\nsleep 0.3\nexit 1\n")
        for source in ("exec:/nowhere/camera", f"exec:{comes_and_goes}", "images:/nowhere"):
            with self.subTest(source):
                daemon = self.start(f"source={source}")
                daemon.until(lambda: daemon.ask("/api/v1/stats").json()["camera"]["state"] != "starting", "a state")
                self.stops(daemon)

    def test_streaming_from_a_program_that_is_deaf(self):
        frames = self.script("frames.py", "import signal, sys, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                                          "sys.stdout.write('YUV4MPEG2 W160 H80 F25:1\\n')\nwhile True:\n"
                                          "  sys.stdout.buffer.write(b'FRAME\\n' + bytes(160 * 80 * 3 // 2))\n"
                                          "  sys.stdout.buffer.flush()\n  time.sleep(0.05)\n")
        daemon = self.start(f"source=exec:{sys.executable} -u {frames}?format=y4m")
        daemon.first_prediction()
        self.stops(daemon)


class Model(Stopping):
    def large_model(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        write_large_model(folder / "large.onnx", inner=200_000, classes=300)
        return folder / "large.onnx"

    def test_loading_at_the_start_leaves_no_socket_behind(self):
        here = self.folder / "http.sock"
        daemon = self.start(*VISIT, f"model.path={self.large_model(self.folder)}", f"http.listen=unix:{here}", wait=False)
        daemon.until(here.exists, "a socket: the model is next")
        self.stops(daemon)
        self.assertFalse(here.exists())

    def test_being_checked(self):
        self.large_model(self.state / "models")
        daemon = self.start(*VISIT)
        visit = self.open_visit(daemon)
        models = {one["name"]: one for one in daemon.ask("/api/v1/models").json()["items"]}
        self.assertEqual(models["large"]["state"], "checking")
        time.sleep(0.2)
        self.stops(daemon)
        self.assert_on_disk(visit)

    def test_being_activated(self):
        self.large_model(self.state / "models")
        daemon = self.start(*VISIT)
        owner = daemon.claim()
        visit = self.open_visit(daemon)
        reply = daemon.ask("/api/v1/models/large/activate", "POST", headers=owner)
        self.assertEqual(reply.status, 202, reply.body)
        time.sleep(0.5)
        self.stops(daemon)
        self.assert_on_disk(visit)

    def test_on_trial(self):
        self.state.mkdir()
        put_model(self.state / "models", "half")
        daemon = self.start(*VISIT)
        owner = daemon.claim()
        reply = daemon.ask("/api/v1/models/half/activate?trial=yes&frames=100000", "POST", headers=owner)
        daemon.until(lambda: "trial" in daemon.ask(reply.headers["location"]).json(), "frames on trial")
        self.stops_with_its_visit(daemon)


    def test_that_takes_seconds_for_each_picture(self):
        model = self.folder / "slow.onnx"
        write_slow_model(model)
        daemon = self.start(*VISIT, f"model.path={model}", "decide.consensus_frames=1")
        visit = self.open_visit(daemon)
        with Stream(daemon, "/api/v1/events?types=visit.end") as events:
            self.stops(daemon)
            self.assertEqual(events.event()["data"]["visit"]["id"], visit)
        self.assert_on_disk(visit)


class Clients(Stopping):
    def test_reading_streams_dripping_and_idle(self):
        daemon = self.start(*VISIT)
        visit = self.open_visit(daemon)
        with contextlib.ExitStack() as held:
            events = held.enter_context(Stream(daemon, "/api/v1/events?types=visit.end"))
            pictures = held.enter_context(Stream(daemon, "/stream.mjpg"))
            pictures.part()
            held.enter_context(Stream(daemon, "/stream.mjpg"))  # never reads
            idle = held.enter_context(socket.create_connection(daemon.url))
            self.assertIsNotNone(idle)
            dripping = held.enter_context(socket.create_connection(daemon.url))
            done = threading.Event()
            held.callback(done.set)

            def drip():
                with contextlib.suppress(OSError):
                    for byte in b"GET /livez HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 10000:
                        dripping.send(bytes([byte]))
                        if done.wait(0.05):
                            return
            threading.Thread(target=drip, daemon=True).start()
            self.stops(daemon)
            told = events.event()
        self.assertEqual((told["event"], told["data"]["visit"]["id"]), ("visit.end", visit))
        self.assert_on_disk(visit)


class Speakers(Stopping):
    def broker(self):
        broker = Broker(self.folder, ["allow_anonymous true"])
        self.addCleanup(broker.stop)
        return broker

    def mqtt(self, port, *sets):
        return [*VISIT, "node.name=test", "mqtt.enabled=true", f"mqtt.url=mqtt://127.0.0.1:{port}", *sets]

    def connected(self, daemon):
        daemon.until(lambda: daemon.ask("/api/v1/stats").json()["mqtt"]["state"] == "connected", "a connection")

    def retained(self, broker):
        listener = Listener(broker.port)
        try:
            return json.loads(listener.wait("state/visit")), listener.wait("status").decode()
        finally:
            listener.stop()

    def test_the_broker_keeps_no_visit_as_open(self):
        broker = self.broker()
        daemon = self.start(*self.mqtt(broker.port))
        self.connected(daemon)
        listener = Listener(broker.port)
        self.addCleanup(listener.stop)
        visit = self.open_visit(daemon)
        listener.wait("event/visit")
        self.stops(daemon, broker.process.pid)
        self.assert_on_disk(visit)
        kept, status = self.retained(broker)
        self.assertEqual((kept["id"], kept["state"], status), (visit, "ended", "offline"))
        told = json.loads(listener.wait("event/visit", lambda payload: json.loads(payload)["type"] == "visit.end"))
        self.assertEqual(told["visit"]["id"], visit)

    def test_a_broker_that_is_away_silent_or_nowhere(self):
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        for url in (f"mqtt://127.0.0.1:{free_port()}", "mqtt://127.0.0.1:%d" % silent.getsockname()[1],
                    "mqtt://192.0.2.1", "mqtt://kinglet-nowhere.invalid",
                    "mqtts://127.0.0.1:%d" % silent.getsockname()[1]):
            with self.subTest(url):
                daemon = self.start(*self.mqtt(0, f"mqtt.url={url}"))
                self.stops_with_its_visit(daemon)
                self.assertTrue(any("had not reached the broker" in line for line in daemon.lines), daemon.lines)

    def test_a_broker_that_hangs(self):
        broker = self.broker()
        daemon = self.start(*self.mqtt(broker.port))
        self.connected(daemon)
        broker.pause()
        self.addCleanup(broker.resume)
        self.stops_with_its_visit(daemon)

    def test_a_broker_that_is_back_since_the_last_try_hears_of_the_end(self):
        broker = self.broker()
        daemon = self.start(*self.mqtt(broker.port))
        self.connected(daemon)
        visit = self.open_visit(daemon)
        broker.kill()
        daemon.until(lambda: daemon.ask("/api/v1/stats").json()["mqtt"]["state"] == "waiting", "the loss")
        time.sleep(3)  # the pauses between two tries grow
        broker.start()
        self.stops(daemon)
        kept, _ = self.retained(broker)
        self.assertEqual((kept["id"], kept["state"]), (visit, "ended"))

    def test_the_webhook_is_told(self):
        receiver = Receiver()
        self.addCleanup(receiver.stop)
        daemon = self.start(*VISIT, f"webhook.url=http://127.0.0.1:{receiver.port}/", "webhook.events=visit.end")
        visit = self.stops_with_its_visit(daemon)
        message = json.loads(receiver.received[-1]["body"])
        self.assertEqual((message["type"], message["visit"]["id"]), ("visit.end", visit))

    def test_a_webhook_that_stalls_or_is_away(self):
        receiver = Receiver(behave=lambda number: "stall")
        self.addCleanup(receiver.stop)
        for port in (receiver.port, free_port()):
            with self.subTest(port):
                daemon = self.start(*VISIT, f"webhook.url=http://127.0.0.1:{port}/", "webhook.events=visit")
                self.stops_with_its_visit(daemon)
                self.assertTrue(any("had not been taken" in line for line in daemon.lines), daemon.lines)


class Disk(Stopping):
    SLOW = {"SLOW_DISK_MS": "300"}

    def setUp(self):
        super().setUp()
        if not DISK:
            self.skipTest("libslow_disk.so is not built with sanitizers")

    def test_slow(self):
        self.stops_with_its_visit(self.start(*VISIT, env=self.SLOW))

    def test_slow_while_the_daemon_starts(self):
        for pause in (0.3, 1):
            with self.subTest(pause):
                daemon = self.start(*VISIT, env=self.SLOW, wait=False)
                daemon.until(lambda pid=daemon.process.pid: listens_to_signals(pid), "an ear for signals: before, they kill")
                time.sleep(pause)
                self.stops(daemon)

    def test_slow_with_everybody_else_slow_too(self):
        broker = Broker(self.folder, ["allow_anonymous true"])
        self.addCleanup(broker.stop)
        receiver = Receiver(behave=lambda number: "stall")
        self.addCleanup(receiver.stop)
        daemon = self.start(*VISIT, "mqtt.enabled=true", f"mqtt.url=mqtt://127.0.0.1:{broker.port}",
                            f"webhook.url=http://127.0.0.1:{receiver.port}/", "webhook.events=visit", env=self.SLOW)
        daemon.until(lambda: daemon.ask("/api/v1/stats").json()["mqtt"]["state"] == "connected", "a connection")
        broker.pause()
        self.addCleanup(broker.resume)
        with Stream(daemon, "/stream.mjpg"):
            self.stops_with_its_visit(daemon)


if __name__ == "__main__":
    main()
