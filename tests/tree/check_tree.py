#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the tree to its own rules: which folder may include which, how large things may grow, that every table row
has its file and test, and that documents name only what exists. Usage: check_tree.py CHECK ROOT"""
import re
import sys
import tempfile
from pathlib import Path

CODE = {".cpp", ".h"}
# The rooms, lowest first: a folder (the longest prefix wins) and the rooms that it may use. engine/base is allowed
# everywhere. A room may name only rooms above its own line, so that no two use each other.
ROOMS = {
    "engine/base": "",
    "engine/threads": "",
    "engine/graph": "",
    "engine/recipe": "engine/graph",
    "engine/backend": "engine/graph",
    "engine/ops": "engine/graph engine/backend",
    "engine/onnx/wire": "",
    "engine/onnx": "engine/onnx/wire engine/graph engine/ops",
    "engine/onnx/json": "engine/onnx/wire engine/onnx",
    "engine/onnx/older": "engine/onnx engine/graph engine/ops",
    "engine/passes": "engine/graph engine/ops",
    "engine/plan": "engine/graph engine/ops engine/backend",
    "engine/session": "engine/threads engine/graph engine/recipe engine/backend engine/ops engine/onnx engine/passes engine/plan",
    "engine/picture": "engine/recipe engine/session",
    "engine/edit": "engine/graph engine/onnx engine/onnx/older",
    "engine/quantize/calibration": "engine/graph engine/passes engine/session",
    "engine/quantize/weights": "engine/graph engine/ops engine/passes engine/quantize/calibration",
    "engine/quantize": "engine/graph engine/ops engine/passes engine/recipe engine/session engine/picture "
                       "engine/quantize/calibration engine/quantize/weights",
    "engine/tflite": "engine/graph engine/ops engine/recipe",
    "camera/frame": "",
    "camera/source": "camera/frame",
    "camera/process": "",
    "camera/discovery": "",
    "camera/decode": "camera/frame",
    "camera/preprocess/resample": "camera/frame engine/recipe",
    "camera/preprocess": "camera/preprocess/resample camera/frame engine/recipe",
    "camera/demo": "camera/frame camera/decode camera/preprocess",
    "camera/libcamera": "camera/frame",
    "camera/libcamera/program": "camera/frame camera/source camera/libcamera",
    "camera/stream": "camera/frame camera/source camera/process camera/decode camera/preprocess",
    "camera/sources": "camera/frame camera/source camera/process camera/discovery camera/decode camera/preprocess camera/demo "
                      "camera/libcamera camera/stream",
    "config": "",
    "visits": "engine/recipe",
    "store/database": "visits",
    "store": "store/database visits",
    "daemon/machine": "",
    "daemon/tokens": "",
    "daemon/values": "",
    "daemon/metrics": "",
    "daemon/tell": "daemon/machine visits",
    "daemon/catalogue": "daemon/machine camera/stream engine/recipe engine/session",
    "daemon/outgoing": "daemon/machine camera/stream",
    "daemon/line": "daemon/metrics camera/frame camera/decode camera/preprocess camera/source camera/sources camera/stream "
                   "engine/recipe engine/session engine/picture visits",
    "daemon/models": "daemon/machine daemon/catalogue daemon/line camera/process engine/recipe engine/session visits",
    "daemon/capture": "daemon/machine daemon/line camera/frame camera/source camera/sources camera/decode camera/preprocess visits store store/database",
    "daemon/doctor": "daemon/machine daemon/capture camera/sources store",
    "daemon/notify": "daemon/tokens daemon/tell daemon/outgoing visits",
    "daemon/settings": "daemon/values daemon/tokens daemon/catalogue daemon/notify daemon/tell daemon/line camera/source camera/sources config store",
    "daemon/backup": "daemon/machine daemon/models daemon/settings store store/database",
    "daemon/answer": "daemon/machine daemon/line daemon/models daemon/capture camera/frame camera/source camera/preprocess visits store",
    "daemon/mqtt": "daemon/tokens daemon/values daemon/tell",
    "daemon/webhook": "daemon/tokens daemon/tell daemon/outgoing",
    "daemon/http/message": "daemon/tokens camera/preprocess",
    "daemon/http/figures": "daemon/metrics",
    "daemon/http/routes": "daemon/http/message daemon/tokens daemon/line visits",
    "daemon/http/about": "daemon/http/message daemon/http/routes daemon/machine daemon/line",
    "daemon/http/control": "daemon/http/message daemon/http/routes daemon/machine daemon/line daemon/models daemon/doctor "
                           "camera/decode daemon/answer daemon/backup daemon/http/figures engine/recipe visits",
    "daemon/http/live": "daemon/http/message daemon/http/routes daemon/machine daemon/metrics daemon/tell "
                        "daemon/capture daemon/doctor visits camera/frame camera/sources store daemon/line "
                        "daemon/models daemon/answer daemon/mqtt daemon/webhook daemon/notify daemon/http/figures engine/threads",
    "daemon/http/history": "daemon/http/message daemon/http/routes daemon/capture engine/recipe store visits "
                           "daemon/tell daemon/models daemon/answer daemon/http/figures",
    "daemon/http/kserve": "daemon/http/message daemon/http/routes daemon/machine camera/decode engine/session "
                          "daemon/line daemon/models daemon/doctor daemon/answer daemon/http/figures",
    "daemon/http/access": "daemon/http/message daemon/http/routes daemon/tokens daemon/values",
    "daemon/http/server": "daemon/http/message daemon/http/routes daemon/http/access daemon/machine daemon/values "
                          "visits daemon/doctor daemon/http/figures",
    "daemon/app/desks": "daemon/settings daemon/notify daemon/line daemon/models daemon/http/routes camera/source config",
    "daemon/app": "daemon/app/desks daemon/machine daemon/tokens daemon/values daemon/catalogue daemon/line daemon/models daemon/capture "
                  "daemon/doctor daemon/settings daemon/backup daemon/answer daemon/mqtt daemon/webhook daemon/notify daemon/http/routes "
                  "daemon/http/live daemon/http/access daemon/http/server camera/frame camera/source camera/process "
                  "camera/sources config engine/session store visits daemon/http/figures",
    "cli": "engine/graph engine/recipe engine/backend engine/ops engine/onnx engine/onnx/json engine/passes engine/session engine/picture engine/edit engine/quantize engine/quantize/calibration "
           "engine/tflite camera/source camera/discovery camera/decode camera/preprocess camera/demo camera/stream camera/sources config "
           "visits store store/database daemon/machine daemon/tokens daemon/values daemon/catalogue daemon/line daemon/models daemon/doctor daemon/settings daemon/backup",
}
# Folders that are one table, a file a row; the others have at most MOST_FILES.
ONE_TABLE = {"cli", "engine/ops/families", "engine/passes", "engine/edit"}
MOST_FILES = 25
README_LINES = 10
README_PHRASES = ("Comes in:", "Does not:")
GENERATED = ("onnx/onnx.pb.h",)

# Hard limits in lines; anything above stands here with its reason.
LIMITS = [("tests/", 1000), ("engine/passes/", 500), ("camera/sources/", 600), ("daemon/http/", 600), ("", 800)]
LOOK_AGAIN = 400
LARGER_WITH_REASON = {}

# Headers of engine and camera that one file alone includes, its own source and tests aside: at most so many. A part that
# only one other needs is worth a file where it is a thing of its own, and often it is half of another.
MOST_SINGLE = 25


def code_files(root):
    for top in ("engine", "camera", "config", "store", "visits", "daemon", "cli", "models", "tests"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in CODE and path.is_file():
                yield path


def room_of(relative):
    """The room of a file or of what an include names; None: of none."""
    return max((room for room in ROOMS if relative.startswith(room + "/")), key=len, default=None)


def check_arrows(root):
    faults, used = [], set()
    for path in code_files(root):
        relative = path.relative_to(root).as_posix()
        room = room_of(relative)
        free = relative.startswith("tests/")
        if room is None and not free:
            faults.append(f"{relative}: is in no room of tests/tree/check_tree.py")
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not match or match[1].startswith("engine/base/") or match[1] in GENERATED:
                continue
            target = match[1]
            if "/" not in target:
                faults.append(f'{relative}:{number}: "{target}": write includes from the root ("folder/file.h")')
            elif free or room_of(target) == room:
                continue
            elif room_of(target) in ROOMS[room].split():
                used.add((room, room_of(target)))
            else:
                faults.append(f'{relative}:{number}: may not include "{target}" (see docs/architecture.md, Folders)')
    if (root / "CMakeLists.txt").exists():
        faults += stale_arrows(used)
        print(f"{len(ROOMS)} rooms, {len(used)} arrows, 0 running back up")
    return faults


def stale_arrows(used):
    faults, above = [], set()
    for room, uses in ROOMS.items():
        for other in uses.split():
            if other not in above:
                faults.append(f"the table of rooms: {room} may use only what stands above it, not {other}")
            if (room, other) not in used:
                faults.append(f"the table of rooms: {room} does not use {other}")
        above.add(room)
    return faults


def check_rooms(root):
    """Each room is a library and says what it is for; no folder is crowded; no library's files are a regular expression."""
    faults = []
    makes = {path: path.read_text(encoding="utf-8") for path in root.rglob("CMakeLists.txt") if "build" not in path.parts}
    for room in ROOMS:
        if room.count("/") > 1 or room == "store/database":  # a cabinet of the room it stands in
            continue
        readme = root / room / "README.md"
        lines = readme.read_text(encoding="utf-8").splitlines() if readme.exists() else []
        if not lines:
            faults.append(f"{room}: no README.md: what is it for, what comes in, what does not?")
        elif len(lines) > README_LINES:
            faults.append(f"{room}/README.md: more than {README_LINES} lines")
        else:
            for phrase in README_PHRASES:
                if not any(line.startswith(phrase) for line in lines):
                    faults.append(f'{room}/README.md: no line begins with "{phrase}"')
        top, _, rest = room.partition("/")
        library = rf"kinglet_library\([^)]*SOURCES {re.escape(rest) + '/' if rest else ''}\*"
        if not re.search(library, makes.get(root / top / "CMakeLists.txt", "")):
            faults.append(f"{room}: no library of its own in {top}/CMakeLists.txt")
    for path, text in makes.items():
        if re.search(r"FILTER\s+\w+\s+(EXCLUDE|INCLUDE)\s+REGEX", text):
            faults.append(f"{path.relative_to(root)}: a list of files by regular expression")
    for top in sorted({room.split("/")[0] for room in ROOMS}):
        for folder in [root / top, *sorted(p for p in (root / top).rglob("*") if p.is_dir())]:
            count = sum(p.is_file() and p.name != "README.md" for p in folder.iterdir())
            if count > MOST_FILES and folder.relative_to(root).as_posix() not in ONE_TABLE:
                faults.append(f"{folder.relative_to(root)}: {count} files, the limit is {MOST_FILES}: which rooms live in it?")
    return faults


