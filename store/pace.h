// SPDX-License-Identifier: Apache-2.0
// Why: a visit is on the disk store.flush_interval after it ended, also where each sync takes long: turns come twice in
// the interval, counted from the begin of the last, and rows do not wait for the pictures for which there is no time.
#pragma once

#include <algorithm>
#include <chrono>

#include "engine/base/clock.h"

namespace kinglet::store {

// Thread-bound.
class Pace {
 public:
  explicit Pace(SteadyClock::duration interval) : interval_(interval) {}

  void begin_turn(SteadyTime now) {
    before_ = turn_ == SteadyTime{} ? now - interval_ / 2 : turn_;
    turn_ = now;
  }
  [[nodiscard]] SteadyTime next_turn() const { return turn_ + interval_ / 2; }
  [[nodiscard]] bool is_due(SteadyTime now) const { return now >= next_turn(); }

  // May so many files be synced before the rows of this turn? The oldest came when the turn before had begun.
  [[nodiscard]] bool has_time_before_rows(int files, SteadyTime now) const {
    return end_of(files + kSyncsOfRows, now) <= before_ + interval_ - reserve();
  }
  // The same for files after them, which the rows of the next turn wait for.
  [[nodiscard]] bool has_time_after_rows(int files, SteadyTime now) const {
    return end_of(files + kSyncsOfRows, now) <= turn_ + interval_ - reserve();
  }
  [[nodiscard]] SteadyTime end_of(int syncs, SteadyTime now) const { return now + syncs * sync_; }
  // How long `syncs` took. A slow disk is remembered, and believed to be quick again only by and by.
  void synced(int syncs, SteadyClock::duration took) {
    if (syncs > 0) sync_ = std::max(took / syncs, sync_ * 7 / 8);
  }
  // For work that comes between turns.
  [[nodiscard]] SteadyClock::duration slice() const { return std::min<SteadyClock::duration>(kLongest, interval_ / 4); }

 private:
  // For syncs that take longer than those before them, and for a busy machine.
  [[nodiscard]] SteadyClock::duration reserve() const { return interval_ / 8; }

  static constexpr int kSyncsOfRows = 4;  // the journal, its new begin, and the database with it when it is emptied
  static constexpr std::chrono::seconds kLongest{2};

  SteadyClock::duration interval_;
  SteadyClock::duration sync_{};
  SteadyTime turn_{};
  SteadyTime before_{};  // the turn before
};

}  // namespace kinglet::store
