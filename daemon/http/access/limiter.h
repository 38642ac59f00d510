// SPDX-License-Identifier: Apache-2.0
// Why: one address cannot have all of the device: requests by token bucket, wrong tokens by a count a minute. What is
// remembered of addresses is bounded.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <unordered_map>

#include "engine/base/clock.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon::http {

// So many a second of each key, and a burst after a pause. Thread-safe.
class RateLimiter {
 public:
  RateLimiter(double per_second, double burst) : per_second_(per_second), burst_(burst) {}

  // False: not now.
  [[nodiscard]] bool take(const std::string& key, SteadyTime now);

 private:
  struct Bucket {
    double tokens = 0;
    SteadyTime at{};
  };
  void forget_some(SteadyTime now) KINGLET_REQUIRES(mutex_);

  const double per_second_;
  const double burst_;
  Mutex mutex_;
  std::unordered_map<std::string, Bucket> buckets_ KINGLET_GUARDED_BY(mutex_);
};

// Ten failures within a minute close the door to a key until the minute is over. Thread-safe.
class FailureLog {
 public:
  static constexpr std::size_t kMost = 10;
  static constexpr std::chrono::minutes kWithin{1};

  void add(const std::string& key, SteadyTime now);
  [[nodiscard]] bool blocked(const std::string& key, SteadyTime now) const;

 private:
  struct Times {
    std::array<SteadyTime, kMost> newest{};  // a ring
    std::size_t count = 0;
  };
  mutable Mutex mutex_;
  std::unordered_map<std::string, Times> failures_ KINGLET_GUARDED_BY(mutex_);
};

}  // namespace kinglet::daemon::http
