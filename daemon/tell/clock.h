// SPDX-License-Identifier: Apache-2.0
// Why: the time of who tells others, as a value: what they do in hours, with a real neighbour, or at some hour of the
// day is then a test of milliseconds.
#pragma once

#include <chrono>
#include <functional>

#include "engine/base/clock.h"

namespace kinglet::daemon {

// All are called by the thread that has it.
struct Clock {
  std::function<SteadyTime()> now = [] { return SteadyClock::now(); };
  std::function<WallTime()> wall = [] { return std::chrono::system_clock::now(); };  // that people go by
  // Who is about to wait so long says so, and waits for what this gives. A clock that is not the system's goes on by
  // itself then, and has nobody wait.
  std::function<std::chrono::milliseconds(std::chrono::milliseconds span)> let_pass = std::identity();
};

}  // namespace kinglet::daemon
