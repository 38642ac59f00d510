# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# Making, finding and removing the Debian 13 root. Each is made as KEY.tmp under a lock and renamed when it is whole,
# in a process namespace of its own, so that no death of ours leaves a running child or a mount behind.

readonly root_suite=trixie
# Raise when the way a root is made changes.
readonly root_recipe=1

root_key() { printf '%s-%s\n' "$root_suite" "$({ echo "$root_recipe"; dpkg --print-architecture; group_lines build; } | sha256sum | cut -c1-12)"; }
roots_folder() { printf '%s/roots\n' "$(cache_folder)"; }

# Sets `namespace`: the options of unshare with which this user acts as root of the root's files. An ordinary user
# without a range of ids can enter a root but not make one ("create").
find_namespace() {
  namespace=()
  if is_root && unshare --mount true 2>/dev/null; then
    return 0
  elif is_root && unshare --user --map-root-user --mount true 2>/dev/null; then
    namespace=(--user --map-root-user)
  elif can_map_ids; then
    namespace=(--user --map-root-user --map-auto)
  elif [[ ${1:-} != create ]] && unshare --user --map-root-user --mount true 2>/dev/null; then
    namespace=(--user --map-root-user)
  else
    no_namespaces
  fi
}

# Where the ids may not be mapped, unshare leaves a child behind that waits for ever: it must hold none of our pipes, and
# ends with its session.
can_map_ids() {
  local child status=0
  setsid --wait unshare --user --map-root-user --map-auto --mount true </dev/null &>/dev/null &
  child=$!
  wait "$child" || status=1
  pkill -KILL --session "$child" 2>/dev/null || true
  return "$status"
}

no_namespaces() {
  if is_root; then
    fail 69 "this machine forbids mounts and user namespaces, so no Debian 13 root can be made or entered" \
      "run on Debian 13, or give the container CAP_SYS_ADMIN"
  fi
  have newuidmap || fail 69 "newuidmap is missing, which a Debian 13 root needs for an ordinary user" \
    "as root: apt-get install uidmap mmdebstrap; or run ./dev as root"
  grep -q "^$(id -un):" /etc/subuid /etc/subgid 2>/dev/null || fail 69 "no lines for $(id -un) in /etc/subuid and /etc/subgid" \
    "as root: usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $(id -un)"
  fail 69 "this machine does not let $(id -un) make user namespaces" "run ./dev as root, or allow them (sysctl user.max_user_namespaces)"
}

# Removes a root, whoever owns its files, and never what is mounted in it.
remove_root() {
  local path=$1
  [[ -e $path ]] || return 0
  ! grep -qF " $path/" /proc/self/mountinfo || fail 75 "something is mounted below $path" "unmount it first"
  find_namespace
  unshare "${namespace[@]}" --mount rm -rf --one-file-system "$path"
}

check_space() {
  local folder=$1 need=$2 free
  free=$(free_mb "$folder")
  ((free >= need)) || fail 73 "not enough room in $folder: $free MB free, about $need MB needed" \
    "free some, or set XDG_CACHE_HOME to a folder on a larger disk"
}

need_mmdebstrap() {
  have mmdebstrap && return 0
  if is_root || { have sudo && sudo -n true 2>/dev/null; }; then
    step "reading this machine's package lists" apt_update
    step "installing mmdebstrap on this machine" apt_install mmdebstrap
  else
    fail 69 "mmdebstrap is missing" "as root: apt-get install mmdebstrap uidmap; or run ./dev as root"
  fi
}

# Sets `root` to the root of this key, made now if there is none. All in this process: should it be killed, the
# kernel ends the rest.
ensure_root() {
  root=$(roots_folder)/$(root_key)
  [[ -e $root/.kinglet/ready ]] && return 0
  mkdir -p "$(roots_folder)" || fail 73 "cannot create $(roots_folder)" "set XDG_CACHE_HOME to a folder of your own"
  lock_root "another start that makes the root"
  [[ -e $root/.kinglet/ready ]] || {
    remove_root "$root.tmp"
    check_space "$(roots_folder)" "$(group_mb build)"
    need_mmdebstrap
    step "making a Debian 13 root in $root ($(group_packages build | wc -l) packages and what they need)" make_root
  }
  exec 9>&-
}

lock_root() {
  exec 9>"$root.lock"
  flock --nonblock 9 || step "waiting for $1" flock 9
}

