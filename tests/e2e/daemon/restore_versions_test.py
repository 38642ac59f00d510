# SPDX-License-Identifier: Apache-2.0
"""A backup of an older version, or of a newer one: what this one knows is restored, all else is left out by name."""
import json
import re
import sqlite3

from support import SOURCE_DIR, main
from backup_case import DATABASE, Boxes
import backup_file


class OtherVersions(Boxes):
    LATER = (b'decide.min_score = 0.55\ndecide.later = 1\nlook = 5\n[later]\nkey = true\n[empty]\n[model]\npath = "/x"\n'
             b'[source]\nspec = "exec:false"\n[[notify]]\nname = "theirs"\n')
    UNKNOWN = ["decide.later", "later.key", "empty"]
    NOT_TAKEN = ["decide.later", "look", "later.key", "empty", "model.path", "source", "notify"]

    def backup(self):
        """One of a box with visits, and what those are."""
        box = self.box("other")
        with self.daemon(box) as daemon:
            owner = daemon.claim()
            visits = self.ended_visits(daemon)
            return daemon.ask("/api/v1/backup", headers=owner).body, visits

    def of_the_oldest(self, archive):
        """The same with the history as the first version of the schema had it."""
        source = (SOURCE_DIR / "store" / "database" / "schema.cpp").read_text()
        first = re.search(r'kVisits = R"\((.*?)\)"', source, re.DOTALL).group(1)
        newest, oldest = self.folder / "newest.db", self.folder / "oldest.db"
        newest.write_bytes(backup_file.contents(archive)[DATABASE])
        with sqlite3.connect(oldest) as database:
            database.executescript(first)
            database.execute("ATTACH ? AS newest", [str(newest)])
            [application] = database.execute("PRAGMA newest.application_id").fetchone()
            for table in ("meta", "visits", "daily_counts", "past_species"):
                columns = ", ".join(row[1] for row in database.execute(f"PRAGMA main.table_info({table})"))
                database.execute(f"INSERT INTO main.{table}({columns}) SELECT {columns} FROM newest.{table}")
            database.commit()
            database.executescript(f"DETACH newest; PRAGMA application_id = {application}; PRAGMA user_version = 1")
        database.close()

        def make_old(files, _):
            for name in [name for name in files if name.startswith("state/pictures/")]:
                files.pop(name)
            files[DATABASE] = oldest.read_bytes()
        return backup_file.changed(archive, make_old)

    def assert_has(self, box, visits):
        with self.daemon(box) as daemon:
            after = self.visits(daemon)
            self.assertLessEqual(set(visits), set(after))
            for name, visit in visits.items():
                self.assertEqual(after[name]["model_result"]["species_id"], visit["model_result"]["species_id"])
            self.assertEqual(daemon.stop()[0], 0)
        self.assertEqual(self.kinglet("store", "check", "--set", f"store.path={box[0]}").stdout, "sound\n")

    def test_a_history_of_the_oldest_schema_is_restored_and_brought_up_to_date(self):
        archive, visits = self.backup()
        archive = self.of_the_oldest(archive)
        (self.folder / "old.tar").write_bytes(archive)
        with_tool, over_http = self.box("tool"), self.box("http")
        self.restore(with_tool, self.folder / "old.tar")
        self.assert_has(with_tool, visits)
        with self.daemon(over_http) as daemon:
            taken = daemon.ask("/api/v1/restore", "POST", archive, daemon.claim())
            self.assertEqual((taken.status, taken.json()["visits"] >= len(visits)), (202, True), taken.body)
        self.assert_has(over_http, visits)

    def test_settings_that_this_version_does_not_know_are_left_out_by_name_and_all_else_is_restored(self):
        archive, visits = self.backup()
        past = {"changes": [{"at": "2026-05-04T06:12:09.318Z", "by": "owner", "before": before} for before in (
            {"decide.later": "2", "decide.min_score": "0.3"},
            {"gate.max_fps": '"often"', "decide.min_score": "0.55"})]}

        def change(files, _):
            files["state/settings.toml"] = self.LATER
            files["state/settings-history.json"] = json.dumps(past).encode()
        archive = backup_file.changed(archive, change)
        (self.folder / "later.tar").write_bytes(archive)
        with_tool, over_http = self.box("tool"), self.box("http")
        told = self.restore(with_tool, self.folder / "later.tar").stderr
        for key in self.UNKNOWN:
            self.assertIn(f"setting left out: {key}: there is no such key", told)
        self.assertIn("setting left out: model.path: cannot be set over HTTP here", told)
        self.assertIn("1 settings", told)
        self.assert_has(with_tool, visits)
        with self.daemon(over_http) as daemon:
            owner = daemon.claim()
            taken = daemon.ask("/api/v1/restore", "POST", archive, owner)
            self.assertEqual((taken.status, taken.json()["settings_left_out"]), (202, self.NOT_TAKEN), taken.body)
            daemon.says("a setting of the backup is left out: decide.later: there is no such key")
        self.assert_has(over_http, visits)
        with self.daemon(over_http) as daemon:
            config = daemon.ask("/api/v1/config", headers=owner)
            self.assertEqual(config.json()["keys"]["decide.min_score"]["value"], 0.55)
            self.assertNotIn("trouble", config.json())
            undone = daemon.ask("/api/v1/config/undo", "POST", headers={**owner, "If-Match": config.headers["etag"]})
            self.assertEqual((undone.status, undone.json()["keys"]["decide.min_score"]["value"]), (200, 0.3), undone.body)


if __name__ == "__main__":
    main()
