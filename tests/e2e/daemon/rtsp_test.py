# SPDX-License-Identifier: Apache-2.0
"""A network camera over RTSP, by a real ffmpeg from a real server: birds are named through it; one that is killed, falls
silent, talks nonsense or takes no login is told in one line, and taken up again when it is back."""
import csv
import json
import os
import random
import re
import socket
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

from support import PATIENCE, Daemon, ScratchFolder, accepted, free_port, main
from rtsp_camera import RtspCamera

KINGLET = os.environ["KINGLET"]
SECONDS = 30  # of the scene
PASSWORD = "s3'cr:t@/%x"
LOGIN = "ow ner:" + PASSWORD


def setUpModule():
    """The drawn scene as a camera's H.264, over and over."""
    global FOLDER, VIDEO, DRAWN
    FOLDER = tempfile.TemporaryDirectory()
    frames, VIDEO = Path(FOLDER.name) / "frames", Path(FOLDER.name) / "scene.mp4"
    subprocess.run([KINGLET, "demo-frames", "--scene", "--count", str(SECONDS), "--size", "640x360", "--out", frames, "-q"],
                   check=True, timeout=PATIENCE)
    with open(frames / "labels.csv", encoding="utf-8") as table:
        DRAWN = {row["label"].lower().replace(" ", "-") for row in csv.DictReader(table)} - {"background"}
    once = Path(FOLDER.name) / "once.mp4"
    ffmpeg = ["ffmpeg", "-nostdin", "-loglevel", "error"]
    subprocess.run([*ffmpeg, "-framerate", "1", "-i", frames / "frame_%06d.png", "-vf", "fps=10,format=yuv420p", "-c:v",
                    "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-crf", "18", "-g", "10", once],
                   check=True, timeout=PATIENCE)
    subprocess.run([*ffmpeg, "-stream_loop", "20", "-i", once, "-c", "copy", VIDEO], check=True, timeout=PATIENCE)


def tearDownModule():
    FOLDER.cleanup()


