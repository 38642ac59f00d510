# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# Which system the commands run in: this machine if it is Debian 13 (or already our root), a Debian 13 root otherwise.

# inside: in our root. system: a Debian 13 machine. root: anything else. KINGLET_DEV_ENVIRONMENT decides if it is set.
environment_kind() {
  if [[ -n ${KINGLET_DEV_ENVIRONMENT:-} ]]; then
    printf '%s\n' "$KINGLET_DEV_ENVIRONMENT"
  elif [[ -e /.kinglet/ready ]]; then
    printf 'inside\n'
  elif [[ $(os_field VERSION_CODENAME) == "$root_suite" ]]; then
    printf 'system\n'
  else
    printf 'root\n'
  fi
}

# A machine of the user's own gets no foreign architecture: arm64 work on Debian 13 happens in the root as well.
kind_for_groups() {
  local kind
  kind=$(environment_kind)
  [[ $kind != system || " $* " != *" arm64 "* ]] || ! group_applies arm64 || kind=root
  printf '%s\n' "$kind"
}

# in_environment "GROUPS [/ GROUPS]" COMMAND ARGS...: comes back with everything installed, or becomes ./dev COMMAND in
# the root. What stands behind the "/" is installed in the background there: finish_installing waits for it.
in_environment() {
  local groups later=() tool
  read -r -a groups <<<"${1%%/*}"
  [[ $1 != */* ]] || read -r -a later <<<"${1#*/}"
  shift
  case $(kind_for_groups "${groups[@]}" "${later[@]}") in
  root)
    for tool in unshare setpriv flock; do have "$tool" || fail 69 "$tool is missing" "install util-linux"; done
    ensure_root
    ensure_root_groups "${groups[@]}"
    exec_root "$repository/dev" "$@"
    ;;
  inside)
    [[ -z $(unmarked_groups "${groups[@]}") ]] || install_groups "${groups[@]}"
    [[ -z $(unmarked_groups "${later[@]}") ]] || install_later "${later[@]}"
    ;;
  system) install_groups "${groups[@]}" "${later[@]}" ;;
  *) fail 64 "KINGLET_DEV_ENVIRONMENT is \"$KINGLET_DEV_ENVIRONMENT\"" "inside, system or root" ;;
  esac
}

unmarked_groups() {
  local group
  for group in "$@"; do [[ -e $(group_mark "$group") ]] || printf '%s\n' "$group"; done
}

# Compilers leave the disk and the network alone, so packages come in beside them.
install_later() {
  say "installing in the background: $*"
  install_groups "$@" &
  installing=$!
}

finish_installing() {
  [[ -n ${installing:-} ]] || return 0
  step "waiting for the packages" wait "$installing" || exit 69
  installing=''
}

# What builds and tests find in every environment.
export_build_variables() {
  CCACHE_DIR=$(cache_folder)/ccache
  export CCACHE_DIR CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-5G} CCACHE_BASEDIR=$repository CCACHE_NOHASHDIR=true
  export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime CCACHE_DEPEND=true
  ! have ccache || export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  # The owner of the checkout may be another than the user of the namespace.
  export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=$repository
  PATH=$repository/build/release/bin:$repository/build/tests/bin:$repository/build/dev/bin:$PATH
}
