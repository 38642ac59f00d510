#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# help.sh: ./dev COMMAND --help says what there is, and begins nothing; what is run has a --help of its own. KINGLET_SOURCE is
# the tree.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/cross/lib"
cp "$KINGLET_SOURCE/dev" "$work"
usage=$("$KINGLET_SOURCE/dev" --help)
commands=$(sed -nE 's/^  ([a-z-]+) .*/\1/p' <<<"$usage" | sort -u)
# Nothing is installed, built or run: each command says what it was asked.
for part in "$KINGLET_SOURCE"/cross/lib/*.sh; do : >"$work/cross/lib/${part##*/}"; done
{
  echo 'ensure_home() { :; }'
  for command in $commands; do echo "command_$command() { echo \"begins $command \$*\"; }"; done
} >"$work/cross/lib/common.sh"

# expect WANTED ARGUMENT...
expect() {
  local wanted=$1 found
  shift
  found=$("$work/dev" "$@" 2>&1) || found="status $?: $found"
  [[ $found == "$wanted" ]] || {
    printf 'FAILED: ./dev %s says\n%s\nnot\n%s\n' "$*" "$found" "$wanted"
    exit 1
  }
}

for command in bench build mutants run shell test zoo; do
  [[ " ${commands//$'\n'/ } " == *" $command "* ]] || {
    echo "FAILED: ./dev --help does not list $command"
    exit 1
  }
done
for command in $commands; do
  expect "$usage" "$command" --help
  expect "$usage" "$command" -h
  expect "begins $command some" "$command" some
done
expect "$usage" bench --arm --help
expect "$usage" test --all -h
expect 'begins run -- --help' run -- --help
expect 'begins run --seconds 3 -- --help' run --seconds 3 -- --help
expect 'begins exec kinglet --help' exec kinglet --help
expect 'begins exec --with test -- kinglet -h' exec --with test -- kinglet -h