class Relay:
    """Before a camera: passes what goes through, or sends nonsense in place of what the camera says."""

    def __init__(self, port):
        self.far = port
        self.nonsense = False
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.random = random.Random(7)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        for near in accepted(self.socket):
            far = socket.create_connection(("127.0.0.1", self.far))
            for here, there, spoils in ((near, far, False), (far, near, True)):
                threading.Thread(target=self.carry, args=(here, there, spoils), daemon=True).start()

    def carry(self, here, there, spoils):
        try:
            while data := here.recv(65536):
                there.sendall(self.random.randbytes(len(data)) if spoils and self.nonsense else data)
        except OSError:
            pass
        for end in (here, there):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def serve_words(words):
    """A server that answers whatever it is asked with these bytes, or with nothing; its address."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        kept = []
        while True:
            try:
                connection, _ = server.accept()
                connection.recv(4096)
                if words:
                    connection.sendall(words)
                    connection.close()
                kept.append(connection)
            except OSError:
                return
    threading.Thread(target=serve, daemon=True).start()
    return server, f"rtsp://127.0.0.1:{server.getsockname()[1]}/live"


class Rtsp(ScratchFolder):
    def camera(self, login=None, method="digest"):
        camera = RtspCamera(VIDEO, login, method, free_port())
        self.addCleanup(camera.__exit__)
        return camera

    def login_file(self, login):
        file = self.folder / "login"
        file.touch(0o600)
        file.write_text(login + "\n")
        return file

    def daemon(self, url, *sets):
        return Daemon(sets=[f"source={url}", "store.flush_interval=100ms", "visits.end_after=1s", *sets])

    def detail(self, daemon, *words):
        """What is said of the camera once it has all these words."""
        def said():
            camera = daemon.ask("/api/v1/stats").json()["camera"]
            return camera["detail"] if all(word in camera.get("detail", "") for word in words) else None
        return daemon.until(said, f"{words} of the camera")

    def until_streaming(self, daemon):
        daemon.until(lambda: daemon.ask("/api/v1/stats").json()["camera"]["state"] == "streaming", "frames")

    def everything_said(self, daemon):
        paths = ("/readyz", "/api/v1/stats", "/api/v1/config", "/api/v1/cameras", "/api/v1/doctor", "/api/v1/log")
        return "".join(daemon.lines) + "".join(daemon.ask(path).body.decode() for path in paths)

    def assert_silent_of_the_login(self, text):
        for secret in (PASSWORD, "s3%27", "ow%20ner", "ow ner"):
            self.assertNotIn(secret, text)

    def programs_of(self, daemon):
        """(pid, arguments and environment) of each ffmpeg that the daemon has started."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                parent = re.search(r"\) \S (\d+)", (folder / "stat").read_text())
                if int(parent[1]) == daemon.process.pid and "ffmpeg" in (folder / "comm").read_text():
                    found.append((folder / "cmdline").read_bytes() + (folder / "environ").read_bytes())
            except (OSError, TypeError):
                continue
        return found

    def test_birds_are_named_and_nobody_sees_the_login(self):
        for method in ("digest", "basic"):
            with self.subTest(method=method):
                camera = self.camera(LOGIN, method)
                with self.daemon(camera.url, f"source.login_file={self.login_file(LOGIN)}", "log.level=debug") as daemon:
                    seen = daemon.until(lambda: {visit["species_id"] for visit in daemon.ask("/api/v1/visits").json()["items"]},
                                        "a visit")
                    self.assertLessEqual(seen, DRAWN)
                    self.assert_silent_of_the_login(self.everything_said(daemon))
                    programs = daemon.until(lambda: self.programs_of(daemon), "its program")
                    self.assertEqual(len(programs), 1)
                    self.assertIn(b"concat", programs[0])
                    self.assert_silent_of_the_login(programs[0].decode())
                self.assert_silent_of_the_login("".join(daemon.lines))
                camera.kill()

    def test_frames_have_the_size_and_come_at_the_rate_asked_for_at_most(self):
        camera = self.camera()
        for transport in ("tcp", "udp"):
            with self.subTest(transport=transport):
                settings = self.folder / "kinglet.toml"
                settings.write_text('[source]\nfps = 4\nsize = "320x320"\n')
                file = self.folder / f"{transport}.kgr"
                done = subprocess.run([KINGLET, "record", f"{camera.url}#transport={transport}", "-o", file, "--seconds", "12",
                                       "--jpeg", "80", "--json", "--config", settings], capture_output=True, text=True, timeout=PATIENCE)
                self.assertEqual(done.returncode, 0, done.stderr)
                recorded = json.loads(done.stdout)
                # Over TCP none is lost, and what was late comes. Over UDP a busy machine loses some, up to the next key frame.
                lost = 2 if transport == "tcp" else 4
                self.assertGreater(recorded["frames"], 4 * recorded["duration_seconds"] / lost, recorded)
                # At the start comes what ffmpeg kept while it looked what the stream is, five seconds at most.
                self.assertLess(recorded["frames"], 4 * (recorded["duration_seconds"] + 5), recorded)
                head = re.search(rb"\xff\xc0..\x08(..)(..)", file.read_bytes(), re.DOTALL)  # of a JPEG: height, width
                self.assertEqual([int.from_bytes(side, "big") for side in head.groups()], [180, 320])

    def test_a_server_that_is_killed_is_taken_up_again_when_it_is_back(self):
        camera = self.camera()
        with self.daemon(camera.url) as daemon:
            self.until_streaming(daemon)
            camera.kill()
            self.detail(daemon, f"camera {camera.url} lets nobody in")
            self.assertEqual(daemon.ask("/readyz").status, 503)
            camera.start()
            self.until_streaming(daemon)
            daemon.until(lambda: daemon.ask("/readyz").status == 200, "ready again")

    def test_one_that_falls_silent_is_a_stall_and_then_one_that_does_not_answer(self):
        camera = self.camera()
        with self.daemon(camera.url) as daemon:
            self.until_streaming(daemon)
            camera.freeze()
            self.detail(daemon, "no frame for")
            self.detail(daemon, "does not answer")
            camera.thaw()
            self.until_streaming(daemon)
            self.assertEqual(daemon.ask("/livez").status, 200)

    def test_one_that_never_answers_is_given_up_and_told(self):
        server, url = serve_words(b"")
        with server, self.daemon(url) as daemon:
            self.detail(daemon, f"camera {url} does not answer")

    def test_one_that_talks_nonsense_is_told(self):
        server, url = serve_words(random.Random(3).randbytes(4000) + b"\r\n\r\n")
        with server, self.daemon(url) as daemon:
            self.detail(daemon, f"camera {url} does not speak RTSP")

    def test_nonsense_in_the_middle_of_a_stream_costs_frames_and_no_more(self):
        camera = self.camera()
        relay = Relay(camera.port)
        with relay.socket, self.daemon(f"rtsp://127.0.0.1:{relay.port}/live") as daemon:
            self.until_streaming(daemon)
            relay.nonsense = True
            daemon.until(lambda: daemon.ask("/api/v1/stats").json()["camera"]["state"] != "streaming", "trouble")
            relay.nonsense = False
            self.until_streaming(daemon)
            self.assertEqual(daemon.ask("/livez").status, 200)

    def test_a_wrong_password_is_told_without_it_and_a_right_one_counts_without_a_restart(self):
        camera = self.camera(LOGIN)
        file = self.login_file("ow ner:wr0ng")
        with self.daemon(camera.url, f"source.login_file={file}") as daemon:
            self.detail(daemon, f"camera {camera.url} does not take the login of source.login_file")
            said = self.everything_said(daemon)
            for secret in ("wr0ng", "ow ner", "ow%20ner"):
                self.assertNotIn(secret, said)
            self.login_file(LOGIN)
            self.until_streaming(daemon)

    def test_without_a_login_the_key_is_named(self):
        camera = self.camera(LOGIN)
        with self.daemon(camera.url) as daemon:
            self.detail(daemon, "wants a login")
            daemon.says("source.login_file")

    def test_without_ffmpeg_one_line_says_what_to_install(self):
        with Daemon(sets=["source=rtsp://127.0.0.1:9/live"], env={"KINGLET_FFMPEG_PROGRAM": "/nowhere/ffmpeg"}) as daemon:
            self.detail(daemon, "ffmpeg, which reads rtsp: for kinglet, is not installed")
            daemon.says("apt install ffmpeg")


if __name__ == "__main__":
    main()
