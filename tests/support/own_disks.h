// SPDX-License-Identifier: Apache-2.0
// Why: small, full and read-only file systems for a test: a process of its own may mount what it likes.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <system_error>

#include "engine/base/check.h"
#include "engine/base/format.h"

namespace kinglet::testing {

inline constexpr int kCannotBeTried = 77;  // what ctest takes for "skipped", too

// Runs `body` in a process of its own, so that its limits and mounts are not ours. The body's failures are printed
// there. The exit code is the body's, where it calls _exit itself.
inline int in_child(const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  KINGLET_CHECK(child >= 0);
  if (child == 0) {
    body();
    std::fflush(nullptr);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  KINGLET_CHECK(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The same with mounts of its own. Gives kCannotBeTried where that is forbidden.
inline int with_mounts(const std::function<void()>& body) {
  return in_child([&] {
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) _exit(kCannotBeTried);
    (void)mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    body();
  });
}

// A file system in memory at `place`, inside with_mounts(). `options`: "size=2m", "nr_inodes=40".
inline void mount_small(const std::filesystem::path& place, const std::string& options) {
  if (mount("tmpfs", place.c_str(), "tmpfs", 0, options.c_str()) != 0) _exit(kCannotBeTried);
}

inline void set_read_only(const std::filesystem::path& place, bool read_only) {
  unsigned long flags = MS_REMOUNT;
  if (read_only) flags |= MS_RDONLY;
  if (mount(nullptr, place.c_str(), nullptr, flags, nullptr) != 0) _exit(kCannotBeTried);
}

// Uses up all room of the file system at `place`, or gives it back.
inline void set_full(const std::filesystem::path& place, bool full) {
  const std::filesystem::path ballast = place / "ballast";
  if (!full) {
    std::filesystem::remove(ballast);
    return;
  }
  std::ofstream file(ballast, std::ios::binary);
  while (file.write(std::string(4096, 'b').data(), 4096) && file.flush()) {
  }
}

// Uses up all its inodes, or gives them back.
inline void set_out_of_inodes(const std::filesystem::path& place, bool out) {
  const std::filesystem::path ballast = place / "ballast-of-inodes";
  std::error_code failed;
  if (!out) {
    std::filesystem::remove_all(ballast, failed);
    return;
  }
  std::filesystem::create_directory(ballast, failed);
  for (int i = 0; std::ofstream(ballast / std::to_string(i)).is_open(); ++i) {
  }
}

}  // namespace kinglet::testing
