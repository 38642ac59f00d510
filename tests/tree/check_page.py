#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the texts of the page (daemon/web/texts.js) to be whole: every language has every text with the same values,
every text that the page asks for exists, none is left over, and whatever the API can say has its words.
Usage: check_page.py ROOT"""
import ast
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

LONGEST = 300  # lines of one file, the tables of texts aside
TABLES = {"texts.js", "key_texts.js"}
# Texts whose key ends in a word of the API, and where the API's document lists those words.
BY_WORD = {
    "outcome_": ("Prediction", "outcome"), "camera_": ("Camera", "state"), "verdict_": ("Review", "verdict"), "seen_": ("Track", "outcome"),
    "sees_": ("Track", "detector", "sees"),
    "reload_": ("Config", "keys", "*", "reload"), "skipped_": ("Stats", "frames", "skipped_total"),
    "scores_": ("Model", "output", "meaning"), "job_": ("Job", "step"), "model_": ("KnownModel", "state"),
}
NOT_SHOWN = {"verdict_none"}
# Words that the document does not list.
OTHER_WORDS = {
    "store_": ["disk", "waiting", "memory"],
    "throttling_": ["under_voltage", "frequency_capped", "throttled", "soft_temperature_limit"],
    "cure_camera_": ["starting", "stalled", "restarting", "absent", "failed"],
}


class Marked(HTMLParser):
    """The (key, English text) of every element whose text, label or alternative comes from the table."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.open = None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        for mark, shown in (("data-label", "aria-label"), ("data-alt", "alt")):
            if mark in attributes:
                self.found.append((attributes[mark], attributes.get(shown)))
        self.open = attributes.get("data-text")

    def handle_data(self, data):
        if self.open:
            self.found.append((self.open, data))
        self.open = None

    def handle_endtag(self, tag):
        if self.open:
            self.found.append((self.open, ""))  # filled in later: nothing to compare
        self.open = None


def words_of(schemas, path):
    schema = schemas[path[0]]
    for step in path[1:]:
        while "$ref" in schema:
            schema = schemas[schema["$ref"].split("/")[-1]]
        schema = schema["additionalProperties"] if step == "*" else schema["properties"][step]
    while "$ref" in schema:
        schema = schemas[schema["$ref"].split("/")[-1]]
    return schema.get("enum") or list(schema["properties"])


def sections_and_keys(root):
    """Of config/keys.def: the sections, and (name, unit, help, choices) of each key that may be set over HTTP."""
    code = re.sub(r"^//.*$", "", (root / "config/keys.def").read_text(encoding="utf-8"), flags=re.MULTILINE)
    sections = re.findall(r"^KINGLET_SECTION\(\w+, (\w+),", code, re.MULTILINE)
    keys = []
    for row in re.findall(r"^KINGLET_KEY\((.*?)\)\n(?=KINGLET_)", code, re.MULTILINE | re.DOTALL):
        found = re.fullmatch(r'\w+, (\w+), (\w+), .*"(.*)",\s*k\w+,\s*(k\w+),\s*("[^$]*")', row, re.DOTALL)
        if found[4] == "kSettable":
            choices = re.search(r'CHOICES\("([^"]*)"\)', row)
            keys.append((f"{found[1]}.{found[2]}", found[3], ast.literal_eval(f"({found[5]})"), choices[1].split() if choices else []))
    return sections, keys


def check_key_texts(root, languages):
    """daemon/web/settings/key_texts.js against config/keys.def."""
    code = (root / "daemon/web/settings/key_texts.js").read_text(encoding="utf-8")
    tables = {name: {key: json.loads(row) for key, row in re.findall(r'^  "([^"]+)": (\[.*\]),$', body, re.MULTILINE)}
              for name, body in re.findall(r"^export const (\w+) = \{\n(.*?)^\};$", code, re.MULTILINE | re.DOTALL)}
    sections, keys = sections_and_keys(root)
    wanted = {"sectionTitles": dict.fromkeys(sections), "units": {unit: unit for _, unit, _, _ in keys if unit},
              # Languages are called as they call themselves.
              "choices": {f"{name} {word}": None for name, _, _, words in keys for word in words if name != "node.language"},
              "meanings": {name: meaning for name, _, meaning, _ in keys}}
    faults = [] if tables.keys() == wanted.keys() and len(keys) > 50 else [f"key_texts.js: has {sorted(tables)}, and {len(keys)} keys"]
    for name, rows in wanted.items():
        table = tables.get(name, {})
        faults += [f"key_texts.js: {name} has not {key}" for key in rows.keys() - table.keys()]
        faults += [f"key_texts.js: {name} has {key}, which keys.def has not" for key in table.keys() - rows.keys()]
        for key, row in table.items():
            if len(row) != len(languages) or not all(one.strip() for one in row):
                faults.append(f"key_texts.js: {key} has {len(row)} texts for {len(languages)} languages")
            elif rows.get(key) and row[0] != rows[key]:
                faults.append(f'key_texts.js: {key} is "{row[0]}", and in keys.def "{rows[key]}": look at the other languages as well')
    return faults


