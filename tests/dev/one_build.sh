#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# one_build.sh: several ./dev commands at once, with a project so small that building it, and reading which tests it has,
# is a second of sleep that nobody else may be in. KINGLET_SOURCE is the tree.
set -euo pipefail
KINGLET_SOURCE=${KINGLET_SOURCE:-$PWD}

fail() {
  echo "FAILED: $1"
  tail -n 20 "$work"/*.log
  exit 1
}

work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
project=$work/project
mkdir -p "$project/cross"
cp "$KINGLET_SOURCE/dev" "$project"
cp -r "$KINGLET_SOURCE"/cross/{lib,packages,test-summary.py} "$project/cross"
cat >"$project/CMakePresets.json" <<'END'
{"version": 6, "configurePresets": [{"name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build/release"}]}
END
cat >"$project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES NONE)
add_custom_target(all_of_it ALL COMMAND ${CMAKE_SOURCE_DIR}/build.sh VERBATIM)
enable_testing()
set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${CMAKE_SOURCE_DIR}/reading.cmake)
add_test(NAME waits_for_the_other COMMAND sh -c "until [ -e ../other ]; do sleep 0.1; done")
add_test(NAME is_the_other COMMAND sh -c "touch ../other")
END
cat >"$project/reading.cmake" <<'END'
execute_process(COMMAND mkdir "${CMAKE_CURRENT_LIST_DIR}/reading" RESULT_VARIABLE is_there ERROR_QUIET)
if(is_there)
  file(TOUCH "${CMAKE_CURRENT_LIST_DIR}/two_at_once")
endif()
execute_process(COMMAND sleep 1)
execute_process(COMMAND rmdir "${CMAKE_CURRENT_LIST_DIR}/reading" ERROR_QUIET)
END
# Leaves a process behind, as a compiler's cache may.
cat >"$project/build.sh" <<'END'
#!/bin/sh
mkdir ../working || { touch ../two_at_once; exit 1; }
sleep 1
setsid sleep 30 >/dev/null 2>&1 </dev/null &
mkdir -p bin
printf '#!/bin/sh\ntouch "%s/started"\nexec sleep 30\n' "$PWD" >bin/kingletd
chmod +x bin/kingletd
rmdir ../working
END
chmod +x "$project/build.sh"

dev() { "$project/dev" "$@" 2>&1; }

until_true() {
  local tries
  for ((tries = 0; tries < 600; tries++)); do
    ! "$@" || return 0
    sleep 0.1
  done
  fail "never came true: $*"
}

# As if another one built there: all three say that they wait, and then build one after the other.
mkdir "$project/build"
exec 6>"$project/build/release.lock"
flock 6
for number in 1 2 3; do
  dev build release >"$work/$number.log" 6>&- &
  builds[number]=$!
  until_true grep -q "another ./dev command builds build/release: waiting for it" "$work/$number.log"
done
exec 6>&-
for build in "${builds[@]}"; do wait "$build" || fail "one of three builds at once failed"; done
[[ ! -e $project/build/two_at_once ]] || fail "two built at once"

# Neither what a build left behind nor a daemon that was started keeps others waiting.
dev run >"$work/run.log" &
until_true test -e "$project/build/release/started"
dev build release >"$work/later.log" || fail "a build beside a running daemon failed"
! grep -q waiting "$work/later.log" || fail "a build waits for a running daemon"

# Two runs of the tests read one after the other which tests there are, and run them beside each other.
# shellcheck disable=SC2317
test_alone() (
  repository=$project
  for part in common commands test; do
    # shellcheck source=/dev/null
    source "$repository/cross/lib/$part.sh"
  done
  page_modules_folder() { :; }
  run_tests -R "$1" 2>&1
)
cmake -S "$project" -B "$project/build/tests" -G Ninja >"$work/configure.log" 2>&1 || fail "the project has no tests"
for name in waits_for_the_other is_the_other; do
  test_alone "$name" >"$work/$name.log" &
  runs+=("$!")
done
for run in "${runs[@]}"; do wait "$run" || fail "one of two runs at once failed"; done
[[ ! -e $project/two_at_once ]] || fail "two read at once which tests there are"
! test_alone there_is_none >"$work/none.log" || fail "a name that no test has is no failure"
grep -q "no test has such a name" "$work/none.log" || fail "a name that no test has is not told"
