# SPDX-License-Identifier: Apache-2.0
"""A configuration that changes while the daemon runs: kill -HUP, or systemctl reload."""
import re
import signal
import tempfile
import unittest
from pathlib import Path

from support import Daemon, main


class Reload(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon(sets=["gate.motion=false"])
        self.addCleanup(self.daemon.stop)
        self.write('source = "demo:3"')

    def write(self, text):
        Path(self.daemon.no_settings.name).write_text(text, encoding="utf-8")

    def reload(self, text, answer="configuration read again"):
        """What the log says of it."""
        seen = len(self.daemon.lines)
        self.write(text)
        self.daemon.process.send_signal(signal.SIGHUP)
        self.daemon.says(answer, since=seen)
        return "".join(self.daemon.lines[seen:])

    def metric(self, name):
        text = self.daemon.ask("/metrics").body.decode()
        return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)[1])

    def outcome(self):
        return self.daemon.ask("/api/v1/predictions/latest").json()["outcome"]

    def test_other_thresholds_decide_about_the_next_frame(self):
        self.reload('source = "demo:3"')
        self.daemon.first_prediction()
        self.daemon.says("camera: streaming", "seed 3")
        seen = len(self.daemon.lines)
        log = self.reload('source = "demo:3"\ndecide.min_score = 1.0\ndecide.min_margin = 1.0')
        self.assertIn("configuration: decide.min_score = 1\n", log)
        self.daemon.until(lambda: self.outcome() in ("below_threshold", "background"), "an abstention")
        before = self.daemon.prediction()["seq"]
        self.daemon.until(lambda: self.daemon.prediction()["seq"] > before + 3, "more of them")
        self.daemon.stop()
        self.assertNotIn("camera: streaming", "".join(self.daemon.lines[seen:]))

    def test_another_source_is_opened_in_place_of_the_one_before(self):
        self.reload('source = "demo:3"')
        self.daemon.first_prediction()
        log = self.reload('source = "demo:4"\nprivacy.masks = [[0, 0, 0.5, 1]]')
        self.assertIn('configuration: source.spec = "demo:4"', log)
        self.daemon.says("camera: streaming", "seed 4")

    def test_a_source_that_cannot_be_opened_is_told_and_the_next_reload_mends_it(self):
        self.reload('source = "images:/nowhere"')
        self.daemon.until(lambda: self.daemon.ask("/readyz").status == 503, "no camera")
        self.reload('source = "demo:3"')
        self.daemon.until(lambda: self.daemon.ask("/readyz").status == 200, "a camera")

    def test_what_only_a_start_can_change_is_said_to_wait(self):
        log = self.reload('source = "demo:3"\nhttp.rate = 30')
        self.assertIn("http.rate = 30 waits for the next start", log)
        key = self.daemon.ask("/api/v1/config", headers=self.daemon.claim()).json()["keys"]["http.rate"]
        self.assertEqual((key["value"], key["waiting"]), (20, 30))

    def test_an_edited_list_of_birds_is_taken_up(self):
        with tempfile.TemporaryDirectory() as folder:
            region = Path(folder) / "region.txt"
            region.write_text("Parus major\n")
            text = f'source = "demo:3"\ndecide.region = "{region}"\ndecide.unlisted = "refuse"'
            self.reload(text)
            self.daemon.first_prediction()
            named = [one["common_name"] for one in self.daemon.ask("/api/v1/model/labels").json()["items"]]
            region.write_text("Aptenodytes forsteri\n")
            self.reload(text)
            self.daemon.until(lambda: self.outcome() == "not_allowed", "nobody of the list")
            region.write_text("".join(name + "\n" for name in named))
            self.reload(text)
            self.daemon.until(lambda: self.outcome() == "accepted", "everybody on the list")

    def test_an_edited_table_of_names_is_taken_up(self):
        with tempfile.TemporaryDirectory() as folder:
            names = Path(folder) / "names.tsv"
            names.write_text("species_id\tcommon_name\n")
            with Daemon(sets=["gate.motion=false", "source=demo:3", f"model.names={names}"]) as daemon:
                daemon.first_prediction()
                labels = daemon.ask("/api/v1/model/labels")
                label = labels.json()["items"][0]
                names.write_text(f"species_id\tcommon_name\n{label['species_id']}\tPiepmatz\n")
                daemon.process.send_signal(signal.SIGHUP)
                daemon.until(lambda: "Piepmatz" in daemon.ask("/api/v1/model/labels").body.decode(), "the other name")
                before = {"If-None-Match": labels.headers["etag"]}
                self.assertEqual(daemon.ask("/api/v1/model/labels", headers=before).status, 200)
                names.write_text("what is this\n")
                daemon.process.send_signal(signal.SIGHUP)
                daemon.says("the one before goes on")
                self.assertIn("Piepmatz", daemon.ask("/api/v1/model/labels").body.decode())

    def test_a_wrong_file_changes_nothing_and_is_seen_in_the_metrics(self):
        self.reload('source = "demo:3"')
        self.daemon.first_prediction()
        log = self.reload('source = "demo:4"\ndecide.min_scor = 0.1', answer="the one before goes on")
        self.assertIn("min_scor", log)
        self.assertEqual(self.metric("kinglet_config_reload_failed"), 1)
        log = self.reload('source = "demo:4"\ndecide.region = "/nowhere"', answer="the one before goes on")
        self.assertIn("/nowhere", log)
        self.assertNotIn("demo:4", log)
        self.assertEqual(self.daemon.ask("/readyz").status, 200)
        self.reload('source = "demo:3"')
        self.assertEqual(self.metric("kinglet_config_reload_failed"), 0)


if __name__ == "__main__":
    main()
