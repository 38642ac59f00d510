# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# Running a command in the Debian 13 root: same paths, same terminal, same signals. Every step is an exec, so that the
# command is the very process that was started; cross/enter-root does the mounts inside the new namespace.

# Variables of the host that point at the host's own compilers and libraries.
readonly leaking_variables=(
  LD_LIBRARY_PATH LD_PRELOAD PYTHONPATH PYTHONHOME VIRTUAL_ENV PERL5LIB CC CXX CPP CFLAGS CXXFLAGS CPPFLAGS LDFLAGS
  CPATH LIBRARY_PATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH PKG_CONFIG_PATH PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR
  CMAKE_PREFIX_PATH CMAKE_TOOLCHAIN_FILE CMAKE_GENERATOR CMAKE_BUILD_TYPE MAKEFLAGS BASH_ENV ENV
  LANG LANGUAGE LC_CTYPE LC_MESSAGES LC_NUMERIC LC_TIME LC_COLLATE
)

# exec_root COMMAND...: never returns.
exec_root() {
  local name unset_options=()
  for name in "${leaking_variables[@]}"; do unset_options+=(-u "$name"); done
  find_namespace
  exec env "${unset_options[@]}" KINGLET_DEV_ENVIRONMENT=inside LC_ALL=C.UTF-8 \
    unshare "${namespace[@]}" --mount --propagation private \
    "$repository/cross/enter-root" "$root" "$repository" "$@"
}

# enter_root COMMAND...: as a child.
enter_root() { (exec_root "$@"); }