def check_sizes(root):
    faults = []
    for path in code_files(root):
        relative = path.relative_to(root).as_posix()
        lines = len(path.read_text(encoding="utf-8").splitlines())
        limit = next(limit for prefix, limit in LIMITS if relative.startswith(prefix))
        if lines > limit and relative not in LARGER_WITH_REASON:
            faults.append(f"{relative}: {lines} lines, the limit is {limit}: which two things live in it?")
        elif lines > LOOK_AGAIN:
            print(f"look again: {relative} has {lines} lines")
    return faults


def check_headers(root):
    faults = []
    for path in code_files(root):
        relative = path.relative_to(root).as_posix()
        lines = path.read_text(encoding="utf-8").splitlines() + ["", ""]
        if "SPDX-License-Identifier: Apache-2.0" not in lines[0]:
            faults.append(f"{relative}:1: the first line is the SPDX licence line")
        elif path.suffix == ".h" and not lines[1].startswith("//"):
            faults.append(f"{relative}:2: say in one to three lines why this file exists")
        if path.suffix == ".h" and "#pragma once" not in lines:
            faults.append(f"{relative}: #pragma once is missing")
    return faults


def check_includers(root):
    readers = {}
    for path in code_files(root):
        relative = path.relative_to(root).as_posix()
        if not relative.startswith("tests/"):
            for header in re.findall(r'^#include "([^"]+\.h)"', path.read_text(encoding="utf-8"), re.MULTILINE):
                if header.removesuffix(".h") != relative.removesuffix(".cpp"):
                    readers.setdefault(header, []).append(relative)
    single = {header: files[0] for header, files in sorted(readers.items())
              if len(files) == 1 and header.startswith(("engine/", "camera/")) and (root / header).exists()}
    for header, reader in single.items():
        print(f"{header}: {reader}")
    if len(single) <= MOST_SINGLE:
        return []
    return [f"{len(single)} headers with one includer, the limit is {MOST_SINGLE}: which belong together?"]


