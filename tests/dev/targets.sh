#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# targets.sh: what has to be built for one test is what it needs and nothing else, whatever its tier. KINGLET_SOURCE is the
# tree, KINGLET_BIN the folder of built programs.
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
expect 'keyboard_test' bin/kingletd

# A source that was renamed is told in one line, until the build is configured again.
stale=$(mktemp -d)
printf 'old_test\t%s/gone_test.cpp\n' "$stale" >"$stale/test_programs.txt"
status=0
told=$("$KINGLET_SOURCE/cross/test-targets.py" "$stale" 'Old\.' 2>&1) || status=$?
rm -r "$stale"
[[ $status == 1 && $told == "test-targets.py: $stale/gone_test.cpp has gone"* && $told != *$'\n'* ]] || {
  echo "FAILED: of a source that has gone is told, with exit code $status: $told"
  exit 1
}

# expect_run "ARGUMENTS" LINE...: what ./dev test with these does: groups, builds, ctest.
expect_run() {
  local arguments=$1 wanted found
  shift
  wanted=$(printf '%s\n' "$@")
  # shellcheck disable=SC2086
  found=$(rehearse $arguments)
  [[ $found == "$wanted" ]] || {
    printf 'FAILED: ./dev test %s does\n%s\nnot\n%s\n' "$arguments" "$found" "$wanted"
    exit 1
  }
}

# Nothing is installed, built or run: each of these steps says its name.
# shellcheck disable=SC2317
rehearse() (
  repository=$KINGLET_SOURCE
  # shellcheck source=/dev/null
  source "$repository/cross/lib/test.sh"
  in_environment() { echo "groups $1"; }
  export_build_variables() { :; }
  finish_installing() { :; }
  configure() { [[ $1 == tests ]] || echo "configure $1"; }
  has_target() { :; }
  have() { :; }
  fetch_page_modules() { echo "page modules"; }
  build_preset() { echo "build $*"; }
  run_tests() { echo "ctest $*"; }
  command_test "$@"
)

readonly usual='build gtest / test oracle arm64 package'
expect_run 'tree.arrows' "groups $usual" 'ctest -R tree\.arrows'
expect_run 'keyboard_test' 'page modules' "groups $usual" 'build tests bin/kingletd' \
  'groups build gtest / browser' 'page modules' 'ctest -R keyboard_test'
expect_run 'sanitizer.thread' "groups $usual" 'configure tsan' 'build tsan tests_threads tests_camera tests_daemon' \
  'ctest -R sanitizer\.thread'
expect_run 'random_lowering_test' "groups $usual" 'build tests bin/libavx2_alone.so bin/random_lowering_test random_lowering_test' \
  'ctest -R random_lowering_test|(^|/)(RandomLowering|Traits)\.'
expect_run '--tier tree -R arrows' 'groups build gtest / test' 'ctest -L ^(tree)$ -R arrows'

# However many programs are named, CMake takes the expression.
programs=$(cut -f1 "$KINGLET_BIN/../test_programs.txt" | paste -sd '|')
regex=$("$KINGLET_SOURCE/cross/test-targets.py" --for-ctest "$KINGLET_BIN/.." "$programs")
script=$(mktemp)
trap 'rm -f "$script"' EXIT
# shellcheck disable=SC2016
echo 'if(NOT "TrackerTest.AVisitBegins" MATCHES "${REGEX}")
  message(FATAL_ERROR "a case of a program that is named does not match")
endif()' >"$script"
cmake -DREGEX="$regex" -P "$script"
