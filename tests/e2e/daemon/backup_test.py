# SPDX-License-Identifier: Apache-2.0
"""A box in one file and back: over HTTP without secrets, with the tool whole; a stranger's file changes nothing, and wherever
a restore is killed the state is the old one or the new one."""
import json
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import tarfile
import time
import unittest
from pathlib import Path

from support import SOURCE_DIR, Daemon, ScratchFolder, main
import backup_file

KINGLET = os.environ["KINGLET"]
DEMO = SOURCE_DIR / "models" / "demo"
QUICK = ["source=demo:1", "visits.end_after=1s", "store.flush_interval=100ms", "gate.max_fps=100"]
DATABASE = "state/kinglet.db"
KILLS = int(os.environ.get("KILLS", "12"))


def tree(folder):
    """Every file below the folder with its bytes."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


class Boxes(ScratchFolder):
    def box(self, name):
        state, etc = self.folder / name / "state", self.folder / name / "etc"
        state.mkdir(parents=True)
        etc.mkdir()
        return state, etc

    def daemon(self, box, *sets):
        state, etc = box
        flags = ["--config", str(etc / "kinglet.toml")] if (etc / "kinglet.toml").exists() else []
        return Daemon(*flags, sets=[*QUICK, f"store.path={state}", *sets])

    def kinglet(self, *arguments, code=0, **options):
        ended = subprocess.run([KINGLET, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120, **options)
        self.assertEqual(ended.returncode, code, ended.stderr)
        return ended

    def back_up(self, box, file, *more, **options):
        state, etc = box
        return self.kinglet("backup", "-o", file, "--etc", etc, "--set", f"store.path={state}", *more, **options)

    def restore(self, box, *arguments, **options):
        state, etc = box
        return self.kinglet("restore", *arguments, "--etc", etc, "--set", f"store.path={state}", **options)

    def visits(self, daemon):
        return {one["id"]: one for one in daemon.ask("/api/v1/visits?limit=500").json()["items"] if one["state"] == "ended"}

    def complete(self, daemon):
        """Those of them whose pictures stay as they are."""
        return {name: one for name, one in self.visits(daemon).items() if "snapshot" in one["links"]}

    def owned_backup(self, daemon):
        """Who may bring it back, and one of what there is: a visit at least."""
        owner = daemon.claim()
        self.ended_visits(daemon)
        return owner, daemon.ask("/api/v1/backup", headers=owner).body

    def ended_visits(self, daemon, count=1):
        def safe():
            found = self.complete(daemon)
            waiting = daemon.ask("/api/v1/stats").json()["store"]["waiting_visits"]
            return found if len(found) >= count and waiting == 0 else None
        return daemon.until(safe, f"{count} visits with their pictures")

    def lived_in(self, name="old"):
        """A box with visits, an owner, a model that was activated and a setting; and what its daemon answers."""
        box = self.box(name)
        state, etc = box
        (etc / "kinglet.toml").write_text('[node]\nname = "oldbox"\n')
        (etc / "mqtt-password").write_text("not for HTTP\n")
        (state / "models").mkdir()
        for ending in (".onnx", ".labels.txt", ".recipe.json"):
            shutil.copy(DEMO / ("kinglet-demo" + ending), state / "models" / ("mine" + ending))
        return box

    def live(self, daemon):
        owner = daemon.claim()
        tag = daemon.ask("/api/v1/config", headers=owner).headers["etag"]
        changed = daemon.ask("/api/v1/config", "PATCH", '{"decide.min_score": 0.55}',
                             {**owner, "Content-Type": "application/merge-patch+json", "If-Match": tag})
        self.assertEqual(changed.status, 200, changed.body)
        self.assertEqual(daemon.ask("/api/v1/models/mine/activate", "POST", headers=owner).status, 202)
        daemon.until(lambda: daemon.ask("/api/v1/model").json()["name"] == "mine", "the model")
        return owner, self.ended_visits(daemon)


class Moving(Boxes):
    def test_a_box_moves_to_a_new_card_with_all_that_it_has(self):
        old, new = self.lived_in(), self.box("new")
        with self.daemon(old) as daemon:
            owner, before = self.live(daemon)
            crop = {one: daemon.ask(visit["links"]["crop"]).body for one, visit in before.items()}
            told = self.back_up(old, self.folder / "feeder.tar").stderr  # while it runs
        self.assertIn("1 models", told)
        self.assertEqual((self.folder / "feeder.tar").stat().st_mode & 0o777, 0o600)
        self.restore(new, self.folder / "feeder.tar")
        self.assertEqual(tree(new[1]), tree(old[1]))
        with self.daemon(new) as daemon:
            after = self.visits(daemon)
            self.assertLessEqual(set(before), set(after))
            for one, visit in before.items():
                self.assertEqual(after[one]["model_result"], visit["model_result"])
                self.assertEqual(daemon.ask(visit["links"]["crop"]).body, crop[one])
            config = daemon.ask("/api/v1/config", headers=owner)
            self.assertEqual(config.status, 200, config.body)  # the old owner's token
            self.assertEqual(config.json()["keys"]["decide.min_score"]["value"], 0.55)
            self.assertEqual(config.json()["keys"]["node.name"]["value"], "oldbox")
            self.assertEqual(daemon.ask("/api/v1/model").json()["name"], "mine")
            self.assertEqual(self.kinglet("store", "check", "--set", f"store.path={new[0]}").stdout, "sound\n")

    def test_what_was_before_comes_back(self):
        old, new = self.lived_in(), self.box("new")
        with self.daemon(old) as daemon:
            self.live(daemon)
            self.back_up(old, self.folder / "feeder.tar")
        with self.daemon(new) as daemon:
            own = set(self.ended_visits(daemon))
        state = tree(new[0])
        self.restore(new, self.folder / "feeder.tar")
        self.assertNotEqual(tree(new[0])["kinglet.db"], state["kinglet.db"])
        self.restore(new, "--undo")
        again = {name: content for name, content in tree(new[0]).items() if not name.startswith("before-restore/")}
        self.assertEqual(again, state)
        with self.daemon(new) as daemon:
            self.assertLessEqual(own, set(self.visits(daemon)))

    @unittest.skipIf(os.geteuid() != 0, "only root can give files away")
    def test_what_root_restores_belongs_to_the_service_and_leads_nowhere_else(self):
        service = 65534
        old, new = self.lived_in(), self.box("new")
        with self.daemon(old) as daemon:
            self.live(daemon)
            self.back_up(old, self.folder / "feeder.tar")
        (old[1] / "mqtt-password").chmod(0o640)
        self.back_up(old, self.folder / "feeder.tar", "--force")
        self.folder.chmod(0o755)
        os.chown(new[0], service, service)
        self.restore(new, self.folder / "feeder.tar")
        owners = {path.lstat().st_uid for path in new[0].rglob("*")}
        self.assertEqual(owners, {service})
        self.assertEqual({path.stat().st_uid for path in [new[1], *new[1].rglob("*")]}, {0})
        self.assertEqual((new[1] / "mqtt-password").stat().st_mode & 0o777, 0o640)
        # A service that was taken over leaves a way out of its folder.
        outside = self.folder / "outside"
        outside.mkdir()
        shutil.rmtree(new[0] / "restore", ignore_errors=True)
        (new[0] / "restore").symlink_to(outside)
        self.restore(new, self.folder / "feeder.tar", code=74)
        self.assertEqual(list(outside.iterdir()), [])

    def test_a_running_daemon_is_not_restored_into(self):
        box = self.box("one")
        with self.daemon(box) as daemon:
            self.ended_visits(daemon)
            self.back_up(box, self.folder / "a.tar")
            refused = self.restore(box, self.folder / "a.tar", code=75)
            self.assertIn("kingletd runs", refused.stderr)
            self.assertIn("systemctl stop kingletd", refused.stderr)

    def test_a_file_that_is_there_is_not_replaced_unasked(self):
        box = self.box("one")
        (self.folder / "a.tar").write_text("mine")
        self.assertIn("--force", self.back_up(box, self.folder / "a.tar", code=73).stderr)
        self.assertEqual((self.folder / "a.tar").read_text(), "mine")


class OverHttp(Boxes):
    def post(self, daemon, owner, archive):
        return daemon.ask("/api/v1/restore", "POST", archive, {**owner, "Content-Type": "application/x-tar"})

    def test_the_page_s_backup_has_no_secrets_and_comes_back_on_another_box(self):
        old, new = self.lived_in(), self.box("new")
        with self.daemon(old) as daemon:
            owner, before = self.live(daemon)
            service = daemon.ask("/api/v1/notify/phone", "PUT", '{"service": "ntfy", "to": "birds-7f3a91c4", "secret": "tk_1"}',
                                 {**owner, "Content-Type": "application/json"})
            self.assertEqual(service.status, 200, service.body)
            self.assertIn("Services of messages, tokens, secrets", daemon.ask("/").body.decode(), "the page says what is not in it")
            reply = daemon.ask("/api/v1/backup", headers=owner)
            self.assertEqual((reply.status, reply.headers["content-type"]), (200, "application/x-tar"))
            self.assertEqual(daemon.ask("/api/v1/backup").status, 401)
        names = set(backup_file.contents(reply.body))
        self.assertLessEqual({"manifest.json", "state/kinglet.db", "state/settings.toml", "state/model.json", "models/mine.onnx"},
                             names)
        self.assertFalse([name for name in names if "token" in name or "notify" in name or name.startswith("etc/") or "proofs" in name], names)
        self.assertTrue([name for name in names if name.endswith(".crop.jpg")])
        with self.daemon(new) as daemon:
            own = daemon.claim()
            taken = self.post(daemon, own, reply.body)
            self.assertEqual(taken.status, 202, taken.body)
            self.assertTrue(taken.json()["waits_for_restart"])
            self.assertGreaterEqual(taken.json()["visits"], len(before))
            self.assertFalse(set(before) & set(self.visits(daemon)))  # not yet
        with self.daemon(new) as daemon:
            self.assertLessEqual(set(before), set(self.visits(daemon)))
            daemon.says("a backup that was restored")
            config = daemon.ask("/api/v1/config", headers=own)  # the tokens are those of this box
            self.assertEqual(config.json()["keys"]["decide.min_score"]["value"], 0.55)
            self.assertEqual(daemon.ask("/api/v1/model").json()["name"], "mine")

    def test_a_whole_backup_gives_the_page_only_what_it_may_have(self):
        old, new = self.lived_in(), self.box("new")
        with self.daemon(old) as daemon:
            owner, before = self.live(daemon)
            self.back_up(old, self.folder / "all.tar")
        with self.daemon(new) as daemon:
            own = daemon.claim()
            self.assertEqual(self.post(daemon, own, (self.folder / "all.tar").read_bytes()).status, 202)
        with self.daemon(new) as daemon:
            self.assertLessEqual(set(before), set(self.visits(daemon)))
            self.assertEqual(daemon.ask("/api/v1/config", headers=own).status, 200)
            self.assertEqual(daemon.ask("/api/v1/config", headers=owner).status, 401)  # not the old owner's
        self.assertEqual(tree(new[1]), {})

    def test_a_stranger_s_file_changes_nothing(self):
        box = self.box("one")
        with self.daemon(box) as daemon:
            owner, good = self.owned_backup(daemon)
            database = backup_file.contents(good)[DATABASE]

            def with_database(statement):
                path = self.folder / "changed.db"
                path.write_bytes(database)
                with sqlite3.connect(path) as changed:
                    changed.executescript(statement)
                changed.close()
                return backup_file.changed(good, lambda files, _: files.update({DATABASE: path.read_bytes()}))

            flipped = bytearray(good)
            flipped[good.index(b"SQLite format 3") + 5000] ^= 1
            torn = bytearray(database)
            torn[4096:8192] = b"noise..." * 512
            hostile = {
                "no archive": (b"GIF89a" * 1000, "cannot be read"),
                "ends early": (good[:len(good) // 2], "ends early"),
                "without its end": (good[:good.rindex(b"end.json")], "ends early"),
                "a bit is another": (bytes(flipped), "not those that were written"),
                "out of the folder": (backup_file.sealed([("state/../../evil", b"x")]), "no name of a file"),
                "an absolute path": (backup_file.sealed([("/etc/evil", b"x")]), "no name of a file"),
                "another folder": (backup_file.sealed([("elsewhere/evil", b"x")]), "no name of a file"),
                "a link": (backup_file.sealed([backup_file.entry("state/x", b"", tarfile.SYMTYPE, "/etc/passwd")]), "no plain file"),
                "a device": (backup_file.sealed([backup_file.entry("state/x", b"", tarfile.CHRTYPE)]), "no plain file"),
                "twice": (backup_file.sealed([("state/settings.toml", b""), ("state/settings.toml", b"")]), "twice"),
                "a newer form": (backup_file.sealed([], {**backup_file.MANIFEST, "format": 2}), "form 2"),
                "a newer history": (with_database("PRAGMA user_version = 999"), "version 999"),
                "a trigger": (with_database("CREATE TRIGGER t AFTER INSERT ON visits BEGIN DELETE FROM visits; END"), "trigger"),
                "an id that is a path": (with_database(
                    "UPDATE visits SET id = '../../../../../../etc/passwd.x' WHERE seq = (SELECT min(seq) FROM visits)"), "no id"),
                "a torn history": (backup_file.changed(good, lambda files, _: files.update({DATABASE: bytes(torn)})), "database"),
                "no database": (backup_file.changed(good, lambda files, _: files.update({DATABASE: b"nothing"})), "database"),
                "settings that are no TOML": (backup_file.sealed([("state/settings.toml", b"decide.min_score = [\n")]), "not TOML"),
                "settings of nobody": (backup_file.sealed(
                    [("state/settings.toml", b"".join(b"decide.nonsense%d = 1\n" % i for i in range(101)))]), "none of kinglet"),
            }
            for name, (archive, words) in hostile.items():
                with self.subTest(name):
                    reply = self.post(daemon, owner, archive)
                    problem = self.assert_problem(reply, 422, "bad-backup")
                    self.assertIn(words, problem["detail"])
                    self.assertFalse((box[0] / "restore" / "ready").exists())
                    self.assertEqual(list((box[0] / "restore").iterdir()), [])
            self.assertEqual(self.post(daemon, owner, good).status, 202)
            before = set(self.visits(daemon))
        with self.daemon(box) as daemon:
            self.assertTrue(before & set(self.visits(daemon)))

    def test_an_upload_may_be_large_and_without_a_length_and_there_is_one_at_a_time(self):
        box = self.box("one")
        with self.daemon(box) as daemon:
            owner, good = self.owned_backup(daemon)
            large = backup_file.changed(good, lambda files, _: files.update({"models/large.onnx": b"x" * (20 << 20)}))
            self.assertGreater(len(large), 2 * (8 << 20))  # twice http.max_body
            head = (f"POST /api/v1/restore HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(large)}\r\n"
                    f"Authorization: {owner['Authorization']}\r\n\r\n").encode()
            incoming = box[0] / "restore" / "incoming"
            with socket.create_connection(daemon.url) as first:
                first.sendall(head + large[:1 << 20])
                daemon.until(incoming.exists, "the first one")
                self.assert_problem(self.post(daemon, owner, good), 503, "busy")
            daemon.until(lambda: not incoming.exists(), "the end of one that was broken off")
            pieces = (large[at:at + 100_000] for at in range(0, len(large), 100_000))
            taken = self.post(daemon, owner, pieces)
            self.assertEqual((taken.status, taken.json()["models"]), (202, 1), taken.body)
        with self.daemon(box) as daemon:  # a stranger's file, proven like any other
            def known():
                found = [one for one in daemon.ask("/api/v1/models").json()["items"] if one["name"] == "large"]
                return found[0] if found and found[0]["state"] != "checking" else None
            self.assertEqual(daemon.until(known, "its proof")["state"], "invalid")

    def test_a_picture_that_was_removed_meanwhile_counts_as_removed(self):
        old, new = self.box("old"), self.box("new")
        with self.daemon(old) as daemon:
            owner = daemon.claim()
            self.ended_visits(daemon)
            archive = daemon.ask("/api/v1/backup", headers=owner).body
        gone = next(name for name in backup_file.contents(archive) if name.endswith(".crop.jpg"))
        archive = backup_file.changed(archive, lambda files, _: files.pop(gone))
        with self.daemon(new) as daemon:
            self.assertEqual(self.post(daemon, daemon.claim(), archive).status, 202)
        with self.daemon(new) as daemon:
            visit = gone.split("/")[-1].split(".")[0]
            self.assertEqual(daemon.ask(f"/api/v1/visits/{visit}/crop.jpg").status, 410)
            self.assertEqual(daemon.stop()[0], 0)
        self.assertEqual(self.kinglet("store", "check", "--set", f"store.path={new[0]}").stdout, "sound\n")


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


class Kills(Boxes):
    def test_wherever_it_is_killed_the_state_is_the_old_one_or_the_new_one(self):
        old, new = self.box("old"), self.box("new")
        for box in (old, new):
            with self.daemon(box) as daemon:
                self.ended_visits(daemon)
        self.back_up(old, self.folder / "feeder.tar")
        untouched = self.folder / "untouched"
        shutil.copytree(new[0], untouched)
        taken = time.monotonic()
        self.restore(new, self.folder / "feeder.tar")
        taken = time.monotonic() - taken

        def ids(state):
            with sqlite3.connect(state / "kinglet.db") as database:
                found = {row[0] for row in database.execute("SELECT id FROM visits")}
            database.close()
            return found

        def pictures(state):
            return {path.name for path in (state / "pictures").rglob("*.jpg")}

        states = [(ids(one), pictures(one)) for one in (untouched, new[0])]
        self.assertFalse(states[0][0] & states[1][0])
        seen = set()
        for turn in range(KILLS):
            shutil.rmtree(new[0])
            shutil.copytree(untouched, new[0])
            process = subprocess.Popen([KINGLET, "restore", str(self.folder / "feeder.tar"), "--etc", str(new[1]), "--set",
                                        f"store.path={new[0]}"], stderr=subprocess.DEVNULL)
            time.sleep(random.uniform(0, taken * 1.2) if turn % 2 else taken * random.uniform(0.6, 1.1))
            process.send_signal(signal.SIGKILL)
            process.wait()
            with Daemon(sets=["source=images:/nonexistent", f"store.path={new[0]}"]):
                pass  # a start goes on where it was
            found = (ids(new[0]), pictures(new[0]))
            self.assertIn(found, states)
            self.assertFalse((new[0] / "restore" / "ready").exists())
            seen.add(states.index(found))
        self.assertTrue(seen)

    def test_a_change_that_was_cut_is_gone_on_with_from_each_of_its_steps(self):
        old, new = self.box("old"), self.box("new")
        for box in (old, new):
            with self.daemon(box) as daemon:
                owner = daemon.claim()
                self.ended_visits(daemon)
                if box is old:
                    archive = daemon.ask("/api/v1/backup", headers=owner).body
                elif box is new:
                    self.assertEqual(daemon.ask("/api/v1/restore", "POST", archive, owner).status, 202)
        waiting = self.folder / "waiting"
        shutil.copytree(new[0], waiting)
        items = [one["name"] for one in json.loads((waiting / "restore/ready/plan.json").read_text())["items"]]
        wanted = None
        for steps in range(2 * len(items) + 1):  # of each item: the old one goes, the new one comes
            shutil.rmtree(new[0])
            shutil.copytree(waiting, new[0])
            ready, before = new[0] / "restore/ready", new[0] / "before-restore"
            for number in range(steps):
                name = items[number // 2]
                place = new[0] / name.removeprefix("state/") if name.startswith("state/") else new[0] / name
                for folder in ("state", "models"):
                    (before / folder).mkdir(parents=True, exist_ok=True)
                if number % 2 == 0 and place.exists():
                    place.rename(before / name)
                elif number % 2 == 1 and (ready / name).exists():
                    (ready / name).rename(place)
            with Daemon(sets=["source=images:/nonexistent", f"store.path={new[0]}"]) as daemon:
                found = set(self.visits(daemon))
            wanted = wanted or found
            self.assertTrue(found)
            self.assertEqual(found, wanted)
            self.assertFalse((new[0] / "restore").exists())


if __name__ == "__main__":
    main()
