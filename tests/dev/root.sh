#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# root.sh CASE: making, sharing and entering a Debian 13 root, with a package list so small that it takes seconds.
# Needs the package mirror and the right to mount; skips without them. KINGLET_SOURCE is the tree.
set -euo pipefail
KINGLET_SOURCE=${KINGLET_SOURCE:-$PWD}

skip() {
  echo "skipped: $1"
  exit 77
}
fail() {
  echo "FAILED: $1"
  tail -n 30 "$work"/*.log 2>/dev/null || true
  exit 1
}

prepare() {
  unshare --mount true 2>/dev/null || unshare --user --map-root-user --mount true 2>/dev/null ||
    skip "no right to make mount namespaces"
  command -v mmdebstrap >/dev/null || skip "mmdebstrap is not installed"
  work=$(mktemp -d)
  trap clean_up EXIT
  mkdir -p "$work/packages" "$work/cache"
  printf '# needs-mb: 400\nprocps\n' >"$work/packages/build.txt"
  printf '# needs-mb: 10\nhello\n' >"$work/packages/test.txt"
  export KINGLET_DEV_PACKAGES=$work/packages KINGLET_DEV_ENVIRONMENT=root XDG_CACHE_HOME=$work/cache
}

clean_up() {
  "$KINGLET_SOURCE/dev" clean --cache >/dev/null 2>&1 || true
  umount -R "$work/small" 2>/dev/null || true
  rm -rf --one-file-system "$work"
}

dev() { "$KINGLET_SOURCE/dev" "$@"; }
roots() { find "$XDG_CACHE_HOME/kinglet/roots" -mindepth 1 -maxdepth 1 -type d 2>/dev/null; }
processes() { pgrep -f "$work/cache/kinglet/roots" || true; }

# Waits until the root is half made.
wait_for_half() {
  local tries
  for ((tries = 0; tries < 1200; tries++)); do
    [[ -z $(find "$XDG_CACHE_HOME/kinglet/roots" -path '*.tmp/usr/bin/*' -print -quit 2>/dev/null) ]] || return 0
    kill -0 "$1" 2>/dev/null || {
      ! grep -qE "Could not resolve|Unable to connect|Failed to fetch|Temporary failure" "$work"/cache/kinglet/roots/*.log ||
        skip "the package mirror cannot be reached"
      fail "the start ended before the root was half made"
    }
    sleep 0.1
  done
  fail "nothing was made in two minutes"
}

nothing_runs() {
  local tries
  for ((tries = 0; tries < 100; tries++)); do
    [[ -n $(processes) ]] || return 0
    sleep 0.1
  done
  fail "still running: $(pgrep -af "$work/cache/kinglet/roots")"
}

nothing_is_mounted() { ! grep -q "$work/cache" /proc/self/mountinfo || fail "mounts are left"; }

# Ctrl-C or TERM: the unfinished root goes at once.
case_interrupted() {
  local child status=0
  "$KINGLET_SOURCE/dev" exec true >"$work/first.log" 2>&1 &
  child=$!
  wait_for_half "$child"
  kill -TERM "$child"
  wait "$child" || status=$?
  [[ $status == 143 ]] || fail "exit code $status, not 143"
  nothing_runs
  nothing_is_mounted
  [[ -z $(roots) ]] || fail "left behind: $(roots)"
  grep -q "interrupted" "$work/first.log" || fail "no word about the interruption"
}

# A killed start leaves no process and no mount; two later starts clean up, one makes the root, the other waits for it.
case_killed_then_two_at_once() {
  local child first second
  "$KINGLET_SOURCE/dev" exec true >"$work/killed.log" 2>&1 &
  child=$!
  wait_for_half "$child"
  kill -KILL "$child"
  wait "$child" 2>/dev/null || true
  nothing_runs
  nothing_is_mounted
  dev exec true >"$work/first.log" 2>&1 &
  first=$!
  dev exec true >"$work/second.log" 2>&1 &
  second=$!
  wait "$first" || fail "the first start failed"
  wait "$second" || fail "the second start failed"
  [[ $(grep -lE "making a Debian 13 root.*: [0-9.]+ s" "$work"/{first,second}.log | wc -l) == 1 ]] || fail "not made exactly once"
  [[ $(roots | wc -l) == 1 ]] || fail "more than one folder: $(roots)"
  check_second_start
  check_groups
  check_entering
  check_top_folders
}

check_second_start() {
  dev exec true >"$work/again.log" 2>&1 || fail "a later start failed"
  [[ ! -s $work/again.log ]] || fail "a later start had something to do"
}

# Two starts that add the same packages.
check_groups() {
  local first
  dev exec --with test hello >"$work/group1.log" 2>&1 &
  first=$!
  dev exec --with test hello >"$work/group2.log" 2>&1 || fail "adding a group failed"
  wait "$first" || fail "adding a group at the same time failed"
  [[ $(roots | wc -l) == 1 ]] || fail "a group made a root of its own"
}

# shellcheck disable=SC2016
check_entering() {
  local status=0 child
  dev exec sh -c 'exit 42' || status=$?
  [[ $status == 42 ]] || fail "exit code $status, not 42"
  [[ $(dev exec printf '%s|' "two words" '$HOME' '') == 'two words|$HOME||' ]] || fail "arguments changed"
  [[ $(cd "$work" && dev exec pwd) == "$work" ]] || fail "another working folder"
  [[ $(env -i CI=true XDG_CACHE_HOME="$XDG_CACHE_HOME" KINGLET_DEV_PACKAGES="$KINGLET_DEV_PACKAGES" \
    KINGLET_DEV_ENVIRONMENT=root PATH=/usr/bin:/bin "$KINGLET_SOURCE/dev" exec sh -c 'echo "$CI"' <&-) == true ]] ||
    fail "no start with an empty environment and a closed stdin"
  [[ -z $(LD_LIBRARY_PATH=/somewhere CXX=/somewhere dev exec sh -c 'echo $LD_LIBRARY_PATH$CXX') ]] || fail "variables leak in"
  "$KINGLET_SOURCE/dev" exec sh -c 'trap "exit 7" TERM; echo ready; while :; do sleep 0.1; done' >"$work/signal.log" &
  child=$!
  until grep -q ready "$work/signal.log"; do
    kill -0 "$child" || fail "the program ended"
    sleep 0.1
  done
  kill -TERM "$child"
  status=0
  wait "$child" || status=$?
  [[ $status == 7 ]] || fail "the signal's handler did not decide: $status, not 7"
}

# Any path given on the command line must work: what this machine has at its top, the command sees at the same place.
check_top_folders() {
  local path
  for path in /*/; do
    path=${path%/}
    case $path in
    /bin | /boot | /dev | /etc | /lib* | /lost+found | /proc | /run | /sbin | /sys | /usr | /var) continue ;;
    esac
    [[ "$(dev exec stat -Lc %i "$path")" == "$(stat -Lc %i "$path")" ]] || fail "$path is another folder inside"
  done
}

