# SPDX-License-Identifier: Apache-2.0
"""`kinglet pull` against a server on this machine: licence first, digest checked, cut connections continued."""
import hashlib
import json
import os
import pty
import select
import shutil
import socket
import ssl
import subprocess
import unittest

from support import DEMO, KINGLET, PATIENCE, SOURCE_DIR, CliTest, kinglet, main
from model_mirror import Mirror, catalogue_of  # after support, which finds it

MODEL = DEMO.read_bytes()


class PullTest(CliTest):
    def setUp(self):
        super().setUp()
        self.server = Mirror(MODEL)
        self.addCleanup(self.server.close)
        self.target = self.folder / "models"
        self.target.mkdir()

    def catalogue(self, *addresses, **changes):
        return self.file("catalogue.json", catalogue_of(MODEL, addresses or [self.server.address()], **changes))

    def pull(self, *options, catalogue=None, **more):
        return kinglet("pull", "tiny-bird", "--dir", self.target, "--catalogue", catalogue or self.catalogue(), "--yes",
                       *options, env={"no_proxy": "*", "NO_PROXY": "*"}, **more)

    def files(self):
        return sorted(path.name for path in self.target.iterdir())


class Download(PullTest):
    def test_the_right_file_with_its_recipe(self):
        ended = self.assert_done(self.pull())
        self.assertEqual(ended.text(), f"{self.target / 'tiny-bird.onnx'}\n")
        self.assertIn("licence CC-BY-4.0: https://example.org/licence", ended.err)
        self.assertEqual(self.files(), ["tiny-bird.onnx", "tiny-bird.recipe.json"])
        self.assertEqual((self.target / "tiny-bird.onnx").read_bytes(), MODEL)
        self.assertEqual(json.loads((self.target / "tiny-bird.recipe.json").read_text())["mean"], [127.5] * 3)

    def test_a_model_of_tensorflow_lite_becomes_onnx(self):
        body = (SOURCE_DIR / "tests/fuzz/corpus/tflite/small_classifier.tflite").read_bytes()
        self.server.body = body
        catalogue = self.catalogue(sha256=hashlib.sha256(body).hexdigest(), size_bytes=len(body))
        self.assert_done(self.pull(catalogue=catalogue))
        self.assertEqual(self.files(), ["tiny-bird.onnx", "tiny-bird.recipe.json"])
        seen = self.assert_done(kinglet("inspect", self.target / "tiny-bird.onnx", "--json")).json()
        self.assertEqual(seen["operators"]["Softmax"], 1)
        again = self.assert_done(self.pull("--json", catalogue=catalogue)).json()
        self.assertTrue(again["already_there"])

    def test_labels_of_the_program_come_with_it(self):
        self.assert_done(self.pull(catalogue=self.catalogue(labels="imagenet_1000")))
        self.assertEqual(len((self.target / "tiny-bird.labels.txt").read_text().splitlines()), 1000)

    def test_as_json(self):
        answer = self.assert_done(self.pull("--json")).json()
        self.assertEqual(answer["digest"], "sha256:" + hashlib.sha256(MODEL).hexdigest())
        self.assertEqual(answer["licence"], "CC-BY-4.0")
        self.assertFalse(answer["already_there"])

    def test_a_second_time_fetches_nothing(self):
        self.assert_done(self.pull())
        count = len(self.server.requests)
        self.assertTrue(self.assert_done(self.pull("--json")).json()["already_there"])
        self.assertEqual(len(self.server.requests), count)

    def test_a_wrong_digest_leaves_nothing(self):
        self.server.body = MODEL[:-1] + b"\0"
        self.assert_refused(self.pull(), 65, "tiny-bird", "expected sha256:", hint="thrown away")
        self.assertEqual(self.files(), [])

    def test_more_bytes_than_announced_are_refused(self):
        self.server.body = MODEL + b"more"
        self.assertNotEqual(self.pull().code, 0)
        self.assertNotIn("tiny-bird.onnx", self.files())

    def test_a_cut_connection_is_continued(self):
        self.server.cut_after = 100_000
        ended = self.pull()
        self.assert_refused(ended, 69, "tiny-bird", hint=f"100000 of {len(MODEL)} bytes are kept")
        self.assertEqual(self.files(), ["tiny-bird.onnx.part"])
        self.server.cut_after = None
        answer = self.assert_done(self.pull("--json")).json()
        self.assertEqual(answer["resumed_from_bytes"], 100_000)
        self.assertEqual(self.server.requests[-1], ("/bird.onnx", "bytes=100000-"))
        self.assertEqual((self.target / "tiny-bird.onnx").read_bytes(), MODEL)
        self.assertNotIn("tiny-bird.onnx.part", self.files())

    def test_a_server_without_ranges_starts_again(self):
        self.server.cut_after = 100_000
        self.assertEqual(self.pull().code, 69)
        self.server.cut_after, self.server.ranges = None, False
        self.assert_done(self.pull())
        self.assertEqual((self.target / "tiny-bird.onnx").read_bytes(), MODEL)

    def test_a_rest_of_something_else_is_found_out_and_fetched_anew(self):
        (self.target / "tiny-bird.onnx.part").write_bytes(b"x" * 1000)
        self.assert_done(self.pull())
        self.assertEqual([wanted for _, wanted in self.server.requests], ["bytes=1000-", None])
        self.assertEqual((self.target / "tiny-bird.onnx").read_bytes(), MODEL)

    def test_the_next_address_is_tried(self):
        ended = self.pull(catalogue=self.catalogue("http://127.0.0.1:1/gone.onnx", self.server.address()))
        self.assert_done(ended)

    def test_a_redirect_is_followed(self):
        self.server.redirect = self.server.address("/moved")
        self.assert_done(self.pull())
        self.assertEqual(self.server.requests[-1][0], "/moved")

    def test_a_redirect_to_a_file_is_not_followed(self):
        self.server.redirect = DEMO.as_uri()
        self.assertEqual(self.pull().code, 69)
        self.assertEqual(self.files(), [])

    def test_a_missing_file_on_the_server(self):
        self.server.status = 404
        self.assert_refused(self.pull(), 69, "tiny-bird", self.server.address(), "404")
        self.assertEqual(self.files(), [])

    def test_no_server(self):
        with socket.socket() as deaf:  # has a port, and does not listen
            deaf.bind(("127.0.0.1", 0))
            address = f"http://127.0.0.1:{deaf.getsockname()[1]}/bird.onnx"
            self.assert_refused(self.pull(catalogue=self.catalogue(address)), 69, "tiny-bird", address, hint="network")
        self.assertEqual(self.files(), [])

    def test_no_network(self):
        """A name that never resolves: what a machine without network sees."""
        address = "https://models.invalid/bird.onnx"
        self.assert_refused(self.pull(catalogue=self.catalogue(address)), 69, "tiny-bird", address, hint="network")
        self.assertEqual(self.files(), [])

    @unittest.skipUnless(shutil.which("openssl"), "no openssl to make a certificate")
    def test_a_server_that_cannot_prove_who_it_is(self):
        key, certificate = self.folder / "key.pem", self.folder / "certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
                        "-subj", "/CN=127.0.0.1", "-days", "2"], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.server.server.socket = context.wrap_socket(self.server.server.socket, server_side=True)
        address = self.server.address().replace("http://", "https://")
        self.assert_refused(self.pull(catalogue=self.catalogue(address)), 69, address, "certificate")
        self.assertEqual(self.server.requests, [])
        self.assertEqual(self.files(), [])

    def test_a_full_disk_keeps_no_model(self):
        ended = self.pull(largest_file=50_000)
        self.assert_refused(ended, 74, "tiny-bird.onnx.part", hint="space")
        self.assertNotIn("tiny-bird.onnx", self.files())

    def test_another_file_of_that_name_is_kept(self):
        (self.target / "tiny-bird.onnx").write_bytes(b"mine")
        self.assert_refused(self.pull(), 73, "tiny-bird.onnx", hint="--force")
        self.assertEqual((self.target / "tiny-bird.onnx").read_bytes(), b"mine")
        self.assert_done(self.pull("--force"))
        self.assertEqual((self.target / "tiny-bird.onnx").read_bytes(), MODEL)

    def test_a_changed_recipe_is_kept(self):
        (self.target / "tiny-bird.recipe.json").write_text('{"mean": [1, 2, 3]}')
        ended = self.assert_done(self.pull())
        self.assertIn("was kept", ended.err)
        self.assertEqual((self.target / "tiny-bird.recipe.json").read_text(), '{"mean": [1, 2, 3]}')

    def test_a_missing_folder(self):
        ended = kinglet("pull", "tiny-bird", "--dir", self.folder / "none", "--catalogue", self.catalogue(), "--yes")
        self.assert_refused(ended, 73, "none", hint="folder")


