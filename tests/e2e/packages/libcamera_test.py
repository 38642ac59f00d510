# SPDX-License-Identifier: Apache-2.0
"""Which kinglet-camera apt chooses, by the control files of the real packages and stand-ins for the systems: libcamera's
library and its IPA modules are always of one version, and where nothing fits kinglet comes without (rpicam: goes on)."""
from support import PackageTest, Machine, control_of, main, make_package, need, run, stand_in

need("apt-get", "dpkg-scanpackages", "dpkg-deb")
DEBIAN = (("libcamera0.4", "0.4.0-7", {"recommends": "libcamera-ipa (= 0.4.0-7)"}),
          ("libcamera-ipa", "0.4.0-7", {"depends": "libcamera0.4 (>= 0.4.0)"}))
# Raspberry Pi OS has all of Debian's packages, and newer ones of its own for the camera.
RASPBERRY = (*DEBIAN, ("libcamera0.7", "0.7.0+rpt1-1", {"recommends": "libcamera-ipa (= 0.7.0+rpt1-1)"}),
             ("libcamera-ipa", "0.7.0+rpt1-1", {"depends": "libcamera0.7 (>= 0.7.0+rpt1)"}),
             ("rpicam-apps", "1.11.0-1", {"depends": "libcamera0.7 (>= 0.7.0), libcamera-ipa"}))
BUILT_FOR = ("0.4", "0.7")
OTHERS = ("systemd", "tzdata", "libcurl4t64", "libzip5", "libc6", "ffmpeg")


class Pairs(PackageTest):
    def machine(self, system, programs=("0.4", "0.7")):
        """A machine that can have all of `system` and kinglet, with camera programs for these libcameras."""
        folder = self.folder / "archive"
        folder.mkdir()
        for name in OTHERS:
            stand_in(folder, name, "100")
        for name, version, fields in system:
            stand_in(folder, name, version, **fields)
        make_package(folder, control_of("kinglet"))
        make_package(folder, control_of("kinglet-camera"))
        for libcamera in programs:
            make_package(folder, control_of("kinglet-camera-program", libcamera=libcamera))
        (folder / "Packages").write_text(run("dpkg-scanpackages", "--multiversion", ".", cwd=folder).stdout)
        machine = Machine(self.folder / "machine")
        machine.source("all.sources", f"Types: deb\nURIs: file:{folder}\nSuites: ./\nTrusted: yes\n")
        machine.update()
        return machine

    def assert_one_libcamera(self, machine):
        """Whatever is installed: the modules are of the library that kinglet-camera was built for."""
        has = machine.has()
        for libcamera in BUILT_FOR:
            if f"kinglet-camera-{libcamera}" in has:
                self.assertIn(f"libcamera{libcamera}", has)
                self.assertTrue(has["libcamera-ipa"].startswith(libcamera), has)
        return has

    def test_on_debian_13_it_is_the_one_for_libcamera_04(self):
        machine = self.machine(DEBIAN)
        machine.apt("install", "kinglet")
        has = self.assert_one_libcamera(machine)
        self.assertIn("kinglet-camera-0.4", has)
        self.assertNotIn("kinglet-camera-0.7", has)
        self.assertIn("ffmpeg", has)  # for network cameras

    def test_on_raspberry_pi_os_it_is_the_one_for_libcamera_07(self):
        machine = self.machine(RASPBERRY)
        machine.apt("install", "rpicam-apps")
        machine.apt("install", "kinglet")
        has = self.assert_one_libcamera(machine)
        self.assertIn("kinglet-camera-0.7", has)
        self.assertNotIn("libcamera0.4", has)
        self.assertIn("rpicam-apps", has)

    def test_library_04_is_never_paired_with_modules_07(self):
        machine = self.machine(RASPBERRY, programs=("0.4",))
        machine.apt("install", "rpicam-apps")
        for solver in ([], ["--solver", "3.0"]):
            with self.subTest(solver=solver):
                machine.apt(*solver, "install", "kinglet-camera", code=100)
                said = machine.apt(*solver, "install", "kinglet-camera-0.4", "libcamera-ipa=0.7.0+rpt1-1", code=100).stderr
                self.assertIn("libcamera-ipa", said)
        self.assertEqual(machine.has().keys() & {"kinglet-camera", "kinglet-camera-0.4", "libcamera0.4"}, set())

    def test_where_none_fits_kinglet_is_installed_without(self):
        machine = self.machine(RASPBERRY, programs=("0.4",))
        machine.apt("install", "rpicam-apps")
        machine.apt("install", "kinglet")
        has = machine.has()
        self.assertIn("kinglet", has)
        self.assertEqual(has["libcamera-ipa"], "0.7.0+rpt1-1")
        self.assertNotIn("kinglet-camera", has)

    def test_a_system_that_gets_a_newer_libcamera_changes_the_program(self):
        machine = self.machine(RASPBERRY)
        machine.apt("install", "kinglet", "libcamera-ipa=0.4.0-7", "kinglet-camera-0.4")
        self.assertIn("kinglet-camera-0.4", self.assert_one_libcamera(machine))
        machine.apt("dist-upgrade")
        self.assert_one_libcamera(machine)
        machine.apt("install", "rpicam-apps", "libcamera-ipa=0.7.0+rpt1-1", "kinglet-camera-0.7")
        has = self.assert_one_libcamera(machine)
        self.assertIn("kinglet-camera-0.7", has)
        self.assertNotIn("kinglet-camera-0.4", has)

    def test_the_older_way_of_depending_did_pair_them(self):
        """What the bounds are there for: with libcamera-ipa of any version apt mixes the two."""
        program = control_of("kinglet-camera-program", libcamera="0.4")
        loose = program.replace("libcamera-ipa (>= 0.4~), libcamera-ipa (<< 0.5~)", "libcamera-ipa").replace("-1\n", "-2\n", 1)
        self.assertNotEqual(program, loose)
        folder = self.folder / "loose"
        folder.mkdir()
        machine = self.machine(RASPBERRY, programs=())
        make_package(folder, loose.replace("(= 0.1.0-2)", "(= 0.1.0-1)"))
        machine.apt("install", "rpicam-apps")
        machine.apt("install", *folder.glob("*.deb"))
        has = machine.has()
        self.assertIn("libcamera0.4", has)
        self.assertTrue(has["libcamera-ipa"].startswith("0.7"))


if __name__ == "__main__":
    main()
