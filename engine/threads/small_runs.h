// SPDX-License-Identifier: Apache-2.0
// Why: do workers pay for a whole run? Of a model that takes less than a millisecond waking them and keeping in step
// with them may take what they save; no command's account (worth.h) sees that.
#pragma once

#include <array>

#include "engine/base/clock.h"

namespace kinglet::engine {

// Of one plan: some runs are shared out, and if those are short some are the caller's alone; the better way stays for a
// time, and then both are tried again. One way in doubt: the caller's alone, which leaves a core to others. Runs that
// are not short are shared.
class SmallRuns {
 public:
  using Duration = SteadyClock::duration;
  static constexpr Duration kShort = std::chrono::milliseconds(1);
  static constexpr std::size_t kTried = 7;  // of each way; their median counts
  // Before them: a worker that was not needed has nothing in its cache, and may still be on the caller's core.
  static constexpr Duration kSettles = std::chrono::milliseconds(8);
  // Counted in time of runs, so that a try costs the same share of it. Each time that says the same doubles it.
  static constexpr Duration kFirstStay = std::chrono::milliseconds(250);
  static constexpr Duration kLongestStay = std::chrono::seconds(4);

  // The next run is the caller's alone.
  [[nodiscard]] bool alone() const { return left_ > Duration{} ? alone_ : tries_alone_; }
  // The next run is one of those that find out which way is the better one.
  [[nodiscard]] bool tries() const { return left_ <= Duration{}; }
  // That run took so long.
  void add(Duration took);

 private:
  void stay(bool alone);

  std::array<Duration, kTried> tried_{};
  std::size_t count_ = 0;
  Duration settled_{};
  bool tries_alone_ = false;
  Duration shared_{};  // median
  bool alone_ = false;
  Duration stay_ = kFirstStay / 2;
  Duration left_{};
};

}  // namespace kinglet::engine
