// SPDX-License-Identifier: Apache-2.0
// Why: how it stands with each service, for the API, metrics and health.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/clock.h"

namespace kinglet::daemon::notify {

struct Status {
  std::string name;
  std::string detail;  // of the newest try, when it failed
  WallTime since{};    // of the detail
  std::uint64_t sent = 0;
  std::uint64_t failed_tries = 0;
  std::uint64_t dropped = 0;    // refused, given up, or too many waited
  std::uint64_t held_back = 0;  // quiet hours, or more than the owner wishes in an hour
  std::uint64_t waiting = 0;
};

}  // namespace kinglet::daemon::notify
