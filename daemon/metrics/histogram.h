// SPDX-License-Identifier: Apache-2.0
// Why: percentiles and rates of the recent past in fixed memory. Time is given by the caller.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "engine/base/clock.h"

namespace kinglet::daemon {

// Durations of the last minute (55 to 60 s: it forgets in steps of 5 s). Buckets grow by 9 %, so that a percentile is
// at most 5 % off between 1 us and 100 s; what lies outside counts in the first or last bucket. Thread-bound.
class RecentDurations {
 public:
  static constexpr std::size_t kBuckets = 216;
  static constexpr std::size_t kSlots = 12;
  static constexpr auto kSlotLength = std::chrono::seconds(5);

  void add(SteadyTime now, SteadyClock::duration value);

  struct Summary {
    std::uint64_t count = 0;
    double mean_ms = 0, p50_ms = 0, p90_ms = 0, p99_ms = 0, max_ms = 0;
  };
  [[nodiscard]] Summary summarize(SteadyTime now) const;

 private:
  struct Slot {
    std::int64_t number = -1;  // of the 5 s since the clock's zero
    std::array<std::uint32_t, kBuckets> counts{};
    std::uint64_t count = 0;
    SteadyClock::duration sum{};
    SteadyClock::duration max{};
  };
  std::array<Slot, kSlots> slots_{};
};

// Events a second over windows of up to 15 minutes, in whole past seconds. Thread-bound.
class RecentRate {
 public:
  static constexpr std::int64_t kSeconds = 901;

  explicit RecentRate(SteadyTime start);
  void add(SteadyTime now);
  // Over the last `window` whole seconds, or since the start when that is shorter. Nothing in the first second.
  [[nodiscard]] std::optional<double> per_second(SteadyTime now, std::chrono::seconds window) const;

 private:
  struct Slot {
    std::int64_t second = -1;
    std::uint32_t count = 0;
  };
  std::int64_t start_;
  std::array<Slot, kSeconds> slots_{};
};

// Counts by fixed upper bounds over the whole life, as Prometheus wants a histogram. Thread-bound.
struct LifetimeHistogram {
  static constexpr std::array kBounds{.002, .005, .01, .02, .03, .05, .075, .1, .15, .2, .3, .5, 1.0, 2.0};  // seconds

  void add(SteadyClock::duration value);

  std::array<std::uint64_t, kBounds.size() + 1> counts{};  // not cumulative; the last one is above all bounds
  std::uint64_t count = 0;
  double sum_seconds = 0;
};

}  // namespace kinglet::daemon
