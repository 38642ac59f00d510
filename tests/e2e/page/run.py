#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one test of the page with node, in a network of its own where a phone at home is not this machine.
Usage: run.py SCRIPT"""
import os
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "daemon"))
import home_network  # noqa: E402

GROUP = "./dev test --tier browser installs the group cross/packages/browser.txt"


def skip(reason):
    print(f"SKIPPED: {reason} ({GROUP})")
    sys.exit(77)


for tool in ("chromium", "node"):
    if not shutil.which(tool):
        skip(f"there is no {tool}")
if not (Path(os.environ.get("PAGE_MODULES", "/nowhere")) / "node_modules" / "playwright-core").exists():
    skip("playwright-core and axe-core are not there")
home_network.enter()
os.execvp("node", ["node", "--no-warnings", sys.argv[1]])
