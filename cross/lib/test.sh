# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# ./dev test: what is built for which tier, and one run of ctest whose own summary ends the output. Tiers are ctest
# labels. Tests under sanitizers and for arm64 are tests of the main build as well: they run ctest in another build
# (tests/dev/nested.sh), which is made here so that its progress and errors are seen.

# Labels that a plain ./dev test leaves to --all.
readonly long_tiers='slow|emulation|package|browser'

command_test() {
  local all='' tier='' regex='' given=("$@") ctest_options
  while (($# > 0)); do
    case $1 in
    --all) all=yes ;;
    --tier=* | --regex=*) set -- x "${1%%=*}" "${1#*=}" "${@:2}" ;;
    --tier) tier=$(option_value "$@") && shift || exit ;;
    -R | --regex) regex=$(option_value "$@") && shift || exit ;;
    [!-]*) regex=${regex:+$regex|}${1//./\\.} ;;
    *) fail 64 "test: unknown option \"$1\"" "--all, --tier NAME, -R REGEX or names of tests" ;;
    esac
    shift
  done
  # This machine's npm knows its proxy and certificates; our root's does not.
  [[ -z $all && $tier != browser ]] || ! have npm || fetch_page_modules
  in_environment "$(test_groups "$all" "$tier")" test "${given[@]}"
  export_build_variables
  ctest_options=()
  if [[ -n $tier ]]; then
    ctest_options+=(-L "^($tier)\$")
  elif [[ -z $all ]]; then
    ctest_options+=(-LE "^($long_tiers)\$")
  fi
  [[ -z $regex ]] || ctest_options+=(-R "$regex")
  build_for_tests "$all" "$tier" "$regex"
  run_tests "${ctest_options[@]}"
}

option_value() {
  (($# > 1)) || fail 64 "$1 needs a value"
  printf '%s\n' "$2"
}

# Building the tests needs the groups before the "/" only.
test_groups() {
  case ${1:-}/${2:-} in
  yes/*) printf 'build gtest / test oracle arm64 emulation browser package\n' ;;
  /emulation | /package) printf 'build gtest / test oracle arm64 emulation browser package\n' ;;
  /browser) printf 'build gtest / browser\n' ;;
  /unit | /contract | /golden | /fuzz | /tree | /sanitizer | /environment) printf 'build gtest / test\n' ;;
  *) printf 'build gtest / test oracle arm64 package\n' ;;
  esac
}

build_for_tests() {
  local all=$1 tier=$2 regex=$3
  if [[ $tier == browser ]]; then
    build_preset tests tests_browser
  elif [[ -z $regex ]]; then
    build_preset tests
  else
    build_for_names "$regex"
  fi
  finish_installing
  [[ -z $all && $tier != browser ]] || fetch_page_modules
  [[ -z $regex ]] || return 0
  if [[ -z $tier || $tier == sanitizer ]]; then
    build_tiers asan bytes camera daemon
    build_tiers tsan threads camera daemon
  fi
  [[ $tier != arm64 && (-n $tier || -z $(arm64_compiler)) ]] || build_tiers arm64-tests board half
  [[ -z $all && $tier != package && $tier != emulation ]] || build_preset arm64
}

# Only what the tests need whose names match.
build_for_names() {
  local listed targets=()
  configure tests
  if listed=$("$repository/cross/test-targets.py" "$repository/build/tests" "$1"); then
    [[ -n $listed ]] || return 0
    mapfile -t targets <<<"$listed"
  fi
  build_preset tests "${targets[@]}"
}

arm64_compiler() { command -v aarch64-linux-gnu-g++ || true; }

# build_tiers PRESET TIER...: only the programs of these tiers.
build_tiers() {
  local preset=$1 tier targets=()
  shift
  configure "$preset"
  for tier in "$@"; do
    ! has_target "$preset" "tests_$tier" || targets+=("tests_$tier")
  done
  ((${#targets[@]} == 0)) || build_preset "$preset" "${targets[@]}"
}

has_target() { grep -q "^build $2: phony" "$repository/build/$1/build.ninja"; }

run_tests() {
  local folder=$repository/build/tests status
  rm -f "$folder"/junit*.xml
  export DEV_BUILD_FOLDER=$repository/build PAGE_MODULES
  PAGE_MODULES=$(page_modules_folder)
  set +e
  # More at once than there are cores: three quarters of the time of a run are tests that wait for a clock or a camera.
  ctest --test-dir "$folder" -j "$(($(job_count) * 3))" --output-on-failure --no-tests=error --output-junit "$folder/junit.xml" "$@" \
    </dev/null 2>&1 | "$repository/cross/test-summary.py" "$folder/junit.xml" "$folder"/junit-{asan,tsan,arm64-tests,arm64-tests-cortex-a76}.xml
  status=${PIPESTATUS[0]}
  if ((status != 0)) && ! grep -q '<testcase' "$folder/junit.xml" 2>/dev/null; then
    fail 64 "test: no test has such a name" "whole names or parts of them, as a run prints them: Outbox, e2e.daemon.events_test"
  fi
  exit "$status"
}