def rows(path, macro):
    if not path.exists():
        return []
    return re.findall(rf"^{macro}\(([^)]*)\)", path.read_text(encoding="utf-8"), re.MULTILINE)


def first(row):
    return row.split(",")[0].strip().strip('"')


def check_tables(root):
    faults = []
    for row in rows(root / "engine/passes/passes.def", r"KINGLET_\w*PASS\w*"):
        name = first(row)
        if not (root / f"engine/passes/{name}.cpp").exists():
            faults.append(f"engine/passes/passes.def: pass {name} has no engine/passes/{name}.cpp")
        if not list((root / f"tests/golden/passes/{name}").glob("*.txt")):
            faults.append(f"engine/passes/passes.def: pass {name} has no case in tests/golden/passes/{name}/")
    for row in rows(root / "engine/backend/kernels/kernels.def", "KINGLET_KERNEL"):
        name = first(row)
        path = root / f"engine/backend/kernels/{name}.cpp"
        if not path.exists():
            faults.append(f"engine/backend/kernels/kernels.def: kernel {name} has no engine/backend/kernels/{name}.cpp")
        elif '__scalar"' not in path.read_text(encoding="utf-8"):
            faults.append(f"engine/backend/kernels/kernels.def: kernel {name} has no scalar twin in its file")
    for row in rows(root / "camera/sources/sources.def", "KINGLET_SOURCE"):
        scheme = first(row)
        if not (root / f"camera/sources/{scheme}.cpp").exists():
            faults.append(f"camera/sources/sources.def: source {scheme} has no camera/sources/{scheme}.cpp")
    for row in rows(root / "engine/edit/verbs.def", "KINGLET_VERB"):
        name = first(row)
        if not (root / f"engine/edit/{name}.cpp").exists():
            faults.append(f"engine/edit/verbs.def: verb {name} has no engine/edit/{name}.cpp")
    for row in rows(root / "cli/commands.def", "KINGLET_COMMAND"):
        name = first(row).replace("-", "_")
        if not (root / f"cli/{name}.cpp").exists():
            faults.append(f"cli/commands.def: command {name} has no cli/{name}.cpp")
    return faults


