#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the tree to its own rules: which folder may include which, how large things may grow, that every table row
has its file and test, and that documents name only what exists. Usage: check_tree.py CHECK ROOT"""
import re
import sys
import tempfile
from pathlib import Path

CODE = {".cpp", ".h"}
# A folder (longest prefix wins) and what it may include, as path prefixes. engine/base is allowed everywhere.
ENGINE = ["engine/"]
ARROWS = {
    "engine/base": [],
    "engine/graph": ["engine/graph/"],
    "engine/backend": ["engine/backend/", "engine/graph/"],
    "engine/ops": ["engine/ops/", "engine/graph/", "engine/backend/"],
    "engine/onnx": ["engine/onnx/", "engine/ops/", "engine/graph/"],
    "engine/edit": ["engine/edit/", "engine/onnx/", "engine/ops/", "engine/graph/"],
    "engine/passes": ["engine/passes/", "engine/ops/", "engine/graph/"],
    "engine/quantize": ["engine/quantize/", "engine/passes/", "engine/ops/", "engine/graph/", "engine/optimize.h",
                        "engine/scores.h", "engine/session.h"],
    "engine/tflite": ["engine/tflite/", "engine/ops/", "engine/graph/", "engine/recipe.h", "engine/labels.h"],
    "engine/plan": ["engine/plan/", "engine/ops/", "engine/graph/", "engine/backend/"],
    "engine": ENGINE,
    "camera": ["camera/", "engine/graph/tensor.h", "engine/graph/data_type.h", "engine/graph/shape.h",
               "engine/recipe.h"],
    "config": ["config/"],
    "visits": ["visits/", "engine/labels.h", "engine/scores.h"],
    "store": ["store/", "visits/"],
    "daemon": ["daemon/", "camera/", "store/", "visits/", "engine/session.h", "engine/recipe.h", "engine/labels.h", "engine/model.h",
               "engine/scores.h"],
    "cli": ["cli/", "engine/", "camera/", "config/", "store/", "visits/", "daemon/replay.h", "daemon/settings.h",
            "daemon/token_file.h", "daemon/role.h", "daemon/model_folder.h", "daemon/doctor/", "daemon/qr.h", "daemon/clock_sync.h"],
    "models": ["models/", "camera/", "engine/"],
    "tests": ["tests/", "engine/", "camera/", "config/", "store/", "visits/", "daemon/", "cli/"],
}
MAY_USE_CONFIG = {"daemon/app.cpp", "daemon/app.h", "daemon/app_parts.cpp", "daemon/app_parts.h",
                  "daemon/integrations.cpp", "daemon/integrations.h",
                  "daemon/live_settings.cpp", "daemon/live_settings.h", "daemon/main.cpp",
                  "daemon/settings.cpp", "daemon/settings.h"}
GENERATED = ("onnx/onnx.pb.h",)

# Hard limits in lines; anything above stands here with its reason.
LIMITS = [("tests/", 1000), ("engine/passes/", 500), ("camera/sources/", 600), ("daemon/http/", 600), ("", 800)]
LOOK_AGAIN = 400
LARGER_WITH_REASON = {}


def code_files(root):
    for top in ("engine", "camera", "config", "store", "visits", "daemon", "cli", "models", "tests"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in CODE and path.is_file():
                yield path


def rule_for(relative):
    best = max((p for p in ARROWS if relative.startswith(p + "/")), key=len, default=None)
    return ARROWS.get(best)


def check_arrows(root):
    faults = []
    for path in code_files(root):
        relative = path.relative_to(root).as_posix()
        allowed = rule_for(relative)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not match or match[1].startswith("engine/base/") or match[1] in GENERATED:
                continue
            target = match[1]
            if target.startswith("config/") and relative in MAY_USE_CONFIG:
                continue
            if "/" not in target:
                faults.append(f'{relative}:{number}: "{target}": write includes from the root ("folder/file.h")')
            elif not any(target.startswith(prefix) for prefix in allowed):
                faults.append(f'{relative}:{number}: may not include "{target}" (see docs/architecture.md, Folders)')
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
    for row in rows(root / "camera/sources.def", "KINGLET_SOURCE"):
        scheme = first(row)
        if not (root / f"camera/sources/{scheme}.cpp").exists():
            faults.append(f"camera/sources.def: source {scheme} has no camera/sources/{scheme}.cpp")
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