class Licence(PullTest):
    def test_without_a_terminal_it_needs_yes(self):
        ended = kinglet("pull", "tiny-bird", "--dir", self.target, "--catalogue", self.catalogue())
        self.assert_refused(ended, 64, "licence", hint="--yes")
        self.assertEqual(self.server.requests, [])
        self.assertEqual(self.files(), [])

    def answer(self, text):
        leader, follower = pty.openpty()
        process = subprocess.Popen([KINGLET, "pull", "tiny-bird", "--dir", str(self.target), "--catalogue",
                                    str(self.catalogue())], stdin=follower, stderr=follower, stdout=subprocess.DEVNULL,
                                   env={**os.environ, "no_proxy": "*"})
        os.close(follower)
        shown = b""
        while b"[y/N]" not in shown and select.select([leader], [], [], PATIENCE)[0]:
            shown += os.read(leader, 4096)
        os.write(leader, text)
        try:
            while os.read(leader, 65536):
                pass
        except OSError:  # the other end was closed
            pass
        os.close(leader)
        return process.wait(PATIENCE), shown.decode()

    def test_on_a_terminal_it_is_shown_and_asked(self):
        code, shown = self.answer(b"n\n")
        self.assertEqual(code, 1)
        self.assertIn("CC-BY-4.0", shown)
        self.assertEqual(self.server.requests, [])
        code, _ = self.answer(b"y\n")
        self.assertEqual(code, 0)
        self.assertEqual(self.files(), ["tiny-bird.onnx", "tiny-bird.recipe.json"])


