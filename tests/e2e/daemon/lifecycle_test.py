# SPDX-License-Identifier: Apache-2.0
"""Start, status line, service manager, slow clients, load, end."""
import contextlib
import http.client
import os
import select
import shutil
import signal
import socket
import subprocess
import threading
import time
import unittest

from support import PATIENCE, SLOWER, Daemon, ScratchFolder, main


def field(number, value):
    """A field of protobuf's wire format: a number, or bytes with their length."""
    def varint(n):
        return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def write_large_model(path, inner, classes):
    """Two matrix products, [1,3] to [1,classes] over `inner` values: the file has their weights, all 0."""
    def tensor(name, rows, columns):
        return field(1, rows) + field(1, columns) + field(2, 1) + field(8, name) + field(9, bytes(4 * rows * columns))

    def value(name, *dims):
        shape = b"".join(field(1, field(1, dim)) for dim in dims)
        return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))

    def node(op_type, inputs, output):
        return b"".join(field(1, name) for name in inputs) + field(2, output) + field(4, op_type)
    nodes = [node("GlobalAveragePool", ["x"], "a"), node("Flatten", ["a"], "b"), node("MatMul", ["b", "v"], "c"),
             node("MatMul", ["c", "w"], "y")]
    graph = b"".join(field(1, it) for it in nodes) + field(2, "large") + field(5, tensor("v", 3, inner)) + \
        field(5, tensor("w", inner, classes)) + field(11, value("x", 1, 3, 32, 32)) + field(12, value("y", 1, classes))
    path.write_bytes(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17)))


class Lifecycle(ScratchFolder):
    def test_for_ends_by_itself(self):
        start = time.monotonic()
        daemon = Daemon("--for", "3s", sets=["source=demo:"], wait=False)
        code = daemon.process.wait(PATIENCE)
        taken = time.monotonic() - start
        daemon.stop()
        self.assertEqual(code, 0)
        self.assertGreaterEqual(taken, 3)

    def test_the_status_line_names_prediction_rate_and_latency(self):
        with Daemon("--status", sets=["source=demo:"]) as daemon:
            daemon.says("images/s", " ms")

    def test_signals_end_it_cleanly_without_waiting_for_clients(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            daemon = Daemon(sets=["source=demo:"])
            daemon.first_prediction()
            idle = socket.create_connection(daemon.url)
            half = socket.create_connection(daemon.url)
            half.sendall(b"GET /livez HTTP/1.1\r\nHo")
            code, taken = daemon.stop(number)
            idle.close()
            half.close()
            self.assertEqual(code, 0, "".join(daemon.lines))
            self.assertLess(taken, 4 * SLOWER)  # a request begun may take 5 s for its next byte

    def test_a_signal_ends_it_while_a_large_model_loads(self):
        model, here = self.folder / "large.onnx", self.folder / "http.sock"
        write_large_model(model, inner=200_000, classes=300)
        for _ in range(10):
            daemon = Daemon(sets=["source=demo:", f"model.path={model}", f"http.listen=unix:{here}"], wait=False)
            daemon.until(here.exists, "a socket: the model is next")
            # Held up, so that what it has said is known before it is told: on a busy machine it may be loaded before we come round.
            daemon.process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, daemon.process.pid, os.WSTOPPED)
            daemon.until(lambda: not select.select([daemon.process.stderr], [], [], 0)[0], "all that it said")
            loaded = bool(daemon.lines)
            daemon.process.send_signal(signal.SIGTERM)
            self.assertEqual(daemon.stop(signal.SIGCONT)[0], 0)
            if not loaded:
                break
        self.assertEqual(daemon.lines, [])  # a line would say that it was loaded, or why not

    def test_the_service_manager_hears_ready_status_and_watchdog(self):
        path = self.folder / "notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(str(path))
            manager.settimeout(PATIENCE)
            received = []
            with Daemon(sets=["source=demo:"], env={"NOTIFY_SOCKET": str(path)}) as daemon:
                while not {"READY=1", "STATUS=camera streaming", "WATCHDOG=1"} <= set(received):
                    received.append(manager.recv(4096).decode())
                self.assertEqual(received[0], "READY=1")
                daemon.stop()
                while received[-1] != "STOPPING=1":
                    received.append(manager.recv(4096).decode())

    def test_version(self):
        daemon = Daemon("--version", wait=False)
        self.assertRegex(daemon.process.stdout.read(), r"^kingletd \d+\.\d+\.\d+")
        self.assertEqual(daemon.stop()[0], 0)


