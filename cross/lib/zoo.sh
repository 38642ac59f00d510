# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# ./dev zoo: tests/zoo/zoo.py with the release build of the tool. Results are kept in tests/zoo/results.jsonl, so that a run that was
# broken off goes on where it stopped; docs/zoo.md is written from all there are.

command_zoo() {
  local status=0
  in_environment "build oracle" zoo "$@"
  export_build_variables
  build_preset release kinglet
  python3 "$repository/tests/zoo/zoo.py" --kinglet "$repository/build/release/bin/kinglet" "$@" || status=$?
  ((status == 0 || status == 1)) || exit "$status"
  python3 "$repository/tests/zoo/zoo.py" --write "$repository/docs/zoo.md" || exit
  say "docs/zoo.md is written from tests/zoo/results.jsonl"
  exit "$status"
}
