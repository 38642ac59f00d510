#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# unit.sh verify|security|bounds|sysusers: systemd's own tools read what we install. KINGLET_SOURCE is the tree, KINGLET_BIN
# the folder of built programs.
set -euo pipefail
readonly exposure_limit=20 # tenths

skip() {
  echo "skipped: $1"
  exit 77
}
fail() {
  echo "$1"
  exit 1
}

# verify wants to see the programs, which are not installed here.
unit_with_programs() {
  local program=$KINGLET_BIN/kingletd
  [[ -x $program ]] || program=/bin/true
  sed "s|^ExecStart=/usr/bin/kingletd|ExecStart=$program|; /^Documentation=file/d" "$KINGLET_SOURCE/systemd/kingletd.service"
}

check_verify() {
  local output
  unit_with_programs >"$work/kingletd.service"
  output=$(systemd-analyze verify --man=no "$work/kingletd.service" 2>&1) || fail "$output"
  [[ -z $output ]] || fail "$output"
}

check_security() {
  local score
  score=$(systemd-analyze security --offline=yes --no-pager "$KINGLET_SOURCE/systemd/kingletd.service" |
    sed -nE 's/.*exposure level.*: ([0-9]+)\.([0-9]) .*/\1\2/p')
  ((10#$score <= exposure_limit)) || fail "exposure is $score tenths, at most $exposure_limit is wanted"
  echo "exposure: $score tenths"
}

# What a stranger's model may cost, and what the process that proves it needs to bound itself.
check_bounds() {
  local unit=$KINGLET_SOURCE/systemd/kingletd.service line call
  for line in OOMPolicy=continue MemoryMax=[0-9]+% TasksMax=[0-9]+ LimitCORE=0 UMask=0077; do
    grep -qxE "$line" "$unit" || fail "the unit has no $line"
  done
  for call in setrlimit prlimit64; do
    grep -E '^SystemCallFilter=[^~]' "$unit" | grep -qw "$call" || fail "the unit does not let $call be called"
  done
}

check_sysusers() {
  systemd-sysusers --root="$work" "$KINGLET_SOURCE/systemd/kinglet.sysusers"
  grep -q '^kinglet:' "$work/etc/passwd" || fail "no user kinglet"
  grep -q '^video:.*kinglet' "$work/etc/group" || fail "kinglet is not in group video"
}

command -v systemd-analyze >/dev/null || skip "systemd-analyze is not installed"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/etc"
"check_$1"