def check_docs(root):
    """Every path in backticks or links of our documents exists (folders, files; globs and URLs aside)."""
    faults = []
    documents = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]
    tops = {p.name for p in root.iterdir()}
    for document in documents:
        if not document.exists():
            faults.append(f"{document.relative_to(root)}: missing")
            continue
        relative = document.relative_to(root).as_posix()
        for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), 1):
            for path in re.findall(r"`([\w./-]+/[\w./-]*)`", line):
                if path.split("/")[0] in tops - {"build"} and not (root / path).exists():
                    faults.append(f"{relative}:{number}: `{path}` does not exist")
            for link in re.findall(r"\]\(([^)#\s]+)\)", line):
                if "://" not in link and not (document.parent / link).exists():
                    faults.append(f"{relative}:{number}: the link {link} leads nowhere")
    return faults


def check_planted(root):
    """The arrows check itself: a planted violation is found, a right include is not."""
    with tempfile.TemporaryDirectory() as folder:
        planted = Path(folder)
        (planted / "engine/graph").mkdir(parents=True)
        (planted / "engine/graph/bad.cpp").write_text('#include "engine/ops/op.h"\n#include "engine/base/error.h"\n')
        found = check_arrows(planted)
    expected = ['engine/graph/bad.cpp:1: may not include "engine/ops/op.h" (see docs/architecture.md, Folders)']
    return [] if found == expected else [f"the arrows check found {found} in a tree with one planted violation"]


def main():
    check, root = sys.argv[1], Path(sys.argv[2])
    faults = globals()["check_" + check](root)
    for fault in faults:
        print(fault)
    print(f"{check}: {len(faults)} faults")
    return 1 if faults else 0


sys.exit(main())
