#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""That the functions which a program calls are found, and that most of those by which a release is laid out are still there."""
import os
import platform
import re
import subprocess
import unittest
from pathlib import Path

import functions_in_use

KINGLET, KINGLETD = Path(os.environ["KINGLET"]), Path(os.environ["KINGLETD"])


class FunctionsInUse(unittest.TestCase):
    @unittest.skipUnless(platform.machine() == "x86_64", "breakpoints are x86-64's")
    def test_those_of_a_command_are_found_and_no_others(self):
        called = functions_in_use.calls(KINGLET, "version")
        self.assertIn("main", called)
        commands = {name for name in called if re.fullmatch(r"_ZN7kinglet3cli\d+\w+_commandERN3CLI3AppE", name)}
        self.assertEqual(commands, {"_ZN7kinglet3cli15version_commandERN3CLI3AppE"})

    def test_most_of_the_list_are_functions_of_today(self):
        listed = functions_in_use.LIST.read_text(encoding="utf-8").splitlines()
        # Those of our own, and none that the compiler made of a part of one.
        ours = {name for name in listed if "7kinglet" in name and "." not in name}
        self.assertGreater(len(ours), 500)
        today = set()
        for program in (KINGLET, KINGLETD):
            today |= {line.split()[-1] for line in subprocess.run(["nm", "--defined-only", program], check=True,
                                                                  capture_output=True, text=True).stdout.splitlines()}
        self.assertGreater(len(ours & today), 0.8 * len(ours),
                           "make it anew: ./dev exec python3 tests/bench/functions_in_use.py --bin build/release/bin --write MODEL...")


if __name__ == "__main__":
    unittest.main()
