# SPDX-License-Identifier: Apache-2.0
"""rtsp://HOST without a path: the camera says by ONVIF where its smaller stream is, and a real ffmpeg reads that from a real
server; of one that is silent, takes no login or lies nothing worse comes than a line and the stream as it was written."""
import csv
import os
import re
import socket
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

import home_network
import onvif_device
from neighbours import Neighbours, answer
from support import PATIENCE, Daemon, ScratchFolder, accepted, main
from rtsp_camera import RtspCamera

home_network.enter()  # where port 80 is nobody's

KINGLET = os.environ["KINGLET"]
HERE = home_network.HERE
LOGIN = f"{onvif_device.USER}:{onvif_device.PASSWORD}"
SECRETS = (onvif_device.PASSWORD, "seed%3C", onvif_device.USER, "bird%20%26")
PROFILES = onvif_device.profiles_of(("Main", 1280, 720), ("Sub", 640, 360), ("Tiny", 160, 90))


def setUpModule():
    """The drawn scene as a camera's two streams, over and over."""
    global FOLDER, LARGE, SMALL, DRAWN
    FOLDER = tempfile.TemporaryDirectory()
    folder = Path(FOLDER.name)
    LARGE, SMALL = folder / "large.mp4", folder / "small.mp4"
    subprocess.run([KINGLET, "demo-frames", "--scene", "--count", "30", "--size", "1280x720", "--out", folder / "frames", "-q"],
                   check=True, timeout=PATIENCE)
    with open(folder / "frames" / "labels.csv", encoding="utf-8") as table:
        DRAWN = {row["label"].lower().replace(" ", "-") for row in csv.DictReader(table)} - {"background"}
    ffmpeg = ["ffmpeg", "-nostdin", "-loglevel", "error"]
    for video, size in ((LARGE, "1280:720"), (SMALL, "640:360")):
        once = folder / "once.mp4"
        subprocess.run([*ffmpeg, "-y", "-framerate", "1", "-i", folder / "frames" / "frame_%06d.png", "-vf",
                        f"fps=10,scale={size},format=yuv420p", "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency",
                        "-crf", "18", "-g", "10", once], check=True, timeout=PATIENCE)
        subprocess.run([*ffmpeg, "-stream_loop", "20", "-i", once, "-c", "copy", video], check=True, timeout=PATIENCE)


def tearDownModule():
    FOLDER.cleanup()


