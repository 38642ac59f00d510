# SPDX-License-Identifier: Apache-2.0
# Building for arm64 on another machine: Debian's cross compiler, arm64 libraries beside the native ones, programs run
# by cross/run-arm64. No sysroot: the foreign libraries and their loader are installed in the same root.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR ${CMAKE_CURRENT_LIST_DIR}/run-arm64)
# Debian's multiarch search: pkg-config must not see the native .pc files, find_library must not see native libraries.
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
list(APPEND CMAKE_IGNORE_PREFIX_PATH /usr/local)
set(CMAKE_SYSTEM_LIBRARY_PATH /usr/lib/aarch64-linux-gnu)
list(APPEND CMAKE_SYSTEM_IGNORE_PATH /usr/lib/x86_64-linux-gnu)
# protoc is a build tool: the native one.
set(Protobuf_PROTOC_EXECUTABLE /usr/bin/protoc CACHE FILEPATH "")
