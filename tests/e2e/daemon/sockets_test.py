# SPDX-License-Identifier: Apache-2.0
"""The sockets on which kingletd listens: of the file system, of both families, or passed by systemd."""
import json
import os
import socket
import stat
import subprocess
import tempfile

import home_network
from home_network import HERE, PHONE, PHONE_V6
from roles_case import Roles
from support import PATIENCE, Daemon, free_port, main


class Sockets(Roles):
    def unix(self, path, request="GET /api/v1/session HTTP/1.0\r\n\r\n"):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE)
            connection.connect(str(path))
            connection.sendall(request.encode())
            received = b""
            while chunk := connection.recv(65536):
                received += chunk
        head, _, body = received.partition(b"\r\n\r\n")
        return int(head.split()[1]), body

    def test_whoever_may_open_the_socket_in_the_file_system_may_do_everything(self):
        path = self.folder / "http.sock"
        daemon = self.start(f'http.listen=["[::]:0", "unix:{path}"]')
        mode = path.stat().st_mode
        self.assertTrue(stat.S_ISSOCK(mode))
        self.assertEqual(stat.S_IMODE(mode), 0o660)
        status, body = self.unix(path)
        self.assertEqual((status, json.loads(body)["role"]), (200, "admin"))
        status, _ = self.unix(path, "DELETE /api/v1/visits/vis_00000000000000000000000000 HTTP/1.1\r\nHost: localhost\r\n"
                                    "Connection: close\r\n\r\n")
        self.assertEqual(status, 404)
        daemon.stop()
        self.assertFalse(path.exists())

    def test_a_service_has_such_a_socket_in_its_runtime_folder(self):
        with Daemon(sets=["http.listen=127.0.0.1:0", "source=demo:"], env={"RUNTIME_DIRECTORY": str(self.folder)}):
            self.assertEqual(self.unix(self.folder / "http.sock")[0], 200)

    def test_a_socket_left_behind_is_replaced_and_another_file_is_not(self):
        path = self.folder / "http.sock"
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(path))
        with self.start(f'http.listen=["[::]:0", "unix:{path}"]'):
            self.assertEqual(self.unix(path)[0], 200)
            second = Daemon(sets=[f"http.listen=unix:{path}", "source=demo:"], wait=False)
            self.assertEqual(second.process.wait(PATIENCE), 69)
            second.stop()
            self.assertEqual(self.unix(path)[0], 200)
        path.write_text("mine")
        third = Daemon(sets=[f"http.listen=unix:{path}", "source=demo:"], wait=False)
        self.assertEqual(third.process.wait(PATIENCE), 69)
        third.stop()
        self.assertEqual(path.read_text(), "mine")

    def test_both_families_may_be_named_apart(self):
        port = free_port()
        with Daemon(sets=[f'http.listen=["0.0.0.0:{port}", "[::]:{port}"]', "source=demo:"]):
            for source in (PHONE, PHONE_V6):
                self.assertEqual(home_network.ask(source, port, "/livez").status, 200)

    def test_systemd_may_pass_the_socket(self):
        with socket.create_server((HERE, 0)) as passed:
            port = passed.getsockname()[1]
            settings = tempfile.NamedTemporaryFile(suffix=".toml")
            self.addCleanup(settings.close)
            command = ["sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh", os.environ["KINGLETD"], "--config", settings.name,
                       "--set", "source=demo:", "--for", "5m"]
            process = subprocess.Popen(command, env={**os.environ, "LISTEN_FDS": "1"}, stderr=subprocess.DEVNULL,
                                       pass_fds=(3,), preexec_fn=lambda: os.dup2(passed.fileno(), 3))
            try:
                # The kernel keeps the connection until the daemon takes it.
                self.assertEqual(home_network.ask(HERE, port, "/livez").status, 200)
            finally:
                process.terminate()
                self.assertEqual(process.wait(PATIENCE), 0)


if __name__ == "__main__":
    main()
