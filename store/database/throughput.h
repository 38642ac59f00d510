// SPDX-License-Identifier: Apache-2.0
// Why: how many frames and answers there were in each span of time, and those spans that are not on the disk yet.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/mutex.h"

namespace kinglet::store {

struct Throughput {
  WallTime at{};  // end of the span
  bool clock_synced = false;
  SteadyClock::duration span{};
  std::uint64_t frames = 0;  // captured
  std::uint64_t images = 0;  // answered
  std::uint64_t accepted = 0;
  double latency_p50_ms = 0;
  double latency_p99_ms = 0;

  bool operator==(const Throughput&) const = default;
};

struct ThroughputPage {
  std::vector<Throughput> items;  // newest first
  bool has_more = false;
};

// Bounded: the oldest spans are forgotten first. Thread-safe; never touches a disk.
class PendingThroughput {
 public:
  void put(const Throughput& span);

  struct Batch {
    std::uint64_t first = 0;  // number of the first span since the start
    std::vector<Throughput> spans;
  };
  [[nodiscard]] Batch all() const;  // oldest first
  void written(const Batch& batch);
  [[nodiscard]] std::size_t size() const;

 private:
  mutable Mutex mutex_;
  std::deque<Throughput> spans_ KINGLET_GUARDED_BY(mutex_);
  std::uint64_t first_ KINGLET_GUARDED_BY(mutex_) = 0;
};

}  // namespace kinglet::store
