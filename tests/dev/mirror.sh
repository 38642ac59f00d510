#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# mirror.sh: the Debian mirror is found in every form that apt's configuration has.
set -euo pipefail
# Set only for the parts of ./dev that are read here.
# shellcheck disable=SC2034
repository=$KINGLET_SOURCE
# shellcheck source=/dev/null
source "$KINGLET_SOURCE/cross/lib/common.sh"
# shellcheck source=/dev/null
source "$KINGLET_SOURCE/cross/lib/mirror.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export KINGLET_DEV_APT=$work/apt KINGLET_DEV_OS_RELEASE=$work/os-release
unset KINGLET_DEBIAN_MIRROR
printf 'ID=debian\nVERSION_CODENAME=bookworm\n' >"$work/os-release"

# expect NAME ADDRESS: the configuration in $work/apt gives this address.
expect() {
  local found
  found=$(debian_mirror 2>&1) || true
  [[ $found == "$2" ]] || {
    echo "FAILED: $1: found \"$found\", expected \"$2\""
    exit 1
  }
  rm -rf "$work/apt"
}

begin() { mkdir -p "$work/apt/sources.list.d"; }

begin
printf '# deb http://commented.test/debian bookworm main\ndeb [arch=amd64 signed-by=/x.gpg] http://one.test/debian bookworm main\n' >"$work/apt/sources.list"
expect "one-line form with options" http://one.test/debian

begin
printf 'deb-src http://src.test/debian bookworm main\n' >"$work/apt/sources.list"
printf 'Types: deb deb-src\n# a comment\nURIs: http://two.test/mirror/debian/\nSuites: bookworm bookworm-updates\nComponents: main\n' >"$work/apt/sources.list.d/debian.sources"
expect "deb822 form" http://two.test/mirror/debian/

begin
printf 'Types: deb\nURIs: http://off.test/debian\nSuites: bookworm\nEnabled: no\n\nTypes: deb\nURIs:\n http://three.test/debian\nSuites: stable\n' >"$work/apt/sources.list.d/debian.sources"
expect "disabled stanza, value in the next line" http://three.test/debian

begin
printf 'deb http://other.test/apt nodistro main\n' >"$work/apt/sources.list.d/a.list"
printf 'Types: deb\nURIs: http://security.test/debian-security\nSuites: bookworm-security\n\nTypes: deb\nURIs: http://four.test/debian\nSuites: bookworm\n' >"$work/apt/sources.list.d/z.sources"
expect "other programs' sources are passed over" http://four.test/debian

begin
printf 'http://five.test/debian\tpriority:1\n' >"$work/list"
printf 'Types: deb\nURIs: mirror+file://%s\nSuites: bookworm\n' "$work/list" >"$work/apt/sources.list.d/debian.sources"
expect "a file that lists mirrors" http://five.test/debian

begin
printf 'ID=ubuntu\nVERSION_CODENAME=noble\n' >"$work/os-release"
printf 'deb http://six.test/ubuntu noble main\n' >"$work/apt/sources.list"
expect "another distribution" "dev: no Debian mirror in this machine's apt sources
hint: set KINGLET_DEBIAN_MIRROR to the base address of a Debian mirror (it ends in /debian)"

export KINGLET_DEBIAN_MIRROR=http://seven.test/debian
begin
expect "the user's own word" http://seven.test/debian
echo "all forms read"
