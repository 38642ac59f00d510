# SPDX-License-Identifier: Apache-2.0
"""kinglet cameras: those of the local net that answer WS-Discovery, whatever else answers as well."""
import json
import os
import re
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import onvif_device
import home_network
from neighbours import Neighbours, answer
from support import PATIENCE, SOURCE_DIR, main

home_network.enter()  # in which nobody else asks or answers

KINGLET = os.environ["KINGLET"]
BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'


def find(*arguments, heard=lambda done: True, patience=(1, 5, 25)):
    """What it says once those are `heard` who answer: on a busy machine a second may be too short for them."""
    for seconds in patience:
        done = subprocess.run([KINGLET, "cameras", "--interface", "lo", "--seconds", str(seconds), *arguments], capture_output=True,
                              text=True, timeout=seconds + 60)
        if heard(done):
            break
    return done


class Cameras(unittest.TestCase):
    def found(self, answers, count=1):
        with Neighbours(answers) as neighbours:
            done = find("--json", heard=lambda done: len(json.loads(done.stdout)["cameras"]) >= count or neighbours.seen.clear())
        cameras = json.loads(done.stdout)["cameras"]
        self.assertEqual(done.returncode, 0 if cameras else 1, done.stderr)
        return cameras, neighbours

    def test_each_says_its_name_and_where_its_smaller_stream_is(self):
        cameras, neighbours = self.found(lambda question: [
            ("127.0.0.7", answer(question, "127.0.0.7", "Front%20door%20&amp;%20tree", "Reolink%20RLC-810A")),
            ("127.0.0.5", answer(question, "127.0.0.5", "HIKVISION%20DS-2CD2043", "DS-2CD2043"))], 2)
        self.assertEqual(cameras, [
            {"address": "127.0.0.5", "name": "HIKVISION DS-2CD2043", "hardware": "DS-2CD2043",
             "source": "rtsp://127.0.0.5", "smaller_stream": "rtsp://127.0.0.5/Streaming/Channels/102", "services": ["http://127.0.0.5/onvif/device_service"]},
            {"address": "127.0.0.7", "name": "Front door & tree", "hardware": "Reolink RLC-810A",
             "source": "rtsp://127.0.0.7", "smaller_stream": "rtsp://127.0.0.7/h264Preview_01_sub", "services": ["http://127.0.0.7/onvif/device_service"]}])
        question, hops, document = neighbours.seen[0]
        self.assertRegex(question, r"^uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
        self.assertEqual(hops, 1)  # no router carries it on
        self.assertEqual(document.getElementsByTagName("d:Types")[0].firstChild.data, "dn:NetworkVideoTransmitter")
        self.assertEqual({one[0] for one in neighbours.seen}, {question})  # asked again with the same number

    def test_as_text_for_a_person(self):
        with Neighbours(lambda question: [
                ("127.0.0.5", answer(question, "127.0.0.5")),
                ("127.0.0.6", answer(question, "127.0.0.6", "Tapo%20C100").replace(b"http://127.0.0.6", b"http://127.0.0.99")),
                ("127.0.0.7", answer(question, "127.0.0.7").replace(b"http://127.0.0.7", b"http://127.0.0.99"))]):
            done = find(heard=lambda done: all(f"127.0.0.{last} " in done.stdout for last in (5, 6, 7)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r'127\.0\.0\.5 +Garden +IPC-1 +spec = "rtsp://127\.0\.0\.5"\n')
        # One without ONVIF for us, of a maker who is known, and one of nobody's.
        self.assertRegex(done.stdout, r'127\.0\.0\.6 +Tapo C100 +IPC-1 +spec = "rtsp://127\.0\.0\.6/stream2"\n')
        self.assertRegex(done.stdout, r"127\.0\.0\.7 +Garden +IPC-1 +see its manual\n")
        self.assertIn("login_file", done.stderr)
        self.assertIn("docs/sources.md", done.stderr)

    def test_nobody_answers_and_that_is_said(self):
        begun = time.monotonic()
        done = find(patience=[5])
        self.assertGreater(time.monotonic() - begun, 5)  # not the 3 that it waits by itself
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("no camera answered", done.stderr)

    def test_who_is_not_asked_or_not_of_this_net_is_not_heard(self):
        cameras, _ = self.found(lambda question: [
            (home_network.STRANGER, answer(question, home_network.STRANGER)),
            ("127.0.0.8", answer(question, "127.0.0.8", asked="uuid:00000000-0000-4000-8000-000000000000")),
            ("127.0.0.9", answer(question, "127.0.0.9", types="dn:Printer")),
            ("127.0.0.6", answer(question, "127.0.0.6", "Alone"))])
        self.assertEqual([camera["name"] for camera in cameras], ["Alone"])

    def test_nonsense_is_passed_by(self):
        whole = answer("uuid:x", "127.0.0.8")
        cameras, _ = self.found(lambda question: [
            ("127.0.0.8", os.urandom(60_000)), ("127.0.0.8", b""), ("127.0.0.8", whole[:-40]), ("127.0.0.8", b"<a>" * 20_000),
            ("127.0.0.9", answer(question, "127.0.0.9", dtd=BOMB)),
            ("127.0.0.9", answer(question, "127.0.0.9", name="&b;")),
            ("127.0.0.10", answer(question, "127.0.0.10", name="%1B[31mred%0Aline" + "x" * 5000))])
        self.assertEqual(len(cameras), 1)
        self.assertTrue(cameras[0]["name"].startswith("?[31mred?line"), cameras)
        self.assertLess(len(cameras[0]["name"]), 100)

    def test_a_crowd_is_bounded(self):
        cameras, _ = self.found(lambda question: [
            (f"127.0.1.{number % 250}", answer(question, f"127.0.1.{number % 250}", f"Camera{number}")) for number in range(1000)],
            21)
        self.assertLessEqual(len(cameras), 128)
        self.assertGreater(len(cameras), 20)

    def stream_of(self, *arguments, is_found=True, patience=(1, 5, 25), **behaviour):
        """What is said of the stream of a camera that behaves so, and the camera."""
        device = onvif_device.OnvifDevice("127.0.0.5", **behaviour)
        with tempfile.TemporaryDirectory() as folder, device, Neighbours(
                lambda question: [("127.0.0.5", answer(question, "127.0.0.5"))] if is_found else []):
            login = Path(folder) / "login"
            login.write_text(f"{onvif_device.USER}:{onvif_device.PASSWORD}\n")
            login.chmod(0o600)
            done = find("--stream-of", "127.0.0.5", "--login-file", str(login), *arguments, heard=lambda done: device.heard,
                        patience=patience)
        return done, device

    def test_one_says_itself_where_its_smaller_stream_is_to_who_has_its_login(self):
        # Its clock is half a year behind: the login is signed with that.
        for behind in (0, 180 * 86400):
            done, device = self.stream_of("--json", behind=behind)
            self.assertEqual(done.returncode, 0, done.stderr)
            said = json.loads(done.stdout)
            self.assertEqual((said["source"], said["size"]), ("rtsp://127.0.0.5:554/sub?a=1&b=2", "640x360"))
            self.assertEqual(device.refused, 0)
            self.assertNotIn(onvif_device.PASSWORD.encode(), b"".join(device.heard))
        done, _ = self.stream_of()
        self.assertEqual(done.stdout, 'source.spec = "rtsp://127.0.0.5:554/sub?a=1&b=2"\n')

    def test_one_that_answers_no_search_is_asked_once_that_has_had_its_time(self):
        seconds = 31  # longer than asking may take by itself
        begun = time.monotonic()
        done, _ = self.stream_of(is_found=False, patience=[seconds])
        self.assertEqual(done.stdout, 'source.spec = "rtsp://127.0.0.5:554/sub?a=1&b=2"\n', done.stderr)
        self.assertGreater(time.monotonic() - begun, seconds)

    def test_a_camera_that_takes_no_login_says_so(self):
        done, device = self.stream_of(password="another")
        self.assertEqual((done.returncode, done.stdout), (77, ""), done.stderr)
        self.assertIn("127.0.0.5: it does not take the login", done.stderr)
        self.assertGreater(device.refused, 0)

    def test_what_is_not_its_own_host_or_nonsense_is_one_line(self):
        for behaviour, word in (({"stream": "rtsp://192.168.9.9/sub"}, "no address of its own host"),
                                ({"stream": "rtsp://user:secret@127.0.0.5/sub"}, "no address of its own host"),
                                ({"stream": "file:///etc/passwd"}, "no address of its own host"),
                                ({"raw": b"<a>" * 1000}, "no XML"), ({"raw": b"\xff" * 5000}, "no XML"), ({"raw": b""}, "no XML"),
                                ({"raw": BOMB.encode() + b"<a>&b;</a>"}, "no XML"),
                                ({"raw": b"<a>" + b"x" * 5_000_000}, "without end"),
                                ({"profiles": ""}, "it has no stream"), ({"status": 302}, "it answers 302")):
            with self.subTest(behaviour=str(behaviour)[:60]):
                done, _ = self.stream_of(**behaviour)
                self.assertNotEqual(done.returncode, 0)
                self.assertEqual(done.stdout, "")
                self.assertIn(word, done.stderr)
                self.assertLess(len(done.stderr), 600)

    def test_a_stream_of_somebody_who_did_not_answer(self):
        done = find("--stream-of", "127.0.0.77")
        self.assertEqual(done.returncode, 66, done.stderr)
        self.assertIn("127.0.0.77", done.stderr)

    def test_an_interface_that_is_none(self):
        done = subprocess.run([KINGLET, "cameras", "--interface", "eth77"], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 66, done.stderr)
        self.assertIn("eth77", done.stderr)

    def test_without_a_network(self):
        done = subprocess.run([KINGLET, "cameras"], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 66, done.stderr)
        self.assertIn("no network", done.stderr)

    def test_the_documents_have_each_makers_stream(self):
        page = (SOURCE_DIR / "docs" / "sources.md").read_text()
        rows = re.findall(r'^KINGLET_MAKER\("(\w+)", "([^"]+)", "[^"]+"\)', (SOURCE_DIR / "camera" / "discovery" / "makers.def").read_text(), re.M)
        self.assertGreater(len(rows), 5)
        for maker, path in rows:
            self.assertIn(f"`{path}`", page)
            self.assertIn(maker, page.lower())


if __name__ == "__main__":
    main()
