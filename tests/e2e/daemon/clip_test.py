# SPDX-License-Identifier: Apache-2.0
"""Clips: the seconds before a visit and its first ones, played or downloaded, within the budget, and nothing when off."""
import datetime
import re
import struct
import unittest
from pathlib import Path

from support import Daemon, ScratchFolder, main

QUICK = ["source=demo:", "visits.end_after=1s", "store.flush_interval=100ms", "gate.max_fps=100"]
PART = re.compile(rb"--kinglet\r\nContent-Type: image/jpeg\r\nContent-Length: (\d+)\r\nX-Timestamp: (\d+\.\d{3})\r\n\r\n")


def parts(clip):
    """(time, JPEG) of each part; all bytes have to belong to one."""
    found = []
    while match := PART.match(clip):
        begin, end = match.end(), match.end() + int(match[1])
        found.append((float(match[2]), clip[begin:end]))
        assert clip[end:end + 2] == b"\r\n"
        clip = clip[end + 2:]
    assert clip == b"--kinglet--\r\n", clip[:100]
    return found


def jpeg_size(jpeg):
    at = 2
    while jpeg[at + 1] not in (0xC0, 0xC1, 0xC2):
        at += 2 + int.from_bytes(jpeg[at + 2:at + 4], "big")
    return int.from_bytes(jpeg[at + 7:at + 9], "big"), int.from_bytes(jpeg[at + 5:at + 7], "big")


def chunks(data):
    """(name, content) of each chunk of a RIFF list; all bytes have to belong to one."""
    found = []
    while data:
        name, size = struct.unpack("<4sI", data[:8])
        assert len(data) >= 8 + size, (name, size, len(data))
        found.append((name, data[8:8 + size]))
        data = data[8 + size + size % 2:]
    return found


def lists(chunks_of_list):
    return {content[:4]: chunks(content[4:]) for name, content in chunks_of_list if name == b"LIST"}


class Avi:
    """A movie of one stream, read as Microsoft's "AVI RIFF File Reference" has it."""

    def __init__(self, data):
        (riff, content), = chunks(data)
        assert (riff, content[:4]) == (b"RIFF", b"AVI "), data[:12]
        self.parts = chunks(content[4:])
        found = lists(self.parts)
        main = struct.unpack("<14I", dict(found[b"hdrl"])[b"avih"])
        stream = dict(lists(found[b"hdrl"])[b"strl"])
        kind, self.codec, *header = struct.unpack("<4s4sI2H8I4H", stream[b"strh"])
        assert kind == b"vids"
        self.seconds_each = header[4] / header[5]
        assert main[0] == round(self.seconds_each * 1e6)
        _, width, height, planes, bits, codec = struct.unpack("<IiiHH4s", stream[b"strf"][:20])
        assert (planes, bits, codec) == (1, 24, self.codec)
        self.size = (width, height)
        assert self.size == main[8:10]
        self.movie = found[b"movi"]
        assert main[4] == header[7] == len(self.movie)
        self.check_index(data)

    def check_index(self, data):
        index = dict(self.parts)[b"idx1"]
        begin = data.index(b"movi")
        entries = [struct.unpack("<4s3I", index[at:at + 16]) for at in range(0, len(index), 16)]
        assert len(entries) == len(self.movie)
        for (name, flags, offset, size), (own, content) in zip(entries, self.movie):
            assert (name, size) == (own, len(content)) and flags == (0x10 if size else 0)
            assert data[begin + offset:begin + offset + 8] == struct.pack("<4sI", name, size)

    def pictures(self):
        """(seconds after the begin, JPEG) of each; no bytes: the one before stays."""
        return [(i * self.seconds_each, content) for i, (_, content) in enumerate(self.movie)]


