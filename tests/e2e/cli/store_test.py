# SPDX-License-Identifier: Apache-2.0
"""`kinglet store`: what a person does with the history while no daemon runs. The rows are written by SQLite itself."""
import csv
import fcntl
import io
import json
import sqlite3
import time
from contextlib import closing

from support import CliTest, kinglet, main

DAY = 86_400_000
NOON = 1_777_896_000_000  # 2026-05-04T12:00:00Z


def visit_id(number):
    return "vis_" + format(number, "026d")


class Store(CliTest):
    def setUp(self):
        super().setUp()
        self.state = self.folder / "state"
        self.state.mkdir()
        (self.state / "kinglet.db").touch()
        self.settings = self.file("kinglet.toml", 'time.zone = "UTC"\n')
        self.assert_done(self.store("prune"))  # makes the tables

    def store(self, action, *options, **named):
        return kinglet("store", action, "--path", self.state, "--config", self.settings, *options, **named)

    def rows(self, sql, *values):
        with closing(sqlite3.connect(self.state / "kinglet.db")) as database, database:
            return database.execute(sql, values).fetchall()

    def add(self, seq, species="turdus-merula", at=NOON, verdict=0, name="Turdus merula", common="Blackbird", crop=None):
        day = time.strftime("%Y-%m-%d", time.gmtime(at / 1000))
        top = json.dumps([[species, common, name, common, 4, 0.9]])
        self.rows("INSERT INTO visits(seq, id, change, open, source, started_ms, duration_ms, clock_synced, day, hour, "
                  "counted_as, species_id, score, frames_seen, frames_agreeing, top, model_name, model_digest, unusual, "
                  "best_prediction, crop_x, crop_y, crop_width, crop_height, verdict, note, crop_bytes) VALUES(?, ?, 1, 0, "
                  "'feeder', ?, 30000, 1, ?, 12, ?, ?, 0.9, 10, 9, ?, 'model', 'sha256:9f', 0, 'prd_1', 0, 0, 8, 8, ?, "
                  "'a \"note\", quoted', ?)", seq, visit_id(seq), at, day, species, species, top, verdict, crop)

    def add_crop(self, seq, size=100):
        folder = self.state / "pictures" / visit_id(seq)[-1]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{visit_id(seq)}.crop.jpg").write_bytes(b"j" * size)

    def test_info_tells_what_is_kept(self):
        self.add(1, crop=100)
        self.add_crop(1)
        self.add(2, "sturnus-vulgaris", NOON + DAY)
        info = self.assert_done(self.store("info", "--json")).json()
        self.assertEqual((info["visits"], info["species"], info["highest_seq"]), (2, 2, 2))
        self.assertEqual((info["picture_files"], info["picture_bytes"]), (1, 100))
        self.assertEqual((info["first_at"], info["last_at"]), ("2026-05-04T12:00:00.000Z", "2026-05-05T12:00:00.000Z"))
        self.assertIn("2 of 2 species", self.assert_done(self.store("info")).text())

    def test_a_folder_without_a_history(self):
        self.assert_refused(kinglet("store", "info", "--path", self.folder / "nothing"), 66, "no history", hint="--path")

    def test_a_newer_database_is_refused(self):
        self.rows("PRAGMA user_version = 77")
        for action in ("info", "check", "export", "prune"):
            self.assert_refused(self.store(action), 65, "version 77")

    def test_check_finds_nothing_in_a_sound_history(self):
        self.add(1, crop=100)
        self.add_crop(1)
        self.assertEqual(self.assert_done(self.store("check")).text(), "sound\n")

    def test_check_finds_damage_missing_pictures_and_strays(self):
        self.add(1, crop=100)
        self.add_crop(2)
        ended = self.assert_done(self.store("check", "--json"), 1)
        faults = "\n".join(ended.json()["faults"])
        self.assertIn(f"{visit_id(1)}: a picture of 100 bytes is missing", faults)
        self.assertEqual(ended.json()["strays"], 1)
        for seq in range(10, 200):
            self.add(seq)
        damaged = bytearray((self.state / "kinglet.db").read_bytes())
        damaged[8 * 4096:20 * 4096] = bytes(range(256)) * 192
        (self.state / "kinglet.db").write_bytes(damaged)
        ended = self.assert_done(self.store("check"), 1)
        self.assertNotIn("sound", ended.text())

    def test_strays_alone_have_a_code_of_their_own(self):
        self.add(1, crop=100)
        self.add_crop(1)
        self.add_crop(2)
        ended = self.assert_done(self.store("check"), 2)
        self.assertEqual(ended.text(), "sound\n1 picture file belongs to no visit; the daemon removes them at its start\n")
        self.assertEqual(self.assert_done(self.store("check", "--json"), 2).json(),
                         {"sound": True, "faults": [], "strays": 1})

    def test_an_emptied_database_is_a_fault_and_its_pictures_stay(self):
        self.add(1, crop=100)
        self.add_crop(1)
        (self.state / "kinglet.db").write_bytes(b"")
        ended = self.assert_done(self.store("check"), 1)
        self.assertIn("the database is empty, but pictures of earlier visits are there", ended.text())
        for action in (["prune"], ["forget", "--all", "--yes"]):
            self.assert_refused(self.store(*action), 65, "the database is empty", hint="start the daemon")
        self.assertEqual(len(list(self.state.rglob("*.jpg"))), 1)

    def test_forgetting_all_leaves_what_is_not_the_historys(self):
        self.add(1, crop=100)
        self.add_crop(1)
        note = self.state / "pictures" / "README.txt"
        note.write_text("the owner's")
        self.assert_done(self.store("forget", "--all", "--yes"))
        self.assertEqual([path for path in (self.state / "pictures").rglob("*") if path.is_file()], [note])

    def test_csv_is_read_back_by_another_reader(self):
        self.add(1)
        self.add(2, "sturnus-vulgaris", NOON + DAY, name="Sturnus vulgaris", common='=HYPERLINK("x")')
        data = self.assert_done(self.store("export")).out
        self.assertEqual(data.count(b"\n"), data.count(b"\r\n"))
        rows = list(csv.DictReader(io.StringIO(data.decode(), newline="")))
        self.assertEqual([row["id"] for row in rows], [visit_id(1), visit_id(2)])
        self.assertEqual(rows[0]["note"], 'a "note", quoted')
        self.assertEqual((rows[0]["started_at"], rows[0]["ended_at"]), ("2026-05-04T12:00:00.000Z",
                                                                        "2026-05-04T12:00:30.000Z"))
        self.assertEqual((rows[0]["scientific_name"], rows[0]["score"]), ("Turdus merula", "0.9"))
        self.assertEqual(rows[1]["common_name"], '\'=HYPERLINK("x")')

    def test_export_filters_by_day_and_species(self):
        for seq in range(1, 1201):
            self.add(seq, at=NOON + seq * 1000)
        self.add(2000, "sturnus-vulgaris", NOON + DAY)
        count = lambda *options: len(self.assert_done(self.store("export", "--format", "json", *options)).json())
        self.assertEqual(count(), 1201)
        self.assertEqual(count("--species", "sturnus-vulgaris"), 1)
        self.assertEqual(count("--since", "2026-05-05"), 1)
        self.assertEqual(count("--until", "2026-05-05"), 1200)
        self.assert_refused(self.store("export", "--since", "yesterday"), 64, "yesterday", hint="2026-05-04")
        for option in ("--since", "--until"):
            self.assert_refused(self.store("export", option, "2300-01-01"), 64, "2300-01-01", hint="2026-05-04")

    def test_ebird_takes_what_a_person_has_confirmed(self):
        self.add(1, verdict=1)
        self.add(2, verdict=1, at=NOON + 3_600_000)
        self.add(3, "sturnus-vulgaris", name="Sturnus vulgaris", common="Starling")
        self.add(4, "sturnus-vulgaris", verdict=3)
        options = ["--format", "ebird", "--location", "Garden, back", "--latitude", "48.1", "--longitude", "11.5",
                   "--state", "BY", "--country", "DE"]
        ended = self.assert_done(self.store("export", *options))
        rows = list(csv.reader(io.StringIO(ended.text())))
        self.assertEqual(rows, [["Blackbird", "Turdus", "merula", "X", "2 visits of a camera, best score 0.90",
                                 "Garden, back", "48.1", "11.5", "05/04/2026", "12:00", "BY", "DE", "Incidental", "1", "",
                                 "N", "", "", "Seen by a feeder camera (kinglet)"]])
        rows = list(csv.reader(io.StringIO(self.assert_done(self.store("export", *options, "--unreviewed")).text())))
        self.assertEqual([(row[0], len(row)) for row in rows], [("Starling", 19), ("Blackbird", 19)])

    def test_a_file_is_written_whole_and_not_over_another(self):
        self.add(1)
        out = self.folder / "visits.csv"
        self.assert_done(self.store("export", "-o", out))
        self.assertIn(visit_id(1), out.read_text())
        self.assert_refused(self.store("export", "-o", out), 73, "exists already", hint="--force")
        self.assert_done(self.store("export", "-o", out, "--force"))
        ended = self.store("export", "-o", self.folder / "small.csv", largest_file=50)
        self.assert_refused(ended, 74)
        self.assertFalse((self.folder / "small.csv").exists())

    def test_prune_removes_the_old_and_keeps_their_counts(self):
        self.add(1, at=NOON - 1000 * DAY, crop=100)
        self.add_crop(1)
        self.add(2, at=int(time.time() * 1000))
        pruned = self.assert_done(self.store("prune", "--older-than", "30d", "--json")).json()
        self.assertEqual(pruned, {"visits_removed": 1, "frames_removed": 0, "picture_bytes_removed": 100})
        self.assertEqual(self.rows("SELECT seq FROM visits"), [(2,)])
        self.assertEqual(self.rows("SELECT species_id, visits FROM daily_counts"), [("turdus-merula", 1)])
        self.assertEqual(list(self.state.rglob("*.jpg")), [])

    def test_forget_asks_to_be_sure_and_leaves_nothing(self):
        for seq in (1, 2, 3):
            self.add(seq, at=NOON + seq * DAY, crop=100)
            self.add_crop(seq)
        (self.state / "kinglet.db.damaged-1").write_bytes(b"old")
        self.assert_refused(self.store("forget", "--all"), 64, hint="--yes")
        self.assert_refused(self.store("forget", "--yes"), 64, "--before")
        self.assert_refused(self.store("forget", "--visit", visit_id(9), "--yes"), 66, visit_id(9))
        self.assert_done(self.store("forget", "--visit", visit_id(1), "--yes"))
        self.assertEqual(self.rows("SELECT seq FROM visits"), [(2,), (3,)])
        self.assert_done(self.store("forget", "--before", "2026-05-07", "--yes"))
        self.assertEqual(self.rows("SELECT seq FROM visits"), [(3,)])
        self.assertEqual(len(list(self.state.rglob("*.jpg"))), 1)
        self.assert_done(self.store("forget", "--all", "--yes"))
        self.assertEqual(self.rows("SELECT count(*) FROM visits"), [(0,)])
        self.assertEqual([path.name for path in self.state.rglob("*") if "damaged" in path.name or "jpg" in path.name], [])
        for path in self.state.iterdir():
            if path.is_file():
                self.assertNotIn(b"Blackbird", path.read_bytes(), path)

    def test_a_running_daemon_is_not_written_under(self):
        with open(self.state / "lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assert_refused(self.store("prune"), 75, "another kingletd")
            self.assert_done(self.store("info"))


if __name__ == "__main__":
    main()
