# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# ./dev test: what is built for which tier, and one run of ctest whose own summary ends the output. Tiers are ctest
# labels. Tests under sanitizers and for arm64 are tests of the main build as well: they run ctest in another build
# (tests/dev/nested.sh), which is made here so that its progress and errors are seen.

# Labels that a plain ./dev test leaves to --all; a test that is named runs whatever its label is.
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
  { [[ -z $all && $tier != browser ]] && ! names_page "$regex"; } || ! have npm || fetch_page_modules
  in_environment "$(test_groups "$all" "$tier")" test "${given[@]}"
  export_build_variables
  ctest_options=()
  if [[ -n $tier ]]; then
    ctest_options+=(-L "^($tier)\$")
  elif [[ -z $all$regex ]]; then
    ctest_options+=(-LE "^($long_tiers)\$")
  fi
  build_for_tests "$all" "$tier" "$regex"
  [[ -z $regex ]] || ctest_options+=(-R "$("$repository/cross/test-targets.py" --for-ctest "$repository/build/tests" "$regex")")
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
  if [[ -n $regex ]]; then
    build_for_names "$tier" "$regex"
    return
  fi
  if [[ $tier == browser ]]; then
    build_preset tests tests_browser
  else
    build_preset tests
  fi
  finish_installing
  [[ -z $all && $tier != browser ]] || fetch_page_modules
  if [[ -z $tier || $tier == sanitizer ]]; then
    build_elsewhere sanitizer.address
    build_elsewhere sanitizer.thread
  fi
  [[ $tier != arm64 && (-n $tier || -z $(arm64_compiler)) ]] || build_elsewhere arm64
  [[ -z $all && $tier != package && $tier != emulation ]] || build_elsewhere package
}

# Only what the tests need whose names match: programs, the groups of their tiers, other builds of the tree.
build_for_names() {
  local tier=$1 regex=$2 listed targets=() named labels names label name
  configure tests
  if listed=$("$repository/cross/test-targets.py" "$repository/build/tests" "$regex"); then
    [[ -z $listed ]] || mapfile -t targets <<<"$listed"
    ((${#targets[@]} == 0)) || build_preset tests "${targets[@]}"
  else
    build_preset tests
  fi
  named=$(named_tests "$tier" "$regex")
  mapfile -t labels < <(cut -f2 <<<"$named" | grep -xE "$long_tiers" | sort -u)
  mapfile -t names < <(cut -f1 <<<"$named" | sed -E 's/^(arm64|package|emulation)\..*/\1/' | sort -u)
  for label in "${labels[@]}"; do
    finish_installing
    in_environment "$(test_groups '' "$label")" test "${given[@]}"
    [[ $label != browser ]] || fetch_page_modules
  done
  finish_installing
  for name in "${names[@]}"; do build_elsewhere "$name"; done
}

# Name and label of each script, of this tier if one is given, whose name matches.
named_tests() {
  "$repository/cross/test-targets.py" --labels "$repository/build/tests" "$2" | awk -F'\t' -v tier="$1" 'tier == "" || $2 == tier'
}

# Before there is a build that could be asked.
names_page() {
  local script
  [[ -n $1 ]] || return 1
  for script in "$repository"/tests/e2e/page/*_test.mjs; do
    script=${script##*/}
    [[ ! e2e.page.${script%.mjs} =~ $1 ]] || return 0
  done
  return 1
}

# What a test runs that is not of the build of the tests; nothing for most.
build_elsewhere() {
  case $1 in
  sanitizer.address) build_tiers asan bytes camera daemon ;;
  sanitizer.thread) build_tiers tsan threads camera daemon ;;
  arm64) build_tiers arm64-tests board half ;;
  package | emulation) build_preset arm64 ;;
  esac
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
  local folder=$repository/build/tests status results ran
  results=$(mktemp)
  rm -f "$folder"/junit-*.xml
  export DEV_BUILD_FOLDER=$repository/build PAGE_MODULES
  PAGE_MODULES=$(page_modules_folder)
  # Until the first test starts ctest asks new programs for their cases, and writes the lists that all who start it read.
  lock_build tests
  set +e
  # Four for each core: most of the time of a run are tests that wait for a clock, a camera or a disk, and what computes
  # all the time takes what they leave (tests/dev/CMakeLists.txt).
  ctest --test-dir "$folder" -j "$(($(job_count) * 4))" --output-on-failure --no-tests=error --output-junit "$results" "$@" \
    </dev/null 2>&1 7>&- | "$repository/cross/test-summary.py" --unlock 7 "$results" \
    "$folder"/junit-{asan,tsan,arm64-tests,arm64-tests-cortex-a53,arm64-tests-cortex-a76}.xml
  status=${PIPESTATUS[0]}
  exec 7>&-
  ran=$(grep -c '<testcase' "$results")
  mv -f "$results" "$folder/junit.xml"
  ((status == 0 || ran > 0)) ||
    fail 64 "test: no test has such a name" "whole names or parts of them, as a run prints them: Outbox, e2e.daemon.events_test"
  exit "$status"
}