class Clips(ScratchFolder):
    def daemon(self, *sets):
        return Daemon(sets=[*QUICK, f"store.path={self.folder / 'state'}", *sets])

    def visits(self, daemon):
        found = daemon.ask("/api/v1/visits?limit=500").json()["items"]
        return [visit for visit in found if visit["state"] == "ended" and "snapshot" in visit["links"]]

    def clip(self, daemon):
        return daemon.until(lambda: next((one for one in self.visits(daemon) if "clip" in one["links"]), None), "a clip")

    def threads(self, daemon):
        return [path.read_text().strip() for path in Path(f"/proc/{daemon.process.pid}/task").glob("*/comm")]

    def test_a_clip_shows_the_seconds_before_a_visit_and_its_first_ones(self):
        with self.daemon("store.clips=10s") as daemon:
            def played_from_before_on():
                """A clip. Before the first visit the camera may have seen nothing, and on a busy machine there is a picture in some
                seconds."""
                for visit in self.visits(daemon):
                    if "clip" in visit["links"]:
                        played = daemon.ask(visit["links"]["clip"])
                        started = datetime.datetime.fromisoformat(visit["started_at"]).timestamp()
                        times = [at for at, _ in parts(played.body)] if played.status == 200 else []
                        if times and times[0] < started - 1 and times[-1] > started + 0.5:
                            return played
                return None
            played = daemon.until(played_from_before_on, "a clip that begins before its visit and goes on in it")
            self.assertEqual(played.headers["content-type"], "multipart/x-mixed-replace; boundary=kinglet")
            frames = parts(played.body)
            times = [at for at, _ in frames]
            self.assertEqual(times, sorted(set(times)))
            self.assertLessEqual(times[-1] - times[0], 15.001)
            for _, jpeg in frames:
                self.assertTrue(jpeg.startswith(b"\xff\xd8") and jpeg.endswith(b"\xff\xd9"))
                self.assertEqual(jpeg_size(jpeg), (1280, 720))
            stats = daemon.ask("/api/v1/stats").json()["clips"]
            self.assertGreater(stats["frames_total"], len(frames) - 1)
            self.assertGreater(stats["memory_bytes"], 0)
            self.assertIn("clips", self.threads(daemon))

    def test_paused_no_pictures_for_clips_are_made(self):
        with self.daemon("store.clips=2s") as daemon:
            stats = lambda: daemon.ask("/api/v1/stats").json()
            made = lambda: stats()["clips"]["frames_total"]
            went_by = lambda: stats()["frames"]["skipped_total"]["paused"]
            daemon.until(lambda: made() > 3, "pictures for clips")
            owner = daemon.claim()
            daemon.ask("/api/v1/control/pause", "POST", headers=owner)
            daemon.until(lambda: went_by() > 1, "frames that go by")

            def only_going_by():
                before, gone = made(), went_by()
                daemon.until(lambda: went_by() > gone + 3, "more of them")
                return made() == before
            daemon.until(only_going_by, "that no more are made once those in work are done")
            before = made()
            daemon.ask("/api/v1/control/resume", "POST", headers=owner)
            daemon.until(lambda: made() > before + 3, "pictures for clips again")

    def test_what_is_set_is_what_a_clip_has(self):
        with self.daemon("store.clip_width=320", "store.clip_fps=2") as daemon:
            frames = parts(daemon.ask(self.clip(daemon)["links"]["clip"]).body)
        self.assertEqual({jpeg_size(jpeg) for _, jpeg in frames}, {(320, 180)})
        self.assertLess(len(frames), 2 * 8 + 3)

    def test_where_the_day_has_no_room_for_large_ones_clips_are_small(self):
        with self.daemon("store.write_budget=4MiB") as daemon:
            frames = parts(daemon.ask(self.clip(daemon)["links"]["clip"]).body)
            self.assertEqual({jpeg_size(jpeg) for _, jpeg in frames}, {(640, 360)})
            self.assertIn("clips: pictures are 640 pixels wide for now", "".join(daemon.lines))

    def test_the_file_has_the_pictures_of_the_clip_as_they_are_and_at_their_times(self):
        with self.daemon("store.clips=2s") as daemon:
            visit = self.clip(daemon)
            played = parts(daemon.ask(visit["links"]["clip"]).body)
            file = daemon.ask(visit["links"]["clip_file"])
            self.assertEqual((file.status, file.headers["content-type"]), (200, "video/x-msvideo"))
            self.assertIn(f'filename="{visit["id"]}.avi"', file.headers["content-disposition"])
            again = daemon.ask(visit["links"]["clip_file"], headers={"If-None-Match": file.headers["etag"]})
            self.assertEqual(again.status, 304)
        movie = Avi(file.body)
        self.assertEqual((movie.codec, movie.size), (b"MJPG", (1280, 720)))
        shown = [(at, jpeg) for at, jpeg in movie.pictures() if jpeg]
        self.assertEqual([jpeg for _, jpeg in shown], [jpeg for _, jpeg in played])
        for (at, _), (time, _) in zip(shown, played):
            self.assertAlmostEqual(at, time - played[0][0], delta=2 * movie.seconds_each)

    def test_a_clip_outlives_a_restart_and_goes_with_its_visit(self):
        with self.daemon() as daemon:
            visit = self.clip(daemon)
            before = daemon.ask(visit["links"]["clip_file"]).body
        with self.daemon("store.clips=0s") as daemon:
            self.assertEqual(daemon.ask(visit["links"]["clip_file"]).body, before)
            self.assertEqual(daemon.ask(visit["links"]["self"], "DELETE", headers=daemon.claim()).status, 204)
            self.assert_problem(daemon.ask(visit["links"]["clip"]), 404, "not-found")
            self.assertEqual(list((self.folder / "state").rglob(visit["id"] + ".clip*")), [])

    def test_a_damaged_file_is_no_clip(self):
        with self.daemon() as daemon:
            visit = self.clip(daemon)
            file, = daemon.until(lambda: list((self.folder / "state").rglob(visit["id"] + ".clip.mjpeg")), "its file")
            file.write_bytes(b"--kinglet\r\nno part")
            damaged = daemon.until(lambda: next((reply for reply in [daemon.ask(visit["links"]["clip"])]
                                                 if reply.status != 200), None), "that the file is read")
            self.assert_problem(damaged, 410, "picture-expired")
            self.assert_problem(daemon.ask(visit["links"]["clip_file"]), 410, "picture-expired")

    def test_switched_off_there_are_no_clips_and_no_thread(self):
        for sets in (["store.clips=0s"], ["privacy.keep_full_frames=0s"]):
            with self.subTest(sets=sets), self.daemon(*sets) as daemon:
                daemon.until(lambda: len(self.visits(daemon)) > 1, "visits with pictures")
                self.assertEqual([one for one in self.visits(daemon) if "clip" in one["links"]], [])
                self.assertNotIn("clips", daemon.ask("/api/v1/stats").json())
                self.assertNotIn("clips", self.threads(daemon))

    def test_clips_stop_before_other_pictures_when_the_budget_runs_out(self):
        with self.daemon("store.write_budget=1MiB") as daemon:
            self.clip(daemon)
            daemon.until(lambda: "clip" not in self.visits(daemon)[0]["links"], "a visit with pictures and no clip")


if __name__ == "__main__":
    main()
