// SPDX-License-Identifier: Apache-2.0
// Why: how it stands with the program that webhooks go to, for statistics, metrics and health.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/clock.h"

namespace kinglet::daemon::webhook {

struct Status {
  std::string detail;  // of the newest try, when it failed
  WallTime since{};    // of the detail
  std::uint64_t delivered = 0;
  std::uint64_t failed_tries = 0;
  std::uint64_t dropped = 0;
  std::uint64_t waiting = 0;
};

}  // namespace kinglet::daemon::webhook
