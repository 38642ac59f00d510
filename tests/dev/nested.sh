#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nested.sh BUILD LABELS: runs the tests with these labels in another build of the same tree (sanitizers, arm64; there on
# the core that KINGLET_CPU names) and leaves its JUnit file beside that of the outer run. Skips if that build is not there.
set -euo pipefail
build=${DEV_BUILD_FOLDER:-$PWD/build}/$1
[[ -e $build/CTestTestfile.cmake ]] || {
  echo "skipped: build/$1 is not built (./dev test builds it)"
  exit 77
}
export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1
export UBSAN_OPTIONS=print_stacktrace=1
suppressions=$(realpath "$(dirname "$0")")/tsan-suppressions.txt
export TSAN_OPTIONS=second_deadlock_stack=1:suppressions=$suppressions
# What a nested test needs of the build of the tests; kingletd takes other variables of ours for settings.
unset KINGLET_BIN KINGLET_SOURCE
KINGLET=$(dirname "$build")/tests/bin/kinglet
export KINGLET PATH=${KINGLET%/*}:$PATH
exec ctest --test-dir "$build" -j "$(($(nproc) + 1))" -L "^($2)\$" --output-on-failure --no-tests=error \
  --test-output-size-passed 1000000 --output-junit "$(dirname "$build")/tests/junit-$1${KINGLET_CPU:+-$KINGLET_CPU}.xml"
