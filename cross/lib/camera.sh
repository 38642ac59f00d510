# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# ./dev camera-test: the road of a libcamera frame without a camera. libcamera and its virtual cameras are real in both
# halves: natively also under sanitizers, and as arm64 programs in an emulated machine.

command_camera-test() {
  local halves=(native machine) given=("$@") half
  while (($# > 0)); do
    case $1 in
    --native) halves=(native) ;;
    --machine) halves=(machine) ;;
    *) fail 64 "camera-test: unknown option \"$1\"" "--native or --machine; both without either" ;;
    esac
    shift
  done
  in_environment "build gtest test arm64 emulation" camera-test "${given[@]}"
  export_build_variables
  for half in "${halves[@]}"; do camera_"$half"; done
}

camera_native() {
  local preset
  build_tiers tests camera
  build_preset tests kingletd
  for preset in asan tsan; do build_tiers "$preset" camera; done
  step "libcamera's virtual cameras, also under sanitizers" camera_tests_of tests asan tsan || exit
}

# camera_tests_of PRESET...: all at once, because they wait for cameras most of the time.
camera_tests_of() {
  local preset logs status=0
  local -A running=()
  logs=$(mktemp -d)
  for preset in "$@"; do
    DEV_BUILD_FOLDER=$repository/build "$repository/tests/dev/nested.sh" "$preset" camera </dev/null >"$logs/$preset" 2>&1 &
    running[$preset]=$!
  done
  for preset in "$@"; do
    wait "${running[$preset]}" || status=1
    "$repository/cross/test-summary.py" "$repository/build/tests/junit-$preset.xml" <"$logs/$preset"
  done
  rm -rf "$logs"
  return "$status"
}

camera_machine() {
  local folder=$repository/build/camera-machine
  emulated_machine
  # Builds of which ./dev test has most already.
  build_preset arm64-tests kingletd kinglet-camera
  build_preset tests kinglet
  step "collecting the programs and their libraries" collect_machine "$folder" arm64-tests kingletd kinglet-camera || exit
  quietly "$repository/build/tests/bin/kinglet" demo-frames --seed 7 --count 4 --size 320x240 --out "$folder/drawn" || exit
  step "two cameras in an emulated Raspberry Pi of 512 MB" \
    env EMULATOR="$emulator" MACHINE_FOLDER="$folder" SOURCE_FOLDER="$repository" KINGLETD="$folder/kingletd" \
    PYTHONPATH="$repository/tests/e2e/daemon" PYTHONDONTWRITEBYTECODE=1 \
    python3 "$repository/tests/e2e/camera/machine_test.py" </dev/null || exit
}