make_root() {
  local child status=0 mirror
  mirror=$(debian_mirror) || exit
  find_namespace create
  # The lock stays open in the child on purpose: should this shell be killed, nobody else begins before it is gone.
  { keep_only_lock && exec setpriv --pdeathsig KILL unshare "${namespace[@]}" --mount --pid --fork --kill-child --mount-proc \
    mmdebstrap "${mmdebstrap_options[@]}" --include="$(group_packages build | paste -sd,)" \
    --aptopt="Acquire::http::Proxy \"$(apt_proxy)\"" "$root_suite" "$root.tmp" \
    "deb $mirror $root_suite main" "deb $mirror $root_suite-updates main" ; } </dev/null > >(follow_log "$root.log") 2>&1 &
  child=$!
  trap 'stop_making "$child" 130' INT
  trap 'stop_making "$child" 143' TERM HUP
  wait "$child" || status=$?
  ((status == 0)) || explain_failure
  finish_root "$root.tmp"
  mv -T "$root.tmp" "$root"
  trap - INT TERM HUP
}

# What this was started with may have files open (ctest has): mmdebstrap then hands apt's shell a number of two digits,
# which dash does not take.
keep_only_lock() {
  local file number
  for file in /proc/self/fd/*; do
    number=${file##*/}
    ((number < 3 || number == 9)) || eval "exec $number>&-"
  done
}

readonly mmdebstrap_options=(
  --mode=root --variant=minbase --dpkgopt=force-unsafe-io '--aptopt=Apt::Install-Recommends "false"'
  '--dpkgopt=path-exclude=/usr/share/doc/*' '--dpkgopt=path-exclude=/usr/share/man/*'
  '--dpkgopt=path-exclude=/usr/share/locale/*'
)

apt_proxy() { apt-config shell proxy Acquire::http::Proxy | sed -nE "s/^proxy='(.*)'\$/\\1/p"; }

# Keeps the whole log in a file and shows its headings.
follow_log() {
  local line begin=$EPOCHREALTIME
  : >"$1"
  while IFS= read -r line; do
    printf '%s\n' "$line" >>"$1" 2>/dev/null || true
    [[ $line != "I: "* ]] || printf 'dev:   %5s s  %s\n' "$(seconds_since "$begin")" "${line#I: }" >&2
  done
}

# Ending the first process of the namespace ends all others, and unshare returns when they are gone.
stop_making() {
  local children=()
  trap '' INT TERM HUP
  read -r -a children <"/proc/$1/task/$1/children" || true
  kill -KILL "${children[@]:-$1}" 2>/dev/null || true
  wait "$1" 2>/dev/null || true
  remove_root "$root.tmp"
  say "interrupted; the unfinished root was removed"
  exit "$2"
}

explain_failure() {
  local free
  free=$(free_mb "$(roots_folder)")
  remove_root "$root.tmp"
  if grep -qE "No space left on device|enough free space" "$root.log" || ((free < 20)); then
    fail 73 "the disk of $(roots_folder) is full ($free MB were free); the unfinished root was removed" \
      "free some, or set XDG_CACHE_HOME to a folder on a larger disk"
  fi
  tail -n 8 "$root.log" >&2
  fail 69 "the Debian 13 root could not be made; the whole log: $root.log" \
    "is the package mirror reachable? If so, start again"
}

# No service is to be started when packages are added later.
finish_root() {
  printf '#!/bin/sh\nexit 101\n' >"$1/usr/sbin/policy-rc.d"
  chmod 755 "$1/usr/sbin/policy-rc.d"
  mkdir -p "$1/.kinglet/groups"
  touch "$1/.kinglet/groups/build-$(group_hash build)" "$1/.kinglet/ready"
}

# Adds groups to the root; one start at a time.
ensure_root_groups() {
  local group need=0 wanted=()
  for group in "$@"; do
    [[ -e $root$(group_mark "$group") ]] || {
      wanted+=("$group")
      need=$((need + $(group_mb "$group")))
    }
  done
  ((${#wanted[@]} > 0)) || return 0
  lock_root "another start that adds packages"
  check_space "$root" "$need"
  step "adding to the Debian 13 root: ${wanted[*]}" enter_root "$repository/dev" --install-groups "${wanted[@]}" || exit
  exec 9>&-
}
