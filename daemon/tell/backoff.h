// SPDX-License-Identifier: Apache-2.0
// Why: who is away is tried again later and later, and never by all devices at the same moment.
#pragma once

#include <algorithm>
#include <chrono>
#include <random>

#include "engine/base/clock.h"

namespace kinglet::daemon {

// Thread-bound.
class Backoff {
 public:
  Backoff(std::chrono::milliseconds first, std::chrono::milliseconds longest) : first_(first), longest_(longest) {}

  // After so many tries without success, at least one: twice the one before, a quarter more or less by chance.
  [[nodiscard]] SteadyClock::duration pause(int tries) {
    const std::chrono::milliseconds pause = std::min(first_ * (1 << std::clamp(tries - 1, 0, 16)), longest_);
    std::uniform_real_distribution<double> jitter(0.75, 1.25);
    return std::chrono::duration_cast<SteadyClock::duration>(pause * jitter(random_));
  }

 private:
  std::chrono::milliseconds first_;
  std::chrono::milliseconds longest_;
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace kinglet::daemon
