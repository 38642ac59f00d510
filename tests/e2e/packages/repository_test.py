# SPDX-License-Identifier: Apache-2.0
"""The apt repository that ./dev package --repository makes, as a machine at home uses it: added by one file, installed
from, updated from, and trusted only as long as its owner has signed what it says."""
import os
import time

from support import PackageTest, Machine, main, need, stand_in

need("apt-get", "apt-ftparchive", "dpkg-deb", "gpg", "sqv")


class Repository(PackageTest):
    def setUp(self):
        super().setUp()
        self.site = self.folder / "site"
        self.address = self.served(self.site)
        self.owner = self.key()
        self.machine = Machine(self.folder / "machine")

    def published(self, version, code=0, below_etc=None):
        package = stand_in(self.folder, "kinglet", version, below_etc)
        return self.publish(self.site, self.owner, self.address, package, code=code)

    def add_it(self):
        self.machine.source("kinglet.sources", (self.site / "kinglet.sources").read_text())

    def test_a_machine_that_has_its_file_installs_from_it(self):
        self.published("0.1.0-1")
        self.add_it()
        self.machine.update()
        self.machine.apt("install", "kinglet")
        self.assertEqual(self.machine.has(), {"kinglet": "0.1.0-1"})
        self.assertEqual(self.machine.content("kinglet"), "kinglet 0.1.0-1\n")

    def test_an_update_comes_with_the_others_of_the_machine(self):
        self.published("0.1.0-1")
        for file in (self.site / "dists").rglob("*"):
            os.utime(file, (time.time() - 60,) * 2)  # "modified since" counts in seconds
        self.add_it()
        self.machine.update()
        self.machine.apt("install", "kinglet")
        self.published("0.2.0-1")
        self.machine.update()
        self.machine.apt("upgrade")
        self.assertEqual(self.machine.has(), {"kinglet": "0.2.0-1"})
        # Who has trouble with it goes back.
        self.machine.apt("--allow-downgrades", "install", "kinglet=0.1.0-1")
        self.assertEqual(self.machine.has(), {"kinglet": "0.1.0-1"})

    def updated(self, before, after, owners_file, code=0):
        """An update that nobody watches, beside a file that the owner has written; both versions' files below /etc are named."""
        self.published("0.1.0-1", below_etc=before)
        for file in (self.site / "dists").rglob("*"):
            os.utime(file, (time.time() - 60,) * 2)
        self.add_it()
        self.machine.update()
        self.machine.apt("install", "kinglet")
        written = self.machine.folder / "etc/kinglet" / owners_file
        written.write_text("[log]\nlevel = 'debug'\n")
        self.published("0.2.0-1", below_etc=after)
        self.machine.update()
        ended = self.machine.apt("upgrade", code=code)
        self.assertEqual(written.read_text(), "[log]\nlevel = 'debug'\n")
        return ended

    def test_an_update_leaves_what_the_owner_wrote_and_asks_nothing(self):
        self.updated(None, None, "conf.d/mine.toml")
        self.assertEqual(self.machine.has(), {"kinglet": "0.2.0-1"})

    def test_a_file_that_an_older_package_brought_and_its_owner_changed_stops_no_update(self):
        self.updated("# all keys of the older version\n", None, "kinglet.toml")
        self.assertEqual(self.machine.has(), {"kinglet": "0.2.0-1"})

    def test_a_file_of_the_package_where_the_owner_writes_would_stop_it(self):
        ended = self.updated("# all keys of the older version\n", "# all keys of the newer one\n", "kinglet.toml", code=100)
        self.assertIn("conffile", ended.stderr + ended.stdout)
        self.assertEqual(self.machine.has(), {})

    def test_a_list_that_was_changed_after_signing_is_not_believed(self):
        self.published("0.1.0-1")
        self.add_it()
        lists = self.site / "dists/stable/main/binary-arm64"
        (lists / "Packages.gz").unlink()
        (lists / "Packages").write_text((lists / "Packages").read_text().replace("Version: 0.1.0-1", "Version: 9.9.9-9"))
        self.assertIn("Hash Sum mismatch", self.machine.update(code=100).stderr)

    def test_a_package_that_was_changed_after_signing_is_not_installed(self):
        self.published("0.1.0-1")
        self.add_it()
        self.machine.update()
        package = next(self.site.glob("pool/kinglet/*.deb"))
        package.write_bytes(package.read_bytes()[:-1] + b"!")
        self.assertIn("Hash Sum mismatch", self.machine.apt("install", "kinglet", code=100).stderr)
        self.assertEqual(self.machine.has(), {})

    def test_another_key_than_the_owners_is_not_believed(self):
        self.published("0.1.0-1")
        self.add_it()
        self.owner = self.key("stranger@kinglet.invalid")
        self.published("0.2.0-1")
        self.assertIn("is not signed", self.machine.update(code=100).stderr)

    def test_a_version_once_published_keeps_its_bytes(self):
        self.published("0.1.0-1")
        other = stand_in(self.folder, "kinglet", "0.1.0-1", section="video")
        refused = self.publish(self.site, self.owner, self.address, other, code=73)
        self.assertIn("kinglet_0.1.0-1_arm64.deb was published with other bytes", refused.stderr)
        self.add_it()
        self.machine.update()
        self.machine.apt("install", "kinglet")

    def test_without_the_owners_key_nothing_is_made(self):
        package = stand_in(self.folder, "kinglet", "0.1.0-1")
        refused = self.publish(self.site, "nobody@kinglet.invalid", self.address, package, code=69)
        self.assertIn('no secret key "nobody@kinglet.invalid"', refused.stderr)
        self.assertFalse((self.site / "dists").exists())

    def test_boards_of_both_architectures_find_theirs(self):
        self.published("0.1.0-1")
        self.publish(self.site, self.owner, self.address, stand_in(self.folder, "kinglet", "0.1.0-1", architecture="amd64"))
        for architecture in ("amd64", "arm64"):
            listed = (self.site / f"dists/stable/main/binary-{architecture}/Packages").read_text()
            self.assertIn(f"Architecture: {architecture}\n", listed)
            self.assertEqual(listed.count("Package: "), 1)
        self.assertIn("Architectures: amd64 arm64\n", (self.site / "dists/stable/Release").read_text())


if __name__ == "__main__":
    main()
