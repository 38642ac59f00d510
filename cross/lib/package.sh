# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# ./dev package: the .deb files. What is in them is decided by CMake's install rules; here they are only wrapped.

readonly package_names=(kinglet kinglet-camera)

command_package() {
  local architecture programs check='' given=("$@")
  while (($# > 0)); do
    case $1 in
    --check) check=yes ;;
    *) fail 64 "package: unknown option \"$1\"" "--check" ;;
    esac
    shift
  done
  in_environment "build arm64${check:+ test}" package "${given[@]}"
  export_build_variables
  for architecture in $(package_architectures); do
    mapfile -t programs < <(camera_program "$architecture")
    build_preset "$(preset_of "$architecture")" kingletd kinglet "${programs[@]}"
    step "packing $architecture" make_packages "$architecture" || exit
  done
  ls -l "$repository"/build/packages/*.deb >&2
  [[ -n $check ]] || return 0
  for architecture in $(package_architectures); do
    step "installing $architecture in a clean Debian 13" "$repository/cross/check-package" "$repository/build/packages" \
      "$architecture" || exit
  done
}

native_architecture() { dpkg --print-architecture; }

package_architectures() {
  native_architecture
  [[ $(native_architecture) == arm64 ]] || printf 'arm64\n'
}

preset_of() {
  if [[ $1 == "$(native_architecture)" ]]; then printf 'release\n'; else printf '%s\n' "$1"; fi
}

# Without libcamera's headers there is no camera program, and its package is left out.
camera_program() {
  local preset
  preset=$(preset_of "$1")
  configure "$preset"
  ! has_target "$preset" kinglet-camera || printf 'kinglet-camera\n'
}

make_packages() {
  local name
  mkdir -p "$repository/build/packages"
  for name in "${package_names[@]}"; do
    [[ $name != kinglet-camera || -n $(camera_program "$1") ]] || continue
    make_package "$name" "$1" || return
  done
}

make_package() {
  local name=$1 architecture=$2 stage=$repository/build/stage/$2/$1
  rm -rf "$stage"
  mkdir -p "$stage/DEBIAN"
  DESTDIR=$stage quietly cmake --install "$repository/build/$(preset_of "$architecture")" --strip \
    --component "$(component_of "$name")" || return
  install -D -m 644 "$repository/cross/debian/copyright" "$stage/usr/share/doc/$name/copyright"
  write_scripts "$name" "$stage"
  write_control "$name" "$architecture" "$stage" || return
  (cd "$stage" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' | sort -z | xargs -0 md5sum) >"$stage/DEBIAN/md5sums"
  SOURCE_DATE_EPOCH=$(source_time) quietly dpkg-deb --root-owner-group --build "$stage" \
    "$repository/build/packages/${name}_$(package_version)_$architecture.deb"
}

component_of() { if [[ $1 == kinglet-camera ]]; then printf 'camera\n'; else printf 'Unspecified\n'; fi; }

package_version() { printf '%s-1\n' "$(sed -nE 's/^project\(kinglet VERSION ([0-9.]+).*/\1/p' "$repository/CMakeLists.txt")"; }

source_time() { git -C "$repository" log -1 --format=%ct 2>/dev/null || printf '0\n'; }

write_scripts() {
  local name=$1 stage=$2 script
  for script in postinst prerm postrm; do
    [[ ! -e $repository/cross/debian/$name.$script ]] ||
      install -m 755 "$repository/cross/debian/$name.$script" "$stage/DEBIAN/$script"
  done
  [[ ! -d $stage/etc ]] || (cd "$stage" && find etc -type f -printf '/%p\n') >"$stage/DEBIAN/conffiles"
}

write_control() {
  local name=$1 architecture=$2 stage=$3 libraries
  libraries=$(shared_libraries "$architecture" "$stage"/usr/bin/*) || return
  sed -e "s|@VERSION@|$(package_version)|; s|@ARCHITECTURE@|$architecture|; s|@SHLIBS@|$libraries|" \
    -e "s|@SIZE@|$(du -sk "$stage" | cut -f1)|" "$repository/cross/debian/$name.control" >"$stage/DEBIAN/control"
}

# shared_libraries ARCHITECTURE PROGRAM...: the packages whose libraries these programs need.
shared_libraries() {
  local architecture=$1 work status=0
  shift
  work=$(mktemp -d)
  mkdir -p "$work/debian"
  printf 'Source: kinglet\n\nPackage: kinglet\nArchitecture: any\n' >"$work/debian/control"
  (cd "$work" && DEB_HOST_ARCH=$architecture dpkg-shlibdeps -O "${@/#/-e}" 2>"$work/errors") |
    sed -n 's/^shlibs:Depends=//p' || status=$?
  ((status == 0)) || cat "$work/errors" >&2
  rm -rf "$work"
  return "$status"
}
