# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# The subcommands of ./dev that build, run and test on this machine's architecture.

job_count() { nproc; }

# lock_build PRESET: from here on the only ./dev that touches build/PRESET, until 7 is closed, or unlocked by a child that
# has it open, too.
lock_build() {
  mkdir -p "$repository/build"
  exec 7>"$repository/build/$1.lock"
  flock --nonblock 7 || {
    say "another ./dev command builds build/$1: waiting for it ..."
    flock 7
  }
}

# alone_in PRESET COMMAND...: as the only ./dev that touches build/PRESET. What the command starts does not inherit the
# lock, and so cannot keep it.
alone_in() {
  local preset=$1 status=0
  shift
  lock_build "$preset"
  "$@" 7>&- || status=$?
  exec 7>&-
  return "$status"
}

# configure PRESET: then its folder knows the sources that are there now.
configure() { alone_in "$1" configure_anew "$1"; }

configure_anew() {
  configure_folder "$1"
  quietly cmake --build "$repository/build/$1" --target build.ninja || exit 1
}

configure_folder() {
  local preset=$1
  [[ -e $repository/build/$preset/build.ninja ]] ||
    step "configuring $preset" quietly cmake -S "$repository" --preset "$preset" || exit
}

# build_preset PRESET [TARGET...]: configures once, then builds what changed.
build_preset() { alone_in "$1" build_folder "$@"; }

build_folder() {
  local preset=$1 target=()
  shift
  (($# == 0)) || target=(--target "$@")
  configure_folder "$preset"
  step "building $preset" cmake --build "$repository/build/$preset" -j "$(job_count)" "${target[@]}" </dev/null >&2 || exit 1
}

command_build() {
  local preset=${1:-release}
  in_environment "$(groups_of_preset "$preset")" build "$@"
  export_build_variables
  shift || true
  build_preset "$preset" "$@"
}

groups_of_preset() {
  case $1 in
  release) printf 'build\n' ;;
  arm64) printf 'build gtest test arm64\n' ;;
  *) printf 'build gtest test\n' ;;
  esac
}

command_run() {
  local seconds='' arguments=()
  while (($# > 0)); do
    case $1 in
    --seconds)
      seconds=${2:-none}
      shift $(($# > 1 ? 2 : 1))
      ;;
    --seconds=*) seconds=${1#*=} && shift ;;
    --)
      shift
      arguments=("$@")
      break
      ;;
    *) fail 64 "run: unknown option \"$1\"" "--seconds N; options of kingletd come after --" ;;
    esac
  done
  [[ -z $seconds || $seconds =~ ^[0-9]+$ ]] || fail 64 "--seconds: \"$seconds\" is not a number of seconds"
  in_environment build run ${seconds:+--seconds "$seconds"} -- "${arguments[@]}"
  export_build_variables
  build_preset release
  # What the first card keeps, and a model that it fetched, are there again at the next run; what the person names counts more.
  [[ ${arguments[*]-} == *@(--config|store.path|model.folder)* ]] ||
    arguments=(--set "store.path=$repository/build/run" --set "model.folder=$repository/build/models" "${arguments[@]}")
  exec "$repository/build/release/bin/kingletd" --status ${seconds:+--for "${seconds}s"} "${arguments[@]}"
}

command_exec() {
  local groups=build
  [[ ${1:-} != --with ]] || { groups="build ${2//,/ }" && shift 2; }
  [[ ${1:-} != -- ]] || shift
  (($# > 0)) || fail 64 "exec needs a command" "./dev exec kinglet --help"
  in_environment "$groups" exec --with "${groups// /,}" -- "$@"
  export_build_variables
  [[ $1 != kinglet && $1 != kingletd && $1 != kinglet-camera ]] || have "$1" || build_preset release
  have "$1" || fail 127 "no program \"$1\" in the environment"
  exec "$@"
}

command_shell() {
  command_exec --with "${1:-test}" -- bash
}

command_clean() {
  case ${1:-} in
  '') step "removing build/" rm -rf "$repository/build" ;;
  --roots) remove_roots unused ;;
  --cache) remove_cache ;;
  --all)
    step "removing build/" rm -rf "$repository/build"
    remove_cache
    ;;
  *) fail 64 "clean: unknown option \"$1\"" "--roots, --cache or --all" ;;
  esac
}

remove_cache() {
  remove_roots all
  step "removing $(cache_folder)" rm -rf --one-file-system "$(cache_folder)"
}

remove_roots() {
  local path keep
  keep=$(roots_folder)/$(root_key)
  for path in "$(roots_folder)"/*/; do
    path=${path%/}
    [[ -d $path && ($1 == all || $path != "$keep") ]] || continue
    exec 9>"${path%.tmp}.lock"
    flock --nonblock 9 || fail 75 "$path is in use by another start" "try again when it has ended"
    step "removing $path" remove_root "$path"
    rm -f "${path%.tmp}.log"
    exec 9>&-
  done
}
