# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# ./dev package: the .deb files, and an apt repository of them. What is in them is decided by CMake's install rules; here they
# are wrapped, with what belongs to a package: manual pages, completion, a bill of materials. The same tree gives the same
# bytes: every time is that of the last commit (or SOURCE_DATE_EPOCH).

command_package() {
  local architecture check='' first_bird='' newer='' wanted='' folder='' key='' address='' given=("$@")
  while (($# > 0)); do
    case $1 in
    --check) check=yes ;;
    --first-bird) first_bird=yes ;;
    --newer-camera) newer=yes ;;
    --architecture=* | --repository=* | --key=* | --address=*) set -- x "${1%%=*}" "${1#*=}" "${@:2}" ;;
    --architecture) wanted=$(option_value "$@") && shift || exit ;;
    --repository) folder=$(option_value "$@") && shift || exit ;;
    --key) key=$(option_value "$@") && shift || exit ;;
    --address) address=$(option_value "$@") && shift || exit ;;
    *) fail 64 "package: unknown option \"$1\"" "--architecture, --check, --first-bird, --newer-camera, or --repository with --key and --address" ;;
    esac
    shift
  done
  [[ -z $folder || (-n $key && -n $address) ]] ||
    fail 64 "package: --repository needs --key (who signs) and --address (where it will lie)" \
      "./dev package --repository FOLDER --key birds@example.org --address https://example.org/kinglet"
  mapfile -t architectures < <(package_architectures "${wanted:-$(native_architecture)}")
  [[ -n ${architectures[*]} ]] || fail 64 "package: no architecture \"$wanted\" can be built here" "amd64, arm64 or all"
  in_environment "$(package_groups "$check" "$first_bird")" package "${given[@]}"
  export_build_variables
  deb_folder=$repository/build/packages
  for architecture in "${architectures[@]}"; do package_architecture "$architecture"; done
  ls -l "$deb_folder"/*.deb >&2
  [[ -z $check ]] || for architecture in "${architectures[@]}"; do check_packages "$architecture"; done
  [[ -z $first_bird ]] || for architecture in "${architectures[@]}"; do meet_first_bird "$architecture"; done
  [[ -z $folder ]] || step "making an apt repository in $folder" publish_packages "$folder" "$key" "$address" || exit
}

# What was just made, not what lies beside it from another day.
publish_packages() {
  local architecture packages=()
  for architecture in "${architectures[@]}"; do packages+=("$deb_folder"/*_"$architecture".deb); done
  "$repository/cross/package/make-repository" "$@" "${packages[@]}"
}

native_architecture() { dpkg --print-architecture; }

# Only this machine's, unless another one is asked for: the other is a second build of everything.
package_architectures() {
  case $1 in
  "$(native_architecture)" | arm64) printf '%s\n' "$1" ;;
  all) printf '%s\n' "$(native_architecture)" arm64 | sort -u ;;
  esac
}

package_groups() {
  printf 'build package%s%s%s\n' "$([[ "${architectures[*]}" == "$(native_architecture)" ]] || printf ' arm64')" \
    "${1:+ test}" "${2:+ test browser}"
}

preset_of() {
  if [[ $1 == "$(native_architecture)" ]]; then printf 'release\n'; else printf '%s\n' "$1"; fi
}

package_architecture() {
  local programs
  mapfile -t programs < <(camera_program "$1")
  build_preset "$(preset_of "$1")" kingletd kinglet "${programs[@]}"
  rm -f "$deb_folder"/*_"$1".deb
  step "packing $1" make_packages "$1" || exit
  [[ -z $newer ]] || package_newer_camera "$1"
}

# Without libcamera's headers there is no camera program, and its packages are left out.
camera_program() {
  local preset
  preset=$(preset_of "$1")
  configure "$preset"
  ! has_target "$preset" kinglet-camera || printf 'kinglet-camera\n'
}

make_packages() {
  local stamp stage
  stamp=$(source_time)
  # Not this user's taste of who may read.
  umask 022
  mkdir -p "$deb_folder"
  stage=$repository/build/stage/$1
  rm -rf "$stage"
  install_component Unspecified "$1" "$stage/kinglet" || return
  add_tool_files "$1" "$stage/kinglet" || return
  finish_package kinglet kinglet "$1" "$stage/kinglet" || return
  [[ -n $(camera_program "$1") ]] || return 0
  make_camera_program "$1" "$repository/build/$(preset_of "$1")" || return
  finish_package kinglet-camera kinglet-camera "$1" "$stage/camera"
}

# make_camera_program ARCHITECTURE BUILD: named after the libcamera that it was built with.
make_camera_program() {
  local camera stage=$repository/build/stage/$1/program
  rm -rf "$stage"
  install_component camera "$1" "$stage" "$2" || return
  camera=$(libcamera_of "$stage/usr/bin/kinglet-camera")
  [[ -n $camera ]] || fail 70 "kinglet-camera does not say which libcamera it needs"
  write_manual "$1" "$stage" kinglet-camera || return
  finish_package "kinglet-camera-$camera" kinglet-camera-program "$1" "$stage"
}

# The same program for the libcamera of backports, which is about that of Raspberry Pi OS: on a machine that is none. Without
# a path to that libcamera, which would make its build id another one in each folder.
package_newer_camera() {
  local stamp folder=$repository/build/camera-newer-$1 newer_libraries preset
  stamp=$(source_time) preset=$(preset_of "$1")
  step "fetching the libcamera of backports for $1" quietly fetch_newer_libcamera "$folder" "$1" || exit
  newer_libraries=$(dirname "$(find "$folder/root/usr/lib" -name libcamera.so | head -1)")
  PKG_CONFIG_PATH=$newer_libraries/pkgconfig step "configuring for libcamera $(<"$folder/version")" \
    quietly cmake -S "$repository" --preset "$preset" -B "$folder/build" -DCMAKE_SKIP_RPATH=ON \
    "-DCMAKE_EXE_LINKER_FLAGS=-Wl,-rpath-link,$newer_libraries" "-DKINGLET_ENGINE_FROM=$repository/build/$preset" || exit
  step "building kinglet-camera with libcamera $(<"$folder/version")" cmake --build "$folder/build" -j "$(job_count)" \
    --target kinglet-camera </dev/null >&2 || exit
  step "packing it" make_camera_program "$1" "$folder/build" || exit
}

# install_component COMPONENT ARCHITECTURE STAGE [BUILD]
install_component() {
  mkdir -p "$3/DEBIAN"
  DESTDIR=$3 quietly cmake --install "${4:-$repository/build/$(preset_of "$2")}" --strip --component "$1"
}

# What the tool tells of itself: manual pages and completion.
add_tool_files() {
  local stage=$2 share=$2/usr/share
  write_manual "$1" "$stage" kinglet kingletd || return
  mkdir -p "$share/bash-completion/completions" "$share/zsh/vendor-completions" "$share/fish/vendor_completions.d"
  run_built "$1" kinglet completion bash >"$share/bash-completion/completions/kinglet" &&
    run_built "$1" kinglet completion zsh >"$share/zsh/vendor-completions/_kinglet" &&
    run_built "$1" kinglet completion fish >"$share/fish/vendor_completions.d/kinglet.fish"
}

# write_manual ARCHITECTURE STAGE PROGRAM...
write_manual() {
  local architecture=$1 stage=$2 programs pages file emulator
  shift 2
  programs=$(mktemp -d) pages=$(mktemp -d)
  ln -s "${@/#/$repository/build/$(preset_of "$architecture")/bin/}" "$programs"
  mapfile -t emulator < <(emulator_of "$architecture")
  "$repository/cross/package/man-pages" "$programs" "$pages" "$(package_version)" "$stamp" "${emulator[@]}" || return
  for file in "$pages"/*; do install -D -m 644 "$file" "$stage/usr/share/man/man${file##*.}/${file##*/}"; done
  gzip -9n "$stage"/usr/share/man/man*/*
  rm -rf "$programs" "$pages"
}

emulator_of() { [[ $1 == "$(native_architecture)" ]] || printf '%s\n' "$repository/cross/run-arm64"; }

run_built() {
  local emulator
  mapfile -t emulator < <(emulator_of "$1")
  "${emulator[@]}" "$repository/build/$(preset_of "$1")/bin/$2" "${@:3}"
}

# The version in the name of the library, which changes with every minor version: 0.4, 0.7.
libcamera_of() { readelf -d "$1" | sed -nE 's/.*\[libcamera\.so\.([0-9]+\.[0-9]+)\].*/\1/p'; }

