# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# Where Debian packages come from: the machine's own apt configuration, never a name of ours.

# Prints "ADDRESS SUITE" for each binary package source of this machine, Debian's own files first.
apt_sources() {
  local folder=${KINGLET_DEV_APT:-/etc/apt} file
  for file in "$folder"/sources.list "$folder"/sources.list.d/debian.sources \
    "$folder"/sources.list.d/*.list "$folder"/sources.list.d/*.sources; do
    [[ -r $file ]] || continue
    case $file in
    *.list) one_line_sources "$file" ;;
    *) deb822_sources "$file" ;;
    esac
  done
}

# deb [options] ADDRESS SUITE COMPONENTS...
one_line_sources() {
  sed -nE 's/^[[:space:]]*deb[[:space:]]+(\[[^]]*\][[:space:]]+)?([^[:space:]]+)[[:space:]]+([^[:space:]]+).*/\2 \3/p' "$1"
}

# Stanzas of "Field: values", apart by empty lines; a value may go on in the next line.
deb822_sources() {
  awk '
    function flush(  u, s, i, j, n, m) {
      if (types ~ /(^| )deb( |$)/ && enabled !~ /^(no|false|0)$/) {
        n = split(uris, u, " "); m = split(suites, s, " ")
        for (i = 1; i <= n; i++) for (j = 1; j <= m; j++) print u[i], s[j]
      }
      types = uris = suites = enabled = field = ""
    }
    function add(value) {
      gsub(/[ \t]+/, " ", value); sub(/^ /, "", value); sub(/ $/, "", value)
      if (field == "types") types = types " " value
      else if (field == "uris") uris = uris " " value
      else if (field == "suites") suites = suites " " value
      else if (field == "enabled") enabled = tolower(value)
    }
    /^[ \t]*#/ { next }
    /^[ \t]*$/ { flush(); next }
    /^[ \t]/ { add($0); next }
    { field = tolower($0); sub(/:.*/, "", field); value = $0; sub(/^[^:]*:/, "", value); add(value) }
    END { flush() }' "$1"
}

# Some cloud images name a file that lists the mirrors.
resolve_mirror() {
  case $1 in
  mirror+file:*) sed -nE 's/^[[:space:]]*([^#[:space:]]+).*/\1/p;/^[[:space:]]*[^#[:space:]]/q' "/${1#mirror+file:*(/)}" ;;
  *) printf '%s\n' "$1" ;;
  esac
}

debian_mirror() {
  local address suite codename
  [[ -z ${KINGLET_DEBIAN_MIRROR:-} ]] || {
    printf '%s\n' "$KINGLET_DEBIAN_MIRROR"
    return 0
  }
  codename=$(os_field VERSION_CODENAME)
  shopt -s extglob
  while read -r address suite; do
    case $suite in
    "$codename" | stable | oldstable | testing | unstable | sid)
      resolve_mirror "$address"
      return 0
      ;;
    esac
  done < <([[ $(os_field ID) != @(debian|raspbian) ]] || apt_sources)
  fail 69 "no Debian mirror in this machine's apt sources" \
    "set KINGLET_DEBIAN_MIRROR to the base address of a Debian mirror (it ends in /debian)"
}

os_field() { sed -nE "s/^$1=\"?([^\"]*)\"?\$/\\1/p" "${KINGLET_DEV_OS_RELEASE:-/etc/os-release}"; }
