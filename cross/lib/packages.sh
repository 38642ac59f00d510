# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# The package lists of cross/packages and their installation into the system that runs this shell:
# a Debian 13 machine, or our Debian 13 root from the inside.

package_folder() { printf '%s\n' "${KINGLET_DEV_PACKAGES:-$repository/cross/packages}"; }

group_file() {
  local file
  file=$(package_folder)/$1.txt
  [[ -r $file ]] || fail 64 "no package group \"$1\"" "groups are the files of cross/packages"
  printf '%s\n' "$file"
}

group_lines() { sed -E 's/#.*//; s/[[:space:]]+$//; /^$/d' "$(group_file "$1")"; }
group_packages() {
  local ours=d
  [[ ! -d /.kinglet ]] || ours='s/^root //'
  group_lines "$1" | sed -E "/^files /d; /^root /{$ours}"
}
group_file_packages() { group_lines "$1" | sed -n 's/^files //p'; }
group_mb() { sed -nE 's/^# needs-mb: ([0-9]+)/\1/p' "$(group_file "$1")"; }
group_hash() { group_lines "$1" | sha256sum | cut -c1-12; }

# Foreign packages mean nothing where arm64 is the machine itself.
group_applies() { [[ $1 != arm64 || $(dpkg --print-architecture) != arm64 ]]; }

group_mark() { printf '/.kinglet/groups/%s-%s\n' "$1" "$(group_hash "$1")"; }

# Reads package names, prints those that are not installed.
missing_packages() {
  local native
  native=$(dpkg --print-architecture)
  # shellcheck disable=SC2016
  awk -v native="$native" '
    NR == FNR { if ($1 == "ii") { have[$2 ":" $3] = 1; if ($3 == "all" || $3 == native) have[$2] = 1 } next }
    !($1 in have) { print $1 }' \
    <(dpkg-query -W -f='${db:Status-Abbrev} ${Package} ${Architecture}\n') -
}

as_root() {
  if is_root; then "$@"; else sudo "$@"; fi
}

apt_install() {
  quietly as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 \
    -o APT::Install-Recommends=false -o APT::Keep-Downloaded-Packages=false -o DPkg::Options::=--force-unsafe-io \
    install -y --no-remove "$@"
}

apt_update() { quietly as_root apt-get -qq -o DPkg::Lock::Timeout=600 update; }

# An earlier installation may have been killed half-way.
repair_packages() {
  [[ -z $(dpkg --audit 2>/dev/null) ]] || quietly as_root env DEBIAN_FRONTEND=noninteractive dpkg --configure -a
}

# Takes only the libraries out of packages that cannot be installed beside their native twins.
unpack_foreign_files() {
  local work file
  work=$(mktemp -d)
  (cd "$work" && quietly as_root apt-get -qq -o APT::Sandbox::User=root download "$@") || return
  for file in "$work"/*.deb; do
    dpkg-deb --fsys-tarfile "$file" | as_root tar -x -C / --wildcards './usr/lib/aarch64-linux-gnu/*'
  done
  rm -rf "$work"
}

# Installs what is missing of the groups.
install_groups() {
  local group missing=() files=()
  for group in "$@"; do
    group_applies "$group" || continue
    mapfile -t -O "${#missing[@]}" missing < <(group_packages "$group" | missing_packages)
    [[ -e $(group_mark "$group") ]] || mapfile -t -O "${#files[@]}" files < <(group_file_packages "$group")
  done
  repair_packages
  if ((${#missing[@]} + ${#files[@]} > 0)); then
    is_root || have sudo || fail 77 "these Debian packages are missing: ${missing[*]}" \
      "as root: apt-get install --no-install-recommends ${missing[*]}"
    [[ " ${missing[*]} " != *:arm64* ]] || as_root dpkg --add-architecture arm64
    step "reading package lists" apt_update || exit 69
    step "installing ${#missing[@]} packages and what they need" apt_install "${missing[@]}" || exit 69
    ((${#files[@]} == 0)) || step "adding arm64 libraries" unpack_foreign_files "${files[@]}" || exit 69
  fi
  [[ ! -d /.kinglet ]] || mark_groups "$@"
}

mark_groups() {
  local group
  as_root apt-get clean
  mkdir -p /.kinglet/groups
  for group in "$@"; do touch "$(group_mark "$group")"; done
}
