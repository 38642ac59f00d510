#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# targets.sh: what has to be built for one test is what it needs and nothing else. KINGLET_SOURCE is the tree, KINGLET_BIN
# the folder of built programs.
set -euo pipefail

# expect NAME TARGET...
expect() {
  local name=$1 found
  shift
  found=$("$KINGLET_SOURCE/cross/test-targets.py" "$KINGLET_BIN/.." "$name" | tr '\n' ' ' || echo unknown)
  [[ ${found% } == "$*" ]] || {
    echo "FAILED: $name needs \"$*\", not \"${found% }\""
    exit 1
  }
}

expect 'TrackerTest\.AVisitBegins' visits_test
expect '^visits_test$' visits_test
expect 'e2e\.kills' bin/kinglet bin/kingletd bin/libslow_disk.so
expect 'tree\.arrows'
expect 'ThereIsNoSuchTest' unknown
