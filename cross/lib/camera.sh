# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# ./dev camera-test: the road of a libcamera frame without a camera. libcamera is real in all parts: natively also under
# sanitizers, and as arm64 programs in emulated machines, with its virtual cameras or before a USB camera.

command_camera-test() {
  local parts=(native machine usb) given=("$@") part
  while (($# > 0)); do
    case $1 in
    --native) parts=(native) ;;
    --machine) parts=(machine) ;;
    --usb) parts=(usb) ;;
    --newer) parts=(newer) ;;
    *) fail 64 "camera-test: unknown option \"$1\"" "--native, --machine, --usb or --newer; the first three without any" ;;
    esac
    shift
  done
  in_environment "build gtest test$([[ ${parts[*]} == newer ]] || printf ' arm64 emulation')" camera-test "${given[@]}"
  export_build_variables
  for part in "${parts[@]}"; do camera_"$part"; done
}

camera_native() {
  local preset
  build_tiers tests camera
  build_preset tests kingletd
  for preset in asan tsan; do build_tiers "$preset" camera; done
  step "libcamera's virtual cameras, also under sanitizers" camera_tests_of tests asan tsan || exit
}

# camera_tests_of PRESET...: all at once, because they wait for cameras most of the time.
camera_tests_of() {
  local preset logs status=0
  local -A running=()
  logs=$(mktemp -d)
  for preset in "$@"; do
    DEV_BUILD_FOLDER=$repository/build "$repository/tests/dev/nested.sh" "$preset" camera </dev/null >"$logs/$preset" 2>&1 &
    running[$preset]=$!
  done
  for preset in "$@"; do
    wait "${running[$preset]}" || status=1
    "$repository/cross/test-summary.py" "$repository/build/tests/junit-$preset.xml" <"$logs/$preset"
  done
  rm -rf "$logs"
  return "$status"
}

camera_machine() {
  local folder=$repository/build/camera-machine
  collect_camera_machine "$folder"
  step "two cameras in an emulated Raspberry Pi of 512 MB" camera_machine_test machine_test.py "$folder" || exit
}

# A USB camera that can be pulled out, before Linux's own driver.
camera_usb() {
  local folder=$repository/build/usb-machine kernel=$repository/build/usb-kernel
  collect_camera_machine "$folder"
  [[ -e $kernel/boot ]] ||
    step "fetching Debian's whole kernel for arm64, which has USB" quietly fetch_usb_kernel "$kernel" || exit
  export USB_KERNEL=$kernel
  step "a USB camera in an emulated Raspberry Pi of 512 MB" camera_machine_test usb_test.py "$folder" || exit
}

collect_camera_machine() {
  emulated_machine
  # Builds of which ./dev test has most already.
  build_preset arm64-tests kingletd kinglet-camera
  build_preset tests kinglet
  step "collecting the programs and their libraries" collect_machine "$1" arm64-tests kingletd kinglet-camera || exit
  quietly "$repository/build/tests/bin/kinglet" demo-frames --seed 7 --count 4 --size 320x240 --out "$1/drawn" || exit
}

camera_machine_test() {
  EMULATOR=$emulator MACHINE_FOLDER=$2 SOURCE_FOLDER=$repository KINGLETD=$2/kingletd \
    PYTHONPATH=$repository/tests/e2e/daemon PYTHONDONTWRITEBYTECODE=1 \
    python3 "$repository/tests/e2e/camera/$1" </dev/null
}

# fetch_usb_kernel FOLDER: what the package holds, unpacked. Debian's cloud kernel, which the emulator has, knows no USB.
fetch_usb_kernel() {
  local folder=$1 name
  name=$(apt-cache depends linux-image-arm64:arm64 | sed -nE 's/^ *Depends: (linux-image-[0-9].*)/\1/p' | head -1)
  [[ -n $name ]] || fail 69 "no kernel for arm64 in the package lists"
  rm -rf "$folder" "$folder.new"
  mkdir -p "$folder.new"
  (cd "$folder.new" && apt-get -o APT::Sandbox::User=root download "$name" && dpkg -x ./*.deb . && rm -f ./*.deb)
  mv "$folder.new" "$folder"
}

# kinglet-camera with the libcamera of Debian's backports: Raspberry Pi OS is about as new. Nothing is installed.
camera_newer() {
  local folder=$repository/build/camera-newer libraries
  step "fetching the libcamera of backports" quietly fetch_newer_libcamera "$folder" || exit
  libraries=$(dirname "$(find "$folder/root/usr/lib" -name libcamera.so | head -1)")
  build_preset tests kinglet_engine
  PKG_CONFIG_PATH=$libraries/pkgconfig step "configuring for libcamera $(<"$folder/version")" \
    quietly cmake -S "$repository" --preset tests -B "$folder/build" "-DKINGLET_ENGINE_FROM=$repository/build/tests" || exit
  export LD_LIBRARY_PATH=$libraries
  step "building with libcamera $(<"$folder/version")" cmake --build "$folder/build" -j "$(job_count)" \
    --target kinglet-camera camera_program_test libcamera_source_test fake-kinglet-camera </dev/null >&2 || exit
  step "virtual cameras of libcamera $(<"$folder/version")" ctest --test-dir "$folder/build" -j "$(($(job_count) + 1))" \
    -R '^(Configuration|Controls|ChooseFormat|FromLibcamera|ChooseColors|DescribeBuffer|VirtualCamera)\.' \
    --output-on-failure --no-tests=error </dev/null || exit
}

# fetch_newer_libcamera FOLDER [ARCHITECTURE]: FOLDER/root has its headers and libraries, FOLDER/version says which.
fetch_newer_libcamera() {
  local folder=$1 wanted=libcamera-dev${2:+:$2} mirror options packages
  mirror=$(sed -nE 's/^(deb|URIs:) (\[[^]]*\] )?(https?:[^ ]+).*/\3/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -1)
  mkdir -p "$folder"/{lists/partial,cache/archives/partial,packages}
  printf 'deb %s %s main\n' "$mirror" trixie "$mirror" trixie-backports >"$folder/sources.list"
  options=(-o "Dir::Etc::SourceList=$folder/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::Lists=$folder/lists" -o "Dir::Cache=$folder/cache" -o APT::Sandbox::User=root)
  apt-get "${options[@]}" update
  packages=$(apt-get "${options[@]}" -t trixie-backports -s install --no-install-recommends "$wanted" |
    sed -nE 's/^Inst ([^ ]+) (\[[^]]*\] )?\(([^ ]+) .*/\1=\3/p')
  [[ $packages == *libcamera-dev*=* ]] || fail 69 "no libcamera in trixie-backports that is newer than this one"
  rm -rf "$folder"/{packages,root}/*
  # One package a word.
  # shellcheck disable=SC2086
  (cd "$folder/packages" && apt-get "${options[@]}" download $packages)
  for package in "$folder"/packages/*.deb; do dpkg -x "$package" "$folder/root"; done
  sed -i "s|^prefix=/usr|prefix=$folder/root/usr|" "$folder"/root/usr/lib/*/pkgconfig/libcamera*.pc
  sed -nE 's/^libcamera-dev(:[^=]*)?=(.*)/\2/p' <<<"$packages" >"$folder/version"
}