class Catalogue(PullTest):
    def test_the_built_in_one_is_complete_and_encrypted(self):
        listed = self.assert_done(kinglet("pull", "--list", "--json")).json()["models"]
        stored = json.loads((SOURCE_DIR / "models" / "catalogue.json").read_text())["models"]
        self.assertEqual([m["name"] for m in listed], [m["name"] for m in stored])
        self.assertGreater(len(stored), 3)
        for entry in stored:
            with self.subTest(name=entry["name"]):
                self.assertRegex(entry["sha256"], "^[0-9a-f]{64}$")
                self.assertGreater(entry["size_bytes"], 100_000)
                self.assertTrue(entry["licence"] and entry["licence_address"] and entry["source"])
                self.assertEqual(len(entry["recipe"]["mean"]), 3)
                for address in entry["addresses"] + [entry["licence_address"]]:
                    self.assertTrue(address.startswith("https://"), address)
        self.assertEqual(len({m["name"] for m in stored}), len(stored))
        self.assertEqual(len({m["sha256"] for m in stored}), len(stored))

    def test_a_misspelt_name(self):
        self.assert_refused(kinglet("pull", "mobilenetv2-13", "--yes"), 64, "mobilenetv2-13", hint="mobilenetv2-12")

    def test_entries_that_are_wrong(self):
        for change, word in (({"name": "../evil"}, "name"), ({"sha256": "abc"}, "sha256"), ({"size_bytes": 0}, "size"),
                             ({"licence": ""}, "licence"), ({"addresses": ["ftp://x/y"]}, "addresses"),
                             ({"labels": "none_such"}, "labels"), ({"size_bytes": -1}, "size"),
                             ({"recipe": {"men": [1, 1, 1]}}, "men")):
            with self.subTest(change=change):
                catalogue = self.catalogue(**change)
                self.assert_refused(self.pull(catalogue=catalogue), 65, catalogue, word)
                self.assertEqual(self.files(), [])

    def test_a_catalogue_that_is_none(self):
        path = self.file("none.json", "[1, 2")
        self.assert_refused(self.pull(catalogue=path), 65, path, "not a catalogue")


if __name__ == "__main__":
    main()