# An ordinary user, known only in a mount namespace of this test, makes a root of its own and enters it.
case_without_root() {
  local user=kinglet-guest id=54321
  [[ $(id -u) == 0 ]] || skip "needs root to become another user"
  command -v newuidmap >/dev/null || skip "newuidmap is not installed (package uidmap)"
  if [[ -z ${KINGLET_TEST_NAMESPACE:-} ]]; then
    clean_up
    trap - EXIT
    KINGLET_TEST_NAMESPACE=1 exec unshare --mount --propagation private "$0" without_root
  fi
  pretend_user "$user" "$id"
  as_user "$id" setsid --wait unshare --user --map-root-user --map-auto --mount true </dev/null &>"$work/why.log" || {
    pkill -KILL -U "$id" || true # the child that unshare left behind
    skip "an ordinary user may not make user namespaces here"
  }
  as_user "$id" "$work/tree/dev" exec sh -c 'id -u; touch made-inside' >"$work/out" 2>"$work/user.log" || {
    ! grep -qE "Could not resolve|Unable to connect|Temporary failure" "$work"/home/cache/kinglet/roots/*.log ||
      skip "the package mirror cannot be reached"
    fail "no start without root"
  }
  [[ $(cat "$work/out") == 0 ]] || fail "not root of the namespace but $(cat "$work/out")"
  [[ $(stat -c %u "$work/home/made-inside") == "$id" ]] || fail "a file made inside belongs to somebody else"
  as_user "$id" "$work/tree/dev" exec true 2>"$work/user2.log" || fail "the second start failed"
  [[ ! -s $work/user2.log ]] || fail "the second start had something to do"
  as_user "$id" "$work/tree/dev" clean --cache 2>>"$work/user.log" || fail "the root cannot be removed"
}

# pretend_user NAME ID: a line in this namespace's passwd, group, subuid and subgid, and a copy of ./dev it can read.
pretend_user() {
  local file
  mkdir -p "$work/home" "$work/tree" "$work/etc"
  cp -r "$KINGLET_SOURCE/dev" "$KINGLET_SOURCE/cross" "$work/tree/"
  for file in passwd group subuid subgid; do
    { cat /etc/$file 2>/dev/null || true; } >"$work/etc/$file"
    [[ -e /etc/$file ]] || : >/etc/$file
  done
  echo "$1:x:$2:$2::$work/home:/bin/sh" >>"$work/etc/passwd"
  echo "$1:x:$2:" >>"$work/etc/group"
  echo "$1:700000:65536" | tee -a "$work/etc/subuid" >>"$work/etc/subgid"
  for file in passwd group subuid subgid; do mount --bind "$work/etc/$file" "/etc/$file"; done
  chmod 755 "$work" "$work/packages"
  chmod 644 "$work"/etc/* "$work"/packages/*
  chown -R "$2:$2" "$work/home"
}

as_user() {
  local id=$1
  shift
  (cd "$work/home" && exec setpriv --reuid="$id" --regid="$id" --clear-groups env HOME="$work/home" \
    XDG_CACHE_HOME="$work/home/cache" "$@")
}

small_disk() {
  mkdir -p "$work/small"
  mount -t tmpfs -o size="$1" none "$work/small" 2>/dev/null || skip "no right to mount a small disk"
  export XDG_CACHE_HOME=$work/small
}

# Too little room is said before anything is fetched.
case_no_room() {
  local status=0
  small_disk 50m
  dev exec true >"$work/first.log" 2>&1 || status=$?
  [[ $status == 73 ]] || fail "exit code $status, not 73"
  grep -q "not enough room in $work/small.* 400 MB needed" "$work/first.log" || fail "no clear line"
  [[ -z $(roots) ]] || fail "left behind: $(roots)"
}

# The disk fills up while the root is made.
case_full_disk() {
  local status=0
  printf '# needs-mb: 1\nprocps\n' >"$work/packages/build.txt"
  small_disk 120m
  dev exec true >"$work/first.log" 2>&1 || status=$?
  ! grep -qE "Could not resolve|Unable to connect|Temporary failure" "$work"/small/kinglet/roots/*.log || skip "the package mirror cannot be reached"
  [[ $status == 73 ]] || fail "exit code $status, not 73"
  grep -q "the disk of $work/small.* is full" "$work/first.log" || fail "no clear line"
  [[ -z $(roots) ]] || fail "left behind: $(roots)"
  nothing_is_mounted
}

prepare
"case_$1"
