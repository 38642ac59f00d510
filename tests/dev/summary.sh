#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The end of what ./dev test prints names each case that failed, in another build of the tree as well, and the first that
# it said of it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

case_of() { # NAME STATUS OUTPUT
  printf '<testcase name="%s">%s<system-out>%s</system-out></testcase>' "$1" "$2" "$3"
}
failed='<failure message="Failed"/>'
printf '<testsuite>%s%s%s</testsuite>' "$(case_of Ducks.Quack "$failed" $'[ RUN      ] Ducks.Quack\nducks.cpp:7: Failure\nExpected: loud')" \
  "$(case_of sanitizer.thread "$failed" 'what ctest says of it')" "$(case_of Geese.Hiss '' 'geese.cpp:8: Failure')" >"$folder/junit.xml"
printf '<testsuite>%s</testsuite>' "$(case_of daemon_test "$failed" $'ok\nWARNING: ThreadSanitizer: data race\n  Write of size 8')" >"$folder/junit-tsan.xml"

found=$(printf '1/3 Test #1\n33%% tests passed, 2 tests failed out of 3\nThe following tests FAILED:\n' |
  "$KINGLET_SOURCE/cross/test-summary.py" "$folder/junit.xml" "$folder/junit-tsan.xml" "$folder/absent.xml")
expected=$(
  cat <<'T'
1/3 Test #1

33% tests passed, 2 tests failed out of 3
The following tests FAILED:

Ducks.Quack failed:
  ducks.cpp:7: Failure
  Expected: loud

sanitizer.thread failed:
  what ctest says of it

daemon_test of tsan failed:
  WARNING: ThreadSanitizer: data race
    Write of size 8
T
)
diff <(echo "$expected") <(echo "$found")
