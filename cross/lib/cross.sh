# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# ./dev cross: the arm64 build, run on emulated cores and compared with this machine's own answers.

readonly board_cores=(cortex-a53 cortex-a72 cortex-a76)

command_cross() {
  local machine='' cores=("${board_cores[@]}") given=("$@") core groups="build gtest test arm64"
  while (($# > 0)); do
    case $1 in
    --machine) machine=yes groups+=" emulation" ;;
    --cpu) cores=("$(option_value "$@")") && shift || exit ;;
    --cpu=*) cores=("${1#*=}") ;;
    *) fail 64 "cross: unknown option \"$1\"" "--machine or --cpu NAME" ;;
    esac
    shift
  done
  in_environment "$groups" cross "${given[@]}"
  export_build_variables
  build_preset arm64
  if [[ -n $machine ]]; then
    cross_machine
    return
  fi
  build_preset release kinglet
  for core in "${cores[@]}"; do
    step "tests of the engine on $core" engine_tests_on "$core" || exit
    step "answers on $core" "$repository/cross/compare-answers" "$repository" "$core" || exit
  done
}

engine_tests_on() {
  KINGLET_CPU=$1 ctest --test-dir "$repository/build/arm64" -L '^engine$' -j "$(job_count)" --output-on-failure \
    --no-tests=error --test-output-size-passed 1000000 --output-junit "$repository/build/arm64/junit-$1.xml" </dev/null |
    "$repository/cross/test-summary.py" "$repository/build/arm64/junit-$1.xml"
  return "${PIPESTATUS[0]}"
}

# The machine is a tool that lies beside the checkout; who has none is told so.
emulated_machine() {
  emulator=$repository/../shared/tools/emulated-pi
  [[ -x $emulator ]] || fail 69 "no emulated machine: $emulator is missing" "without it single programs run under qemu-user"
}

cross_machine() {
  emulated_machine
  step "collecting the daemon and its libraries" collect_machine "$repository/build/machine" arm64 kingletd
  step "kingletd in an emulated Raspberry Pi 4" "$repository/cross/ask-machine" "$emulator" "$repository/build/machine"
}

# collect_machine FOLDER PRESET PROGRAM...: a folder with the programs, the demonstration and the libraries they need. The C
# library is the machine's own: it must fit the machine's loader.
collect_machine() {
  local folder=$1 preset=$2 program path
  shift 2
  rm -rf "$folder"
  mkdir -p "$folder/lib"
  cp -r "$repository/models/demo" "$folder/demo"
  for program in "$@"; do
    cp "$repository/build/$preset/bin/$program" "$folder/"
    qemu-aarch64 -E LD_TRACE_LOADED_OBJECTS=1 "$folder/$program" | sed -nE 's/.* => ([^ ]+) .*/\1/p' |
      grep -vE '/lib(c|m)\.so' | while read -r path; do cp -L "$path" "$folder/lib/"; done
    aarch64-linux-gnu-strip "$folder/$program"
  done
}
