#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nodes of optimised files against those of other tools: never more than ONNX Runtime at BASIC, nor than onnxsim where
the table lists it. Usage: check_counts.py KINGLET TABLE.tsv MODEL...; a model is NAME-opOPSET[-EXPORT].onnx, with
EXPORT as the table writes it (std when left out). Ends with 1 when a file has too many."""
import csv
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return {(row["model"], row["opset"], row["export"]): row for row in csv.DictReader(file, delimiter="\t")}


def key_of(path):
    found = re.fullmatch(r"(.+?)-op(\d+)(?:-(\w+))?", path.stem)
    return (found[1], found[2], found[3] or "std") if found else None


def optimise(kinglet, path, folder):
    done = subprocess.run([kinglet, "optimize", str(path), "-o", str(Path(folder) / "out.onnx"), "--force", "--no-proof",
                           "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None, done.stderr.strip()
    return json.loads(done.stdout), None


def main():
    kinglet, table, models = sys.argv[1], rows_of(sys.argv[2]), [Path(name) for name in sys.argv[3:]]
    faults = 0
    print(f"{'model':38} {'before':>6} {'after':>6} {'BASIC':>6} {'onnxsim':>7} {'seconds':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for path in models:
            row = table.get(key_of(path))
            answer, error = optimise(kinglet, path, folder)
            if answer is None:
                faults += 1
                print(f"{path.stem:38} {error}")
                continue
            after = answer["after"]["nodes"]
            limits = [int(row[tool]) for tool in ("ort_basic", "onnxsim") if row and row[tool]]
            too_many = bool(limits) and after > min(limits)
            faults += too_many
            print(f"{path.stem:38} {answer['before']['nodes']:6} {after:6} {row['ort_basic'] if row else '':>6} "
                  f"{row['onnxsim'] if row else '':>7} {answer['ms'] / 1000:8.2f}{'  TOO MANY' if too_many else ''}")
    print(f"{len(models)} models, {faults} with too many nodes or an error")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