def check(root):
    faults = []
    web = root / "daemon/web"
    table = (web / "texts.js").read_text(encoding="utf-8")
    languages = re.findall(r'\{code: "(\w+)"', table)
    rows = re.findall(r"^  (\w+): (\[.*\]),$", table, re.MULTILINE)
    texts = {}
    for key, row in rows:
        values = json.loads(row)
        if key in texts:
            faults.append(f"texts.js: {key} stands there twice")
        if len(values) != len(languages) or not all(value.strip() for value in values):
            faults.append(f"texts.js: {key} has {len(values)} texts for {len(languages)} languages")
        if len({tuple(sorted(re.findall(r"\{\w+\}", value))) for value in values}) > 1:
            faults.append(f"texts.js: {key} has not the same values in every language")
        texts[key] = values
    if len(rows) < 100 or table.count("[") != len(rows) + 1:
        faults.append("texts.js: there are rows that this test does not understand")

    scripts = {path.name: path.read_text(encoding="utf-8") for path in sorted(web.rglob("*.js")) if path.name not in TABLES}
    asked = {}
    for name, code in scripts.items():
        for key in re.findall(r'"([a-z][a-z_]*)"', code):
            asked.setdefault(key, name)
        for call in re.findall(r"\btext\(([^()]*)", code):
            for key in re.findall(r'(?:^|\? |: )"(\w+)"', call):
                if key not in texts:
                    faults.append(f"{name}: texts.js has no {key}")
        if not code.startswith("// SPDX-License-Identifier: Apache-2.0\n// Why: "):
            faults.append(f"{name}: the first lines are the licence and why the file exists")
        if len(code.splitlines()) > LONGEST:
            faults.append(f"{name}: more than {LONGEST} lines: which two things live in it?")
    for key, english in Marked((web / "index.html").read_text(encoding="utf-8")).found:
        asked[key] = "index.html"
        if key not in texts:
            faults.append(f"index.html: texts.js has no {key}")
        elif english and texts[key][0] != english:
            faults.append(f'index.html: {key} is "{english}" there and "{texts[key][0]}" in texts.js')

    wish = re.search(r'KINGLET_KEY\(Node, node, language,.*?CHOICES\("([^"]*)"\)', (root / "config/keys.def").read_text(encoding="utf-8"))
    if not wish or wish[1].split() != languages:
        faults.append(f"config/keys.def: node.language has not the languages of the page, {languages}")
    faults += check_key_texts(root, languages)
    birds = (root / "models/names/birds.tsv").read_text(encoding="utf-8")
    columns = next(line for line in birds.splitlines() if not line.startswith("#")).split("\t")
    if columns[2:] != list(languages):
        faults.append(f"models/names/birds.tsv: has names in {columns[2:]}, the page speaks {languages}")
    schemas = json.loads((root / "daemon/http/about/openapi_parts.json").read_text(encoding="utf-8"))["schemas"]
    words = {prefix + word for prefix, path in BY_WORD.items() for word in words_of(schemas, path)} - NOT_SHOWN
    words |= {prefix + word for prefix, ends in OTHER_WORDS.items() for word in ends}
    of_picture = re.search(r"kOfPicture\[\] = \{(.*?)\};", (root / "config/sources.cpp").read_text(encoding="utf-8"), re.DOTALL)
    named = re.search(r"ofPicture = \[(.*?)\]", scripts["cameras.js"])
    if not of_picture or not named or re.findall(r'"(\w+\.\w+)"', of_picture[1]) != re.findall(r'"([^"]*)"', named[1]):
        faults.append("cameras.js: ofPicture names not what config/sources.cpp has of a camera's own picture")
    beings = (root / "daemon/line/regions/beings.def").read_text(encoding="utf-8")
    words |= {"animal_" + word for word in re.findall(r'^KINGLET_BEING\("(\w+)", kAnimal\)', beings, re.MULTILINE)}
    faults += [f"texts.js: {key} is missing, which the API may say" for key in sorted(words - set(texts))]
    faults += [f"texts.js: nothing asks for {key}" for key in sorted(set(texts) - set(asked) - words)]
    return faults


faults = check(Path(sys.argv[1]))
for fault in faults:
    print(fault)
print(f"page: {len(faults)} faults")
sys.exit(1 if faults else 0)
