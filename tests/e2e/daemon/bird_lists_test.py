# SPDX-License-Identifier: Apache-2.0
"""Lists of birds over HTTP: what an owner pastes for the region decides at once what is named and outlives a restart; names
of one's own are on every answer; each stays below what the owner's files say."""
import stat

from support import Daemon, ScratchFolder, main

LABELS = """Passer domesticus (House Sparrow)
Cyanistes caeruleus (Eurasian Blue Tit)
Turdus merula (Eurasian Blackbird)
Ardea cinerea (Grey Heron)
Picoides pubescens (Downy Woodpecker)
Junco hyemalis (Dark-eyed Junco)
Apus apus (Common Swift)
Erithacus rubecula (European Robin)
background
"""
TEXT = {"Content-Type": "text/plain"}


class BirdLists(ScratchFolder):
    """The drawn birds of the demonstration under names of real ones."""

    def setUp(self):
        super().setUp()
        self.state = self.folder / "state"
        self.labels = self.folder / "labels.txt"
        self.labels.write_text(LABELS)
        self.file = self.folder / "kinglet.toml"
        self.write("")
        self.start()
        self.owner = self.daemon.claim()

    def write(self, text):
        self.file.write_text(f'source = "demo:1"\nstore.path = "{self.state}"\n[gate]\nmotion = false\n'
                             f'[visits]\nend_after = "1s"\n[model]\nlabels = "{self.labels}"\n{text}')

    def start(self, **more):
        self.daemon = Daemon("--config", str(self.file), **more)
        self.addCleanup(lambda daemon=self.daemon: daemon.process.poll() is None and daemon.stop())

    def get(self, path):
        return self.daemon.ask("/api/v1/" + path, headers=self.owner)

    def put(self, path, text, headers=None):
        body = text if isinstance(text, bytes) else text.encode()
        return self.daemon.ask("/api/v1/" + path, "PUT", body, {**self.owner, **TEXT, **(headers or {})})

    def next_seq(self):
        """A number past what was under way when it was asked for."""
        return (self.daemon.prediction() or {"seq": 0})["seq"] + 3

    def named_since(self, seq):
        """Outcomes by the bird that came first, of predictions since then."""
        items = self.get("predictions?limit=500").json()["items"]
        return {(one["outcome"], one["top"][0]["species_id"]) for one in items if one["seq"] > seq and one["top"]}

    def test_a_list_decides_at_once_is_matched_and_outlives_a_restart(self):
        reply = self.put("region", "1. House Sparow\n2. Passer domesticus\n3. Dryobates pubescens\nBLUE TIT\n")
        self.assertEqual(reply.status, 200, reply.body)
        match = reply.json()
        self.assertEqual((match["found_count"], match["missing_count"], match["form"]), (1, 3, "lines"))
        self.assertEqual(match["items"], [{"species_id": "passer-domesticus", "scientific_name": "Passer domesticus",
                                           "common_name": "House Sparrow", "name": "Passer domesticus"}])
        near = {one["name"]: [bird["species_id"] for bird in one["near"]] for one in match["missing"]}
        self.assertEqual(near["House Sparow"][0], "passer-domesticus")
        self.assertEqual(near["Dryobates pubescens"], ["picoides-pubescens"])
        self.assertEqual(near["BLUE TIT"], ["cyanistes-caeruleus"])
        self.assertEqual(self.get("region").body.decode(), "House Sparow\nPasser domesticus\nDryobates pubescens\nBLUE TIT\n")
        self.assertEqual(stat.S_IMODE((self.state / "region.txt").stat().st_mode), 0o600)
        seq = self.next_seq()
        others = ("not_allowed", "cyanistes-caeruleus"), ("not_allowed", "turdus-merula"), ("not_allowed", "ardea-cinerea")
        self.daemon.until(lambda: self.named_since(seq) & {*others, ("accepted", "passer-domesticus")}, "an answer by the list")
        named = {bird for outcome, bird in self.named_since(seq) if outcome == "accepted"}
        self.assertLessEqual(named, {"passer-domesticus", "passer"})
        self.daemon.stop()
        self.start()
        match = self.get("region/match").json()
        self.assertEqual((match["source"], match["found_count"], match["missing_count"]), ("kept", 1, 3))
        seq = self.next_seq()
        self.assertEqual(self.put("region", "").json()["source"], "none")
        self.assertFalse((self.state / "region.txt").exists())
        self.assertEqual(self.get("region").body, b"# no list: every bird counts\n")
        self.daemon.until(lambda: [bird for outcome, bird in self.named_since(seq)
                                   if outcome == "accepted" and bird != "passer-domesticus"], "the others again")

    def test_lists_as_ebird_gives_them_are_taken(self):
        life = ('Row #,Taxon Order,Category,Common Name,Scientific Name,Count\r\n'
                '1,31547,species,"House Sparrow","Passer domesticus",X\r\n2,1,spuh,gull sp.,Larinae sp.,2\r\n')
        match = self.put("region", life, {"Content-Type": "text/csv"}).json()
        self.assertEqual((match["form"], match["found_count"], match["left_out"]), ("table", 1, 1))
        rows = {"Common Swift (<em class=\"sci\">Apus apus</em>)": [0.2 if 16 <= i < 32 else 0 for i in range(48)],
                "European Robin (<em class=\"sci\">Erithacus rubecula</em>)": [0.3] * 48,
                "Wallcreeper (<em class=\"sci\">Tichodroma muraria</em>)": [0.0001] * 48}
        chart = "Number of taxa: \t3\n\n\tJan\n" + "\n".join(
            "\t".join([name, *map(str, shares)]) for name, shares in {"Sample Size:": [50.0] * 48, **rows}.items())
        match = self.put("region", chart).json()
        self.assertEqual((match["form"], match["found_count"], match["missing_count"], match["left_out"]), ("bar_chart", 2, 0, 1))
        self.assertEqual(self.get("region").body.decode(),
                         "Apus apus (Common Swift): 5-8\nErithacus rubecula (European Robin)\n")

    def test_what_would_leave_nothing_to_name_or_is_no_list_is_refused_and_nothing_changes(self):
        self.put("region", "Apus apus\n")
        for text, words in (("Phoenix\nDodo\n", "knows none of its 2 names"), ("gull sp.\n", "no bird on this list"),
                            ("Apus apus: 4-13\n", "body:1: months are"), (b"PK\x03\x04\0", "not UTF-8"),
                            ("a" * 200 + ": 4\n", "knows none")):
            self.assertIn(words, self.assert_problem(self.put("region", text), 422, "bad-list")["detail"])
        self.assert_problem(self.put("region", "Apus apus", {"Content-Type": "application/json"}), 415, "unsupported-media-type")
        self.assert_problem(self.put("region", "x" * ((1 << 20) + 1)), 413, "body-too-large")
        for path in ("region", "names"):
            self.assert_problem(self.daemon.ask("/api/v1/" + path, headers={}), 401, "token-required")
            self.assert_problem(self.daemon.ask("/api/v1/" + path, "PUT", b"Apus apus", TEXT), 401, "token-required")
        self.assertEqual(self.get("region").body, b"Apus apus\n")

    def test_what_the_owners_file_names_counts_more(self):
        self.put("region", "Apus apus\n")
        mine = self.folder / "mine.txt"
        mine.write_text("Turdus merula\n")
        self.write(f'names = "{self.folder / "names.tsv"}"\n[decide]\nregion = "{mine}"\n')
        (self.folder / "names.tsv").write_text("species_id\tcommon_name\nturdus-merula\tSchwarzdrossel\n")
        self.daemon.stop()
        self.start()
        for path, key in (("region", "decide.region"), ("names", "model.names")):
            problem = self.assert_problem(self.put(path, "Apus apus\tSegler\n"), 409, "set-in-file")
            self.assertIn(f"{key} is set by {self.file}:", problem["detail"])
        self.assertEqual(self.get("region").body, b"Turdus merula\n")
        self.assertIn(str(self.file), self.get("region/match").json()["source"])
        self.assertEqual((self.state / "region.txt").read_text(), "Apus apus\n", "it waits for the day the file names none")

    def test_a_kept_list_that_is_damaged_is_no_reason_not_to_start(self):
        self.put("region", "Apus apus\n")
        self.put("names", "Apus apus\tSegler\n")
        self.daemon.stop()
        (self.state / "region.txt").write_bytes(b"\xff\xfe\n")
        (self.state / "names.tsv").write_bytes(b"\xff\xfe\n")
        self.start()
        self.daemon.until(lambda: self.daemon.ask("/readyz").status == 200, "ready")

    def name_of(self, species, language="en"):
        items = self.get(f"model/labels?language={language}").json()["items"]
        return next(one["name"] for one in items if one["species_id"] == species)

    def test_names_come_in_the_languages_of_the_page(self):
        self.assertEqual(self.name_of("passer-domesticus"), "House Sparrow")
        self.assertEqual(self.name_of("passer-domesticus", "de"), "Haussperling")
        self.assertEqual(self.name_of("cyanistes-caeruleus", "fr"), "M\u00e9sange bleue")
        self.assertEqual(self.name_of("passer-domesticus", "ja"), "\u30a4\u30a8\u30b9\u30ba\u30e1")
        self.assertEqual(self.name_of("apus-apus", "de"), "Common Swift", "where a name is missing the English one stays")
        self.assert_problem(self.get("model/labels?language=klingon"), 400, "bad-parameter")
        self.assertEqual(self.put("region", "Haussperling\nMESANGE BLEUE\n\u30a2\u30aa\u30b5\u30ae\n").json()["found_count"], 3,
                         "a list may be in any of them")

    def test_names_of_ones_own_count_in_every_language_at_once_and_can_be_taken_back(self):
        reply = self.put("names", "bird,name\nHouse Sparrow,Spatz\nTurdus merula,\"Amsel, die alte\"\nPhoenix,Vogel\n")
        self.assertEqual(reply.status, 200, reply.body)
        self.assertEqual((reply.json()["found_count"], reply.json()["missing"]), (2, [{"name": "Phoenix"}]))
        for language in ("en", "de", "zh"):
            self.daemon.until(lambda: self.name_of("passer-domesticus", language) == "Spatz", "the owner's name")
        self.assertEqual(self.name_of("turdus-merula", "de"), "Amsel, die alte")
        self.assertEqual(self.put("region", "Spatz\nHaussperling\nHouse Sparrow\n").json()["missing_count"], 0)
        self.assertEqual(self.put("names", "Kolibri\tApus apus\n").json()["found_count"], 1, "either way round")
        self.daemon.until(lambda: self.name_of("apus-apus", "de") == "Kolibri", "the owner's name")
        self.daemon.stop()
        self.start()
        self.assertEqual(self.name_of("apus-apus", "fr"), "Kolibri")
        self.assertEqual(self.put("names", "").json()["source"], "none")
        self.daemon.until(lambda: self.name_of("apus-apus", "fr") == "Common Swift", "the label's name")
        problem = self.assert_problem(self.put("names", "Apus apus\n"), 422, "bad-list")
        self.assertIn("row 1: 1 cells, expected two", problem["detail"])

    def test_a_bird_that_the_model_lacks_is_called_as_its_owner_calls_it_once_a_person_names_it(self):
        self.assertEqual(self.put("names", "Poecile montanus, Mattkopf\n").json()["found_count"], 1)
        others = lambda: {one["species_id"]: one["name"] for one in self.get("model/labels?language=de").json()["others"]}
        self.daemon.until(lambda: others().get("poecile-montanus") == "Mattkopf", "the owner's name")
        self.assertEqual(others()["turdus-pilaris"], "Wacholderdrossel")
        visit = self.daemon.until(lambda: next((one for one in self.get("visits").json()["items"] if one["state"] == "ended"), None),
                                  "a visit")
        reply = self.daemon.ask(visit["links"]["self"], "PATCH", b'{"review": {"verdict": "corrected", "name": "Mattkopf"}}',
                                {**self.owner, "If-Match": "*", "Content-Type": "application/merge-patch+json"})
        self.assertEqual(reply.status, 200, reply.body)
        self.assertEqual(reply.json()["species_id"], "poecile-montanus")
        names = lambda: {one["species_id"]: one.get("common_name") for one in self.get("species").json()["items"]}
        self.daemon.until(lambda: names().get("poecile-montanus") == "Mattkopf", "the owner's name")


if __name__ == "__main__":
    main()
