# SPDX-License-Identifier: Apache-2.0
"""A box in one file and back: over HTTP without secrets, with the tool whole; a stranger's file changes nothing."""
import os
import shutil
import socket
import sqlite3
import tarfile
import unittest

from support import main
from backup_case import DATABASE, Boxes, tree
import backup_file


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


if __name__ == "__main__":
    main()
