// SPDX-License-Identifier: Apache-2.0
// Why: what a child program started ends with it, also what left its process group (setsid, a daemon that forked
// twice). It is known by a mark in its environment, which programs inherit, and by its parents as long as these live.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace kinglet::camera {

class ProcessFamily {
 public:
  // A mark that no other family of this machine has.
  ProcessFamily();

  // The environment of this process with the mark; the pointers live as long as this does.
  [[nodiscard]] std::vector<char*> environment() const;

  // To those that are not in the process group of `child`; who is in it is the caller's.
  void send_beyond_group(pid_t child, int signal) const;
  // SIGKILL for all of them, `child` too, again until none is left: they may start others meanwhile. At most for a
  // moment: one that hangs in a driver stays. `child` may be dead, but not yet reaped.
  void kill(pid_t child) const;

  // SIGKILL for all that this process has started: it is about to end without waiting for anything.
  static void kill_all_of_ours();

 private:
  std::string mark_;  // NAME=value
};

}  // namespace kinglet::camera
