# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# Messages, times and folders that every part of ./dev uses. Messages go to stderr: stdout belongs to the command.

say() { printf 'dev: %s\n' "$*" >&2; }

# fail CODE WHAT [HINT]: one line saying what is wrong, one saying what to do. Codes as in sysexits.h.
fail() {
  printf 'dev: %s\n' "$2" >&2
  [[ -z ${3:-} ]] || printf 'hint: %s\n' "$3" >&2
  exit "$1"
}

# step TEXT COMMAND...: says what begins and how long it took.
step() {
  local text=$1 begin=$EPOCHREALTIME status=0
  shift
  say "$text ..."
  "$@" || status=$?
  ((status == 0)) || {
    say "$text: failed after $(seconds_since "$begin") s"
    return "$status"
  }
  say "$text: $(seconds_since "$begin") s"
}

seconds_since() {
  local tenths=$(((${EPOCHREALTIME/[.,]/} - ${1/[.,]/}) / 100000))
  printf '%d.%d' $((tenths / 10)) $((tenths % 10))
}

# A service or CI job may have no HOME, or one that cannot be written.
ensure_home() {
  [[ -d ${HOME:-} && -w $HOME ]] || HOME=$(getent passwd "$(id -u)" | cut -d: -f6)
  [[ -d ${HOME:-} && -w $HOME ]] || {
    HOME=/tmp/kinglet-home-$(id -u)
    mkdir -m 700 "$HOME" 2>/dev/null || true
    [[ -O $HOME ]] || fail 73 "$HOME belongs to somebody else" "set HOME to a folder of your own"
  }
  export HOME
}

cache_folder() {
  local base=${XDG_CACHE_HOME:-}
  [[ $base == /* ]] || base=$HOME/.cache
  printf '%s/kinglet\n' "$base"
}

free_mb() { df --block-size=1M --output=avail "$1" | tail -n 1 | tr -d ' '; }

is_root() { [[ $(id -u) == 0 ]]; }

have() { command -v "$1" >/dev/null 2>&1; }

# Prints the output of a command only if it fails.
quietly() {
  local log status=0
  log=$(mktemp)
  "$@" </dev/null >"$log" 2>&1 || status=$?
  ((status == 0)) || cat "$log" >&2
  rm -f "$log"
  return "$status"
}