# finish_package NAME TEMPLATE ARCHITECTURE STAGE: TEMPLATE names the files of cross/debian.
finish_package() {
  local name=$1 template=$2 architecture=$3 stage=$4 documents=$4/usr/share/doc/$1
  no_file_is_the_owners "$stage"
  mkdir -p "$stage/DEBIAN"
  install -D -m 644 "$repository/cross/debian/copyright" "$documents/copyright"
  gzip -9nc "$repository/cross/debian/changelog" >"$documents/changelog.Debian.gz"
  install -D -m 644 "$repository/cross/debian/lintian-overrides" "$stage/usr/share/lintian/overrides/$name"
  [[ ! -e $documents/changelog ]] || gzip -9n "$documents/changelog"
  write_scripts "$template" "$stage"
  write_control "$name" "$template" "$architecture" "$stage" || return
  "$repository/cross/package/sbom" "$stage" "$name" "$(package_version)" "$architecture" \
    "$(sed -n 's/^Depends: //p' "$stage/DEBIAN/control")" "$stamp" || return
  (cd "$stage" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' | LC_ALL=C sort -z | xargs -0 md5sum) >"$stage/DEBIAN/md5sums"
  find "$stage" -exec touch --no-dereference --date="@$stamp" {} +
  # More threads would cut what is compressed into other blocks on another machine.
  SOURCE_DATE_EPOCH=$stamp quietly dpkg-deb --root-owner-group -Zxz --threads-max=1 --build "$stage" \
    "$deb_folder/${name}_$(package_version)_$architecture.deb"
}

package_version() { dpkg-parsechangelog --file "$repository/cross/debian/changelog" --show-field Version; }

source_time() {
  [[ -z ${SOURCE_DATE_EPOCH:-} ]] || { printf '%s\n' "$SOURCE_DATE_EPOCH" && return 0; }
  git -C "$repository" log -1 --format=%ct 2>/dev/null ||
    dpkg-parsechangelog --file "$repository/cross/debian/changelog" --show-field Timestamp
}

write_scripts() {
  local template=$1 stage=$2 script
  for script in postinst prerm postrm; do
    [[ ! -e $repository/cross/debian/$template.$script ]] ||
      install -m 755 "$repository/cross/debian/$template.$script" "$stage/DEBIAN/$script"
  done
}

# Once an owner has changed such a file, dpkg asks about each version of it, and updates that nobody watches stop for good.
no_file_is_the_owners() {
  [[ ! -d $1/etc || -z $(find "$1/etc" ! -type d) ]] ||
    fail 70 "a package has no files below /etc, where the owner writes: $(cd "$1" && find etc ! -type d -printf '%p ')" "/usr/share/doc/kinglet"
}

# write_control NAME TEMPLATE ARCHITECTURE STAGE
write_control() {
  local libraries='' camera=''
  [[ $1 != kinglet-camera-* ]] || camera=${1#kinglet-camera-}
  [[ ! -d $4/usr/bin ]] || libraries=$(shared_libraries "$3" "$4"/usr/bin/*) || return
  fill_control "$2" "$(package_version)" "$3" "$libraries" "$camera" "$(du -sk --apparent-size "$4" | cut -f1)" >"$4/DEBIAN/control"
}

# fill_control TEMPLATE VERSION ARCHITECTURE LIBRARIES LIBCAMERA KILOBYTES: what a package says of itself.
fill_control() {
  local next=
  [[ -z $5 ]] || next=${5%.*}.$((${5##*.} + 1))
  sed -e "s|@VERSION@|$2|g; s|@ARCHITECTURE@|$3|; s|@SHLIBS@|$4|; s|@ABI@|$5|g; s|@NEXT_ABI@|$next|g" \
    -e "s|@SIZE@|$6|" "$repository/cross/debian/$1.control"
}

# shared_libraries ARCHITECTURE PROGRAM...: the packages whose libraries these programs need; that of libcamera (`camera`,
# perhaps not of this system but in `newer_libraries`) stands in the control file.
shared_libraries() {
  local architecture=$1 work status=0
  shift
  work=$(mktemp -d)
  mkdir -p "$work/debian"
  printf 'Source: kinglet\n\nPackage: kinglet\nArchitecture: any\n' >"$work/debian/control"
  (cd "$work" && DEB_HOST_ARCH=$architecture dpkg-shlibdeps -O ${camera:+"-xlibcamera$camera"} \
    ${newer_libraries:+--ignore-missing-info "-l$newer_libraries"} "${@/#/-e}" 2>"$work/errors") | sed -n 's/^shlibs:Depends=//p' || status=$?
  ((status == 0)) || cat "$work/errors" >&2
  rm -rf "$work"
  return "$status"
}

check_packages() {
  no_program_tells_where "$1"
  step "lintian for $1" lintian_judges "$1" || exit
  step "installing $1 in a clean Debian 13" "$repository/cross/check-package" "$deb_folder" "$1" || exit
}

# Paths in messages, of this folder or from the build's: another folder, or a build without the cache, gives other bytes.
no_program_tells_where() {
  local told
  told=$(grep -laE "\.\./\.\./[a-z]+/|$repository/" "$repository/build/stage/$1"/*/usr/bin/*) || return 0
  fail 70 "these programs tell where they were built, so that two builds differ: ${told//$'\n'/, }" "-ffile-prefix-map in cmake/options.cmake"
}

# How long a new owner takes until a bird is named: commands, taps and seconds.
meet_first_bird() {
  [[ -d ${KINGLET_CORPUS:-$repository/../shared/corpus}/tflite ]] ||
    fail 69 "--first-bird needs the corpus: photographs for the camera, and the model" "KINGLET_CORPUS names its folder"
  fetch_page_modules
  PAGE_MODULES=$(page_modules_folder) step "waiting for the first bird on $1" "$repository/cross/check-package" "$deb_folder" "$1" first-bird || exit
}

lintian_judges() {
  lintian --no-cfg --allow-root --fail-on error,warning --tag-display-limit 0 "$deb_folder"/*_"$1".deb >&2
}
