# SPDX-License-Identifier: Apache-2.0
"""What a package brings beside its programs: manual pages that say what --help says, a bill of materials that fits its files,
documents whose links lead somewhere and a README for those who have no sources; twice the same bytes."""
import gzip
import hashlib
import json
import os
import re
import shutil
import tempfile
from pathlib import Path

from support import SOURCE_DIR, PackageTest, from_package_script, main, need, run

need("cmake", "dpkg-deb", "strip")
PROGRAMS = Path(os.environ["KINGLET"]).parent
TOOLS = SOURCE_DIR / "cross" / "package"
AT = 1_700_000_000


class ManualPages(PackageTest):
    def setUp(self):
        super().setUp()
        run(TOOLS / "man-pages", PROGRAMS, self.folder, "0.1.0-1", AT)

    def plain(self, name):
        """The page as it is read, in one line."""
        text = (self.folder / name).read_text(encoding="utf-8")
        for mark, sign in (("\\-", "-"), ("\\(dq", '"'), ("\\e", "\\"), ("\\&", "")):
            text = text.replace(mark, sign)
        return re.sub(r"\s+", " ", text)

    def test_every_program_and_the_configuration_have_one(self):
        written = {path.name for path in self.folder.iterdir()}
        self.assertLessEqual({"kinglet.1", "kingletd.8", "kinglet.toml.5"}, written)
        self.assertEqual("kinglet-camera.1" in written, (PROGRAMS / "kinglet-camera").exists())

    def test_every_option_of_every_command_stands_in_it(self):
        commands = re.findall(r"^  ([a-z-]+) +\S", run(PROGRAMS / "kinglet", "--help").stdout, re.MULTILINE)
        self.assertGreater(len(commands), 20)
        page = self.plain("kinglet.1")
        for command in commands:
            with self.subTest(command=command):
                self.assertIn(f'.SS "kinglet {command}"', page)
                for option in re.findall(r"^  (-\S+)", run(PROGRAMS / "kinglet", command, "--help").stdout, re.MULTILINE):
                    self.assertIn(option.split(",")[-1], page)

    def test_every_key_stands_in_that_of_the_configuration(self):
        keys = re.findall(r"^\| `([a-z_.]+)", run(PROGRAMS / "kinglet", "config", "docs").stdout, re.MULTILINE)
        self.assertGreater(len(keys), 80)
        page = self.plain("kinglet.toml.5")
        for key in keys:
            self.assertIn(f'.B "{key} = ', page)

    def test_the_reader_of_manual_pages_has_nothing_to_complain_of(self):
        if shutil.which("man") is None:
            self.skipTest("man is not installed")
        for page in self.folder.iterdir():
            shown = run("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page,
                        env={**os.environ, "LC_ALL": "C.UTF-8", "MANROFFSEQ": "", "MANWIDTH": "80"})
            self.assertEqual(shown.stderr, "", page.name)


