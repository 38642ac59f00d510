# SPDX-License-Identifier: Apache-2.0
"""The page as it is served: small, whole, and asking nobody else. What it does is tried in a browser (tests/e2e/page)."""
import re
import struct
import unittest

from support import Daemon, ScratchFolder, main

MOST_BYTES = 150_000  # compressed, all files together
# Names of XML, not addresses.
NAMESPACE = "http://www.w3.org/2000/svg"


class Page(ScratchFolder):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(sets=["source=demo:"])
        cls.html = cls.daemon.ask("/").body.decode()
        cls.modules = re.findall(r'<link rel="modulepreload" fetchpriority="low" href="(/web/[^"]+)">', cls.html)
        cls.files = sorted(set(re.findall(r'(?:src|href)="(/web/[^"]+)"', cls.html)))

    @classmethod
    def tearDownClass(cls):
        cls.daemon.stop()

    def test_all_of_it_is_small(self):
        packed = [self.daemon.ask(path, headers={"Accept-Encoding": "gzip"}) for path in ["/", *self.files]]
        self.assertEqual({reply.status for reply in packed}, {200})
        total = sum(len(reply.body) for reply in packed)
        print(f"the page: {total} bytes in {len(packed)} files")
        self.assertLess(total, MOST_BYTES)

    def test_every_module_is_named_once_by_the_page_and_by_the_same_address_by_the_others(self):
        imported = {"page.js", "first.js"}
        self.assertGreater(len(self.modules), 10)
        versions = {path.split("?v=")[1] for path in self.files}
        self.assertEqual(len(versions), 1)
        for path in self.modules:
            reply = self.daemon.ask(path)
            self.assertEqual((reply.status, reply.headers["content-type"]), (200, "text/javascript; charset=utf-8"))
            for name, version in re.findall(r'from "\./([^"?]+)(?:\?v=(\w+))?"', reply.body.decode()):
                imported.add(name)
                self.assertEqual({version}, versions, f"{path} imports {name}")
        self.assertEqual({path.split("?")[0].removeprefix("/web/") for path in self.modules}, imported)

    def test_what_is_named_by_its_version_is_kept_and_the_page_is_asked_for_again(self):
        for path in self.files:
            self.assertEqual(self.daemon.ask(path).headers["cache-control"], "max-age=31536000, immutable")
            self.assertEqual(self.daemon.ask(path.split("?")[0]).headers["cache-control"], "no-cache")
        reply = self.daemon.ask("/")
        self.assertEqual(reply.headers["cache-control"], "no-cache")
        self.assertEqual(self.daemon.ask("/", headers={"If-None-Match": reply.headers["etag"]}).status, 304)

    def test_it_can_be_installed_as_an_app(self):
        address, = re.findall(r'<link rel="manifest" href="([^"]+)">', self.html)
        reply = self.daemon.ask(address)
        self.assertEqual(reply.headers["content-type"], "application/manifest+json")
        manifest = reply.json()
        self.assertEqual((manifest["start_url"], manifest["scope"], manifest["display"]), ("/", "/", "standalone"))
        for icon in manifest["icons"]:
            picture = self.daemon.ask(icon["src"])
            self.assertEqual((picture.status, picture.headers["content-type"]), (200, "image/png"))
            width, height = struct.unpack(">II", picture.body[16:24])
            self.assertEqual(icon["sizes"], f"{width}x{height}")
            self.assertEqual(picture.headers["cache-control"], "max-age=31536000, immutable")
        self.assertEqual({icon["sizes"] for icon in manifest["icons"]}, {"192x192", "512x512"})
        self.assertEqual(self.daemon.ask("/web/worker.js").headers["service-worker-allowed"], "/")

    def test_no_file_names_another_host_or_carries_inline_code(self):
        for path in ["/", "/web/worker.js", *(path for path in self.files if ".png" not in path)]:
            text = self.daemon.ask(path).body.decode().replace(NAMESPACE, "")
            self.assertNotRegex(text, r"https?://|[\"'(]//", path)
            self.assertNotRegex(text, r"@version@|@preload@|innerHTML|insertAdjacentHTML|\beval\(|new Function", path)
        self.assertNotRegex(self.html, r"<style|<script(?![^>]*src=)|\sstyle=|\son[a-z]+=")


if __name__ == "__main__":
    main()