class UnderPressure(ScratchFolder):
    def test_slow_clients_do_not_keep_others_waiting_for_long(self):
        with Daemon(sets=["source=demo:"]) as daemon:
            stop, dripping = threading.Event(), threading.Event()
            clients = [socket.create_connection(daemon.url) for _ in range(24)]

            def drip():
                text = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n" + b"X-A: b\r\n" * 1000
                for i in range(len(text)):
                    for client in clients[8:]:
                        try:
                            client.send(text[i:i + 1])
                        except OSError:
                            pass
                    dripping.set()
                    if stop.wait(1):
                        return

            thread = threading.Thread(target=drip)
            thread.start()
            try:
                self.assertTrue(dripping.wait(PATIENCE))
                # Sixteen drip for at most 15 s each over eight threads, eight are silent for 2 s: longer than that it never takes.
                self.assertEqual(daemon.ask("/livez", timeout=45 * SLOWER).status, 200)
            finally:
                stop.set()
                thread.join()
                for client in clients:
                    client.close()

    def test_connections_that_are_too_many_are_told_so(self):
        with Daemon(sets=["source=demo:"]) as daemon, contextlib.ExitStack() as held:
            def answer_behind_many():
                for _ in range(60):  # twelve are read, 32 may wait, until their time is over
                    half = held.enter_context(socket.create_connection(daemon.url))
                    half.sendall(b"GET /livez HTTP/1.1\r\nHo")
                answer = daemon.ask("/livez")
                return answer if answer.status != 200 else None
            answer = daemon.until(answer_behind_many, "one that is too many")
            self.assertEqual((answer.status, answer.headers["retry-after"]), (429, "1"))
            self.assertEqual(answer.json()["type"], "/problems/too-many-requests")
            # Nor does one that goes on talking hold up those at home.
            stop = threading.Event()
            flood = threading.Thread(target=self.talk_without_end, args=(daemon.url, stop))
            flood.start()
            try:
                for _ in range(5):
                    guest = http.client.HTTPConnection(*daemon.url, source_address=("127.0.0.2", 0), timeout=PATIENCE)
                    guest.request("GET", "/livez")
                    self.assertEqual(guest.getresponse().status, 200)
                    guest.close()
            finally:
                stop.set()
                flood.join()

    @staticmethod
    def talk_without_end(url, stop):
        while not stop.is_set():
            with contextlib.suppress(OSError), socket.create_connection(url) as one:
                while not stop.is_set():
                    one.sendall(bytes(65536))

    def test_idle_kept_alive_connections_do_not_shut_out_others(self):
        with Daemon(sets=["source=demo:"]) as daemon, contextlib.ExitStack() as idle:
            for i in range(18):  # all the threads; one address has at most twelve
                here = ("127.0.0.1" if i < 12 else "127.0.0.2", 0)
                connection = http.client.HTTPConnection(*daemon.url, source_address=here)
                idle.callback(connection.close)
                connection.request("GET", "/livez")
                connection.getresponse().read()
            guest = http.client.HTTPConnection(*daemon.url, source_address=("127.0.0.3", 0), timeout=PATIENCE)
            idle.callback(guest.close)
            guest.request("GET", "/livez")
            self.assertEqual(guest.getresponse().status, 200)

    def test_predictions_go_on_under_load(self):
        wrk = shutil.which("wrk")
        if not wrk:
            self.skipTest("wrk is not installed")
        with Daemon(sets=["source=demo:"]) as daemon:
            before = daemon.first_prediction()["seq"]
            address = "http://%s:%d/api/v1/predictions/latest" % daemon.url
            with subprocess.Popen([wrk, "-t1", "-c16", f"-d{2 * PATIENCE}s", address], stdout=subprocess.PIPE, text=True) as load:
                try:
                    daemon.until(lambda: daemon.prediction()["seq"] > before + 20, "predictions under load")
                    self.assertIsNone(load.poll())
                finally:
                    load.send_signal(signal.SIGINT)
                output = load.communicate(timeout=PATIENCE)[0]
            print(output)
            self.assertRegex(output, r"[1-9]\d* requests in ")
            self.assertNotIn("Non-2xx", output)
            self.assertEqual(daemon.ask("/livez").status, 200)


if __name__ == "__main__":
    main()