class Package(PackageTest):
    """A stage such as CMake's installation leaves, made into packages by the functions of ./dev package."""

    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        cls.first, cls.second = (cls.packed(Path(holder.name) / name) for name in ("one", "two"))

    @staticmethod
    def packed(folder):
        stage = folder / "stage"
        (stage / "usr/bin").mkdir(parents=True)
        run("strip", "-o", stage / "usr/bin/kingletd", PROGRAMS / "kinglet")  # any program with libraries will do
        (stage / "etc/kinglet/conf.d").mkdir(parents=True)
        from_package_script(f'deb_folder={folder}; stamp={AT}; quietly() {{ "$@" >/dev/null; }}; '
                            f'finish_package kinglet kinglet $(dpkg --print-architecture) {stage}')
        return next(folder.glob("*.deb"))

    def test_two_of_the_same_tree_are_the_same_bytes(self):
        self.assertEqual(self.first.name, self.second.name)
        self.assertEqual(hashlib.sha256(self.first.read_bytes()).digest(), hashlib.sha256(self.second.read_bytes()).digest())

    def test_its_bill_of_materials_fits_it(self):
        tree = self.folder / "tree"
        run("dpkg-deb", "-x", self.first, tree)
        bill = json.loads((tree / "usr/share/doc/kinglet/kinglet.spdx.json").read_text())
        self.assertEqual((bill["spdxVersion"], bill["dataLicense"], bill["creationInfo"]["created"]),
                         ("SPDX-2.3", "CC0-1.0", "2023-11-14T22:13:20Z"))
        listed = {one["fileName"][2:]: {sum["algorithm"]: sum["checksumValue"] for sum in one["checksums"]} for one in bill["files"]}
        own = bill["packages"][0]["packageVerificationCode"]["packageVerificationCodeExcludedFiles"]
        there = {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()}
        self.assertEqual(there - {name[2:] for name in own}, set(listed))
        for name, sums in listed.items():
            self.assertEqual(sums["SHA256"], hashlib.sha256((tree / name).read_bytes()).hexdigest(), name)
        self.assertEqual(bill["packages"][0]["packageVerificationCode"]["packageVerificationCodeValue"],
                         hashlib.sha1("".join(sorted(sums["SHA1"] for sums in listed.values())).encode()).hexdigest())
        ids = [one["SPDXID"] for one in bill["packages"] + bill["files"]] + [bill["SPDXID"]]
        self.assertEqual(len(ids), len(set(ids)))
        for relation in bill["relationships"]:
            self.assertLessEqual({relation["spdxElementId"], relation["relatedSpdxElement"]}, set(ids))
        loaded = {one["relatedSpdxElement"] for one in bill["relationships"] if one["relationshipType"] == "DEPENDS_ON"}
        by_id = {one["SPDXID"]: one for one in bill["packages"]}
        self.assertLessEqual({"libsqlite3-0", "libstdc++6", "libturbojpeg0"}, {by_id[one]["name"] for one in loaded})
        self.assertTrue(all("versionInfo" in by_id[one] for one in loaded if by_id[one]["name"].startswith("lib")))
        built_in = {by_id[one["relatedSpdxElement"]]["name"] for one in bill["relationships"] if one["relationshipType"] == "STATIC_LINK"}
        build = (SOURCE_DIR / "cross/packages/build.txt").read_text().split()
        self.assertLessEqual(built_in, set(build))
        self.assertTrue(built_in)

    def test_no_file_of_it_lies_where_the_owner_writes(self):
        listed = [line.split()[-1] for line in run("dpkg-deb", "-c", self.first).stdout.splitlines() if "./etc" in line]
        self.assertEqual(listed, ["./etc/", "./etc/kinglet/", "./etc/kinglet/conf.d/"])
        self.assertNotIn("conffiles", run("dpkg-deb", "-I", self.first).stdout)
        (self.folder / "stage/etc/kinglet").mkdir(parents=True)
        (self.folder / "stage/etc/kinglet/kinglet.toml").write_text("")
        script = f'set -euo pipefail; repository={SOURCE_DIR}; for part in common package; do source "$repository/cross/lib/$part.sh"; done'
        refused = run("bash", "-c", f"{script}; finish_package kinglet kinglet amd64 {self.folder}/stage", code=70)
        self.assertIn("a package has no files below /etc, where the owner writes: etc/kinglet/kinglet.toml", refused.stderr)

    def test_its_changelog_and_control_name_the_version_of_the_program(self):
        tree = self.folder / "tree"
        run("dpkg-deb", "-x", self.first, tree)
        version = re.search(r"^project\(kinglet VERSION ([\d.]+)", (SOURCE_DIR / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
        self.assertEqual(run("dpkg-deb", "-f", self.first, "Version").stdout.strip(), f"{version}-1")
        with gzip.open(tree / "usr/share/doc/kinglet/changelog.Debian.gz", "rt") as changelog:
            self.assertTrue(changelog.readline().startswith(f"kinglet ({version}-1) "))


class Options(PackageTest):
    def refused(self, *options):
        return run(SOURCE_DIR / "dev", "package", *options, code=64).stderr

    def test_an_architecture_that_cannot_be_built_is_refused_at_once(self):
        self.assertIn('no architecture "riscv64" can be built here\nhint: amd64, arm64 or all', self.refused("--architecture", "riscv64"))

    def test_a_repository_needs_to_know_who_signs_and_where_it_will_lie(self):
        for options in (("--repository", "site"), ("--repository=site", "--key", "owner@kinglet.invalid")):
            self.assertIn("--repository needs --key (who signs) and --address (where it will lie)", self.refused(*options))


class Documents(PackageTest):
    def setUp(self):
        super().setUp()
        shutil.copytree(SOURCE_DIR / "docs", self.folder / "docs", ignore=shutil.ignore_patterns("page.png"))  # as install.cmake
        shutil.copy(SOURCE_DIR / "CHANGELOG.md", self.folder)
        run("cmake", f"-Dsource={SOURCE_DIR}/README.md", f"-Dtarget={self.folder}/README.md", "-P", SOURCE_DIR / "cmake/installed_readme.cmake")

    def test_links_of_what_is_installed_lead_somewhere(self):
        self.assertEqual(run(TOOLS / "check-links", self.folder, code=None).stdout, "")

    def test_a_link_that_leads_nowhere_is_told(self):
        (self.folder / "docs" / "new.md").write_text("# New\n\n[a](gone.md), [b](live.md#nothing), `[c](code.md)`, [d](../../etc)\n")
        told = run(TOOLS / "check-links", self.folder, code=1).stdout
        self.assertEqual(told, "docs/new.md: there is no gone.md\ndocs/new.md: live.md has no heading nothing\n"
                               "docs/new.md: there is no ../../etc\n")

    def test_nothing_that_is_read_at_home_speaks_of_the_sources(self):
        installed = (self.folder / "README.md").read_text()
        self.assertNotIn("./dev", installed)
        self.assertIn("sudo apt install kinglet", installed)
        self.assertNotIn("./dev", (SOURCE_DIR / "config/kinglet.toml").read_text())
        self.assertIn("./dev run", (SOURCE_DIR / "README.md").read_text())


if __name__ == "__main__":
    main()
