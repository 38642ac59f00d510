# SPDX-License-Identifier: Apache-2.0
"""TLS with the owner's own certificate: curl as a user has it, renewals, and who does not keep to it."""
import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import unittest

from support import PATIENCE, Daemon, ScratchFolder, main


class TlsDaemon(Daemon):
    """Says https:// where the other says http://."""

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line)
            if "kingletd: open https://" in line:
                host, port = line.split("https://")[1].split("/")[0].rsplit(":", 1)
                self.url = (host, int(port))
                self.opened.set()
        self.opened.set()


def make_certificate(folder, name="feeder.local"):
    """A pair of its own, valid for this machine."""
    certificate, key = folder / "tls.pem", folder / "tls.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name},IP:127.0.0.1", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)
    key.chmod(0o600)
    return certificate, key


@unittest.skipUnless(shutil.which("openssl") and shutil.which("curl"), "openssl and curl are not installed")
class Tls(ScratchFolder):
    def setUp(self):
        super().setUp()
        self.certificate, self.key = make_certificate(self.folder)

    def start(self, *sets):
        daemon = TlsDaemon(sets=["source=demo:1", f"http.tls_certificate={self.certificate}", f"http.tls_key={self.key}", *sets])
        self.addCleanup(daemon.stop)
        self.base = "https://{}:{}".format(*daemon.url)
        return daemon

    def curl(self, path, *arguments, code=0, ca=None):
        ended = subprocess.run(["curl", "-sS", "--noproxy", "*", "--cacert", ca or self.certificate, "--max-time", "30", *arguments,
                                self.base + path], capture_output=True)
        self.assertEqual(ended.returncode, code, ended.stderr)
        return ended.stdout

    def context(self):
        return ssl.create_default_context(cafile=self.certificate)

    def connect(self, daemon, context):
        return context.wrap_socket(socket.create_connection(daemon.url, timeout=PATIENCE), server_hostname="feeder.local")

    def test_curl_reads_writes_and_watches(self):
        daemon = self.start()
        version = json.loads(self.curl("/api/v1/version"))
        self.assertEqual(version["name"], "kinglet")
        head = self.curl("/api/v1/session", "-i", "-H", "Content-Type: application/json", "-d", '{"claim": true}').decode()
        self.assertIn("; Secure", head)
        daemon.until(lambda: self.curl("/snapshot.jpg")[:2] == b"\xff\xd8", "a picture")
        picture = self.folder / "bird.jpg"
        picture.write_bytes(self.curl("/snapshot.jpg"))
        answer = json.loads(self.curl("/api/v1/classify", "-H", "Content-Type: image/jpeg", "--data-binary", f"@{picture}"))
        self.assertIn("top", answer)
        with subprocess.Popen(["curl", "-sSN", "--noproxy", "*", "--cacert", self.certificate, "--max-time", str(PATIENCE),
                               self.base + "/api/v1/events?types=prediction"], stdout=subprocess.PIPE) as events:
            self.assertIn(b"event: prediction\n", events.stdout)
            events.kill()
        self.assertGreater(len(self.curl("/api/v1/openapi.json")), 50_000)
        self.assertIn(b"TLSv1.3", subprocess.run(["curl", "-sv", "--cacert", self.certificate, self.base + "/livez"],
                                                capture_output=True).stderr)
        self.curl("/livez", "--tls-max", "1.1", code=35)

    def test_requests_go_over_one_connection(self):
        daemon = self.start()

        def sockets_of_five():
            sockets = set()
            connection = http.client.HTTPSConnection(*daemon.url, context=self.context(), timeout=PATIENCE)
            with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
                for _ in range(5):
                    connection.request("GET", "/livez")
                    sockets.add(connection.sock)
                    reply = connection.getresponse()
                    self.assertEqual((reply.status, reply.read()[:1]), (200, b"{"))
                return len(sockets)
        # One that was idle for a second has ended: on a busy machine another one is tried.
        self.assertIn(1, (sockets_of_five() for _ in range(10)))

    def test_who_does_not_speak_tls_is_told(self):
        daemon = self.start()
        reply = daemon.raw(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertTrue(reply.startswith(b"HTTP/1.1 400 "), reply)
        self.assertIn(b"https", reply)
        daemon.raw(b"\x16\x03\x01\x00\x05hello")
        daemon.raw(bytes(range(256)) * 20)
        self.assertTrue(json.loads(self.curl("/livez")))

    def test_a_renewed_certificate_counts_from_the_next_connection_on(self):
        daemon = self.start()
        old = self.folder / "old.pem"
        shutil.copy(self.certificate, old)

        def answer_of(connection):
            connection.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return connection.recv(65536)

        def answer_after_renewal():
            trusts_the_one_before, seen = self.context(), len(daemon.lines)
            make_certificate(self.folder)
            with self.connect(daemon, trusts_the_one_before) as before, contextlib.suppress(OSError):
                daemon.process.send_signal(signal.SIGHUP)
                daemon.says("configuration read again", since=seen)
                return answer_of(before)
        # One on which nothing was said for two seconds has ended: on a busy machine another one is tried.
        answer = next(filter(None, (answer_after_renewal() for _ in range(10))))
        self.assertTrue(answer.startswith(b"HTTP/1.1 200"), answer)
        self.curl("/livez", ca=old, code=60)
        self.curl("/livez")

    def test_a_broken_renewal_leaves_the_one_before(self):
        daemon = self.start()
        old = self.folder / "old.pem"
        shutil.copy(self.certificate, old)
        self.certificate.write_text("-----BEGIN CERTIFICATE-----\nnonsense\n")
        daemon.process.send_signal(signal.SIGHUP)
        daemon.says("the one before goes on")
        daemon.says("http.tls_certificate")
        self.curl("/livez", ca=old)

    def test_clients_that_stay_silent_or_drip_hold_nobody_up(self):
        daemon = self.start()
        held = [socket.create_connection(daemon.url) for _ in range(40)]
        for number, one in enumerate(held):
            if number % 2:
                one.sendall(b"\x16\x03\x01")  # the begin of a handshake
        self.curl("/livez")  # has a limit of its own; those above hold on longer
        for one in held:
            one.close()

    def test_many_clients_at_once_are_answered(self):
        self.start("http.rate=1000")
        failures = []

        def ask():
            for _ in range(5):
                try:
                    self.curl("/api/v1/stats")
                except AssertionError as error:
                    failures.append(error)
        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def refuse(self, *sets, code, words):
        daemon = TlsDaemon(sets=["source=demo:1", *sets], wait=False)
        self.assertEqual(daemon.process.wait(PATIENCE), code)
        daemon.stop()
        self.assertIn(words, "".join(daemon.lines))

    def test_files_that_cannot_serve_stop_the_start(self):
        pair = f"http.tls_certificate={self.certificate}"
        self.refuse(pair, code=78, words="http.tls_key is not")
        self.refuse(pair, "http.tls_key=/nowhere.key", code=78, words="/nowhere.key")
        self.refuse(f"http.tls_certificate={self.key}", f"http.tls_key={self.key}", code=78, words="is no certificate")
        self.key.chmod(0o644)
        self.refuse(pair, f"http.tls_key={self.key}", code=78, words="others may read the key")
        self.key.chmod(0o600)
        other = self.folder / "other"
        other.mkdir()
        _, key = make_certificate(other)
        self.refuse(pair, f"http.tls_key={key}", code=78, words="no key of this certificate")
        subprocess.run(["openssl", "ec", "-in", self.key, "-aes256", "-passout", "pass:secret", "-out", other / "locked"], check=True,
                       capture_output=True)
        (other / "locked").chmod(0o600)
        self.refuse(pair, f"http.tls_key={other / 'locked'}", code=78, words="without a password")


if __name__ == "__main__":
    main()
