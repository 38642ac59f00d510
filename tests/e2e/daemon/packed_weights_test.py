# SPDX-License-Identifier: Apache-2.0
"""A daemon packs its model's weights once: the next start finds them in the state folder, a damaged file is made again, and
where none can be kept that is one line of the log. No backup carries them."""
import os
import subprocess
import tarfile

from support import Daemon, ScratchFolder, main

KINGLET = os.environ["KINGLET"]


class PackedWeights(ScratchFolder):
    def answer(self):
        """Of the demonstration to one picture; the lines of the daemon's log."""
        with Daemon(sets=[f"source=images:{self.frames}", f"store.path={self.state}"]) as daemon:
            daemon.first_prediction()
            top = daemon.ask("/api/v1/predictions?limit=500").json()["items"][-1]["top"]
            daemon.stop()
            return [(one["label"], one["score"]) for one in top], "".join(daemon.lines)

    def setUp(self):
        super().setUp()
        self.state = self.folder / "state"
        self.packed = self.state / "packed"
        self.frames = self.folder / "frames"
        subprocess.run([KINGLET, "demo-frames", "--out", str(self.frames), "--count", "1", "--seed", "3", "--size", "64x48"],
                       check=True, capture_output=True)

    def file(self):
        found, = self.packed.iterdir()
        return found

    def test_they_are_packed_once_and_again_when_they_are_damaged(self):
        first, lines = self.answer()
        self.assertNotIn("packed weights", lines)
        file = self.file()
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        made = file.stat().st_ino
        self.assertEqual(self.answer()[0], first)
        self.assertEqual(self.file().stat().st_ino, made)
        with open(file, "r+b") as damaged:
            damaged.seek(file.stat().st_size // 2)
            damaged.write(b"\xff" * 1000)
        self.assertEqual(self.answer()[0], first)
        self.assertEqual(self.file(), file)
        whole = file.read_bytes()
        self.assertNotIn(b"\xff" * 1000, whole)

    def test_where_they_cannot_be_kept_that_is_said_once(self):
        first, _ = self.answer()
        self.file().unlink()
        self.packed.rmdir()
        self.packed.write_text("a file")
        answer, lines = self.answer()
        self.assertEqual(answer, first)
        self.assertEqual(lines.count("packed weights are not kept"), 1, lines)

    def test_no_backup_has_them(self):
        self.answer()
        self.file()
        backup, etc = self.folder / "backup.tar", self.folder / "etc"
        etc.mkdir()
        subprocess.run([KINGLET, "backup", "-o", str(backup), "--etc", str(etc), "--set", f"store.path={self.state}"],
                       check=True, capture_output=True)
        with tarfile.open(backup) as parts:
            self.assertFalse([name for name in parts.getnames() if "packed" in name])


if __name__ == "__main__":
    main()