class SubStream(ScratchFolder):
    def camera(self, paths=("/large", "/small")):
        """A real RTSP server with the large stream at the first path, and the small one at the second."""
        camera = RtspCamera(dict(zip(paths, (LARGE, SMALL))), LOGIN)
        self.addCleanup(camera.__exit__)
        return camera

    def onvif(self, port, **behaviour):
        streams = {"Main": f"rtsp://{HERE}:{port}/large", "Sub": f"rtsp://{HERE}:{port}/small"}
        return onvif_device.OnvifDevice(HERE, **{"stream": streams, "profiles": PROFILES, **behaviour})

    def daemon(self, url, *sets):
        file = self.folder / "login"
        file.touch(0o600)
        file.write_text(LOGIN + "\n")
        return Daemon(sets=[f"source={url}", f"source.login_file={file}", "store.flush_interval=100ms", "visits.end_after=1s",
                            *sets])

    def until_seen(self, daemon, size):
        """Until pictures of this size come."""
        def seen():
            reply = daemon.ask("/snapshot.jpg")
            head = re.search(rb"\xff\xc0..\x08(..)(..)", reply.body, re.DOTALL) if reply.status == 200 else None
            return head and tuple(int.from_bytes(head[number], "big") for number in (2, 1)) == size
        daemon.until(seen, f"pictures of {size}")

    def until_said(self, daemon, *words):
        line = daemon.says(*words)
        self.assert_silent_of_the_login(daemon)
        return line

    def until_detail(self, daemon, *words):
        daemon.until(lambda: all(word in daemon.ask("/api/v1/stats").json()["camera"].get("detail", "") for word in words), words)
        self.assert_silent_of_the_login(daemon)

    def assert_silent_of_the_login(self, daemon):
        paths = ("/readyz", "/api/v1/stats", "/api/v1/config", "/api/v1/cameras", "/api/v1/doctor", "/api/v1/log")
        said = "".join(daemon.lines) + "".join(daemon.ask(path).body.decode() for path in paths)
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if "ffmpeg" in (process / "comm").read_text():
                    said += (process / "cmdline").read_text() + (process / "environ").read_text()
            except OSError:
                continue
        for secret in SECRETS:
            self.assertNotIn(secret, said)

    def test_birds_are_named_from_the_smaller_stream(self):
        camera = self.camera()
        device = self.enterContext(self.onvif(554))  # its port seen from inside; the owner's counts
        with self.daemon(f"rtsp://{HERE}:{camera.port}", "log.level=debug") as daemon:
            self.until_seen(daemon, (640, 360))
            seen = daemon.until(lambda: {visit["species_id"] for visit in daemon.ask("/api/v1/visits").json()["items"]}, "a visit")
            self.assertLessEqual(seen, DRAWN)
            self.until_said(daemon, f"camera rtsp://{HERE}:{camera.port} takes rtsp://{HERE}:{camera.port}/small, 640x360 H264, "
                                    "the smallest of its 3 streams that is at least 320x240")
        self.assertEqual(device.refused, 0)
        self.assertNotIn(onvif_device.PASSWORD.encode(), b"".join(device.heard))

    def test_the_largest_where_its_owner_wishes(self):
        camera = self.camera()
        self.enterContext(self.onvif(camera.port))
        with self.daemon(f"rtsp://{HERE}:{camera.port}/#stream=main&transport=tcp") as daemon:
            self.until_seen(daemon, (1280, 720))
            self.until_said(daemon, "1280x720 H264, the largest of its 3 streams")

    def test_a_path_is_taken_as_it_is_and_nobody_is_asked(self):
        camera = self.camera()
        device = self.enterContext(self.onvif(camera.port))
        with self.daemon(f"rtsp://{HERE}:{camera.port}/large") as daemon:
            self.until_seen(daemon, (1280, 720))
        self.assertEqual(device.heard, [])

    def test_one_with_a_name_is_found_where_makers_have_onvif(self):
        camera = self.camera()
        self.enterContext(self.onvif(camera.port))
        with self.daemon(f"rtsp://localhost:{camera.port}") as daemon:
            self.until_seen(daemon, (640, 360))
            self.until_said(daemon, f"camera rtsp://localhost:{camera.port} takes rtsp://{HERE}:{camera.port}/small")

    def test_it_is_asked_anew_with_each_start(self):
        camera = self.camera()
        device = self.enterContext(self.onvif(camera.port))
        with self.daemon(f"rtsp://{HERE}:{camera.port}") as daemon:
            self.until_seen(daemon, (640, 360))
            camera.kill()  # somebody sets it anew: the smaller stream is elsewhere, and larger
            camera.videos = {"/other": str(LARGE)}
            device.streams = {"Wide": f"rtsp://{HERE}:{camera.port}/other"}
            device.profiles = onvif_device.profiles_of(("Wide", 1280, 720))
            camera.start()
            self.until_seen(daemon, (1280, 720))
            self.until_said(daemon, f"takes rtsp://{HERE}:{camera.port}/other, 1280x720 H264, its only stream")

    def test_one_that_refuses_the_login_by_onvif_alone_has_its_stream_where_its_maker_has_it(self):
        camera = self.camera(("/stream1", "/stream2"))
        device = self.enterContext(self.onvif(camera.port, password="another"))
        with Neighbours(lambda question: [(HERE, answer(question, HERE, "Tapo%20C100"))], HERE) as neighbours:
            for end, size in (("", (640, 360)), ("#stream=main", (1280, 720))):
                with self.daemon(f"rtsp://{HERE}:{camera.port}{end}") as daemon:
                    self.until_seen(daemon, size)
                    self.until_said(daemon, " warning ", f"{HERE}: it does not take the login", "where its maker has it")
        device.refused = 0
        with Neighbours(lambda question: [(HERE, answer(question, HERE, "Tapo%20C100"))], HERE), \
                self.daemon(f"rtsp://{HERE}:{camera.port}", "log.level=debug") as daemon:
            self.until_seen(daemon, (640, 360))
            camera.kill()
            camera.start()
            daemon.until(lambda: sum("where its maker has it" in line for line in daemon.lines) > 1, "a second start")
        self.assertEqual(device.refused, 1)  # a camera locks out who tries a wrong login with each start
        self.assertGreater(len(neighbours.seen), 0)

    def test_without_onvif_it_is_taken_as_it_was_written_and_both_are_told(self):
        camera = self.camera()
        with self.daemon(f"rtsp://{HERE}:{camera.port}/", "log.level=debug") as daemon:
            self.until_detail(daemon, f"camera rtsp://{HERE}:{camera.port}/ has nothing at this path",
                              f"asked by ONVIF: {HERE}: no camera with this address answers to ONVIF")
            self.until_said(daemon, " debug ", "as it was written")  # at a second start
            self.assertEqual(sum(" warning " in line and "as it was written" in line for line in daemon.lines), 1)

    def test_one_that_is_silent_to_onvif_holds_up_neither_its_stream_nor_the_end(self):
        camera = self.camera(("/stream1", "/stream2"))
        with socket.create_server((HERE, 80)) as server:
            asked = threading.Event()
            kept = []

            def serve():
                for connection in accepted(server):
                    kept.append(connection)
                    asked.set()
            thread = threading.Thread(target=serve, daemon=True)
            thread.start()
            with Neighbours(lambda question: [(HERE, answer(question, HERE, "Tapo%20C100"))], HERE):
                with self.daemon(f"rtsp://{HERE}:{camera.port}") as daemon:
                    self.until_seen(daemon, (640, 360))
                    self.until_said(daemon, "where its maker has it")
                asked.clear()
                daemon = self.daemon(f"rtsp://{HERE}:{camera.port}")
                self.assertTrue(asked.wait(PATIENCE))
                code, _ = daemon.stop()
                self.assertEqual(code, 0, daemon.lines)
                self.assertFalse([line for line in daemon.lines if "where its maker has it" in line])
                self.assertFalse([line for line in daemon.lines if "the end takes longer" in line])
            server.shutdown(socket.SHUT_RDWR)
            thread.join(PATIENCE)
            for connection in kept:
                connection.close()

    def test_lies_and_nonsense_lead_to_no_other_host(self):
        camera = self.camera(("/stream1", "/stream2"))
        visitors = []
        with socket.create_server((home_network.HERE_TOO, 8554)) as elsewhere, \
                Neighbours(lambda question: [(HERE, answer(question, HERE, "Tapo%20C100"))], HERE):
            threading.Thread(target=lambda: visitors.extend(accepted(elsewhere)), daemon=True).start()
            streams = [f"rtsp://{home_network.HERE_TOO}:8554/small", f"rtsp://{HERE}@{home_network.HERE_TOO}:8554/small",
                       "file:///etc/passwd"]
            for behaviour, word in [*(({"stream": {"Sub": stream}}, "no address of its own host") for stream in streams),
                                    ({"raw": b"\xff" * 5000}, "no XML"), ({"raw": b"<a>" + b"x" * 5_000_000}, "without end"),
                                    ({"profiles": ""}, "it has no stream")]:
                with self.subTest(behaviour=str(behaviour)[:60]), self.onvif(camera.port, **behaviour), \
                        self.daemon(f"rtsp://{HERE}:{camera.port}") as daemon:
                    self.until_said(daemon, word, f"takes rtsp://{HERE}:{camera.port}/stream2, where its maker has it")
                    self.until_seen(daemon, (640, 360))
        self.assertEqual(visitors, [])


if __name__ == "__main__":
    main()
