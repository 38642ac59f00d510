// SPDX-License-Identifier: Apache-2.0
// Why: do workers pay? On a machine whose cores others keep busy a worker loses its core in the middle of a tile, and
// the caller waits for it longer than the tile was worth.
#pragma once

#include "engine/base/clock.h"

namespace kinglet::engine {

// Keeps an account of the time that workers saved and of the time that was waited for them. In the red: the caller
// works alone for a pause, and tries again; each try that fails doubles the pause. A pause is counted in time of work,
// so that a try costs the same share of it however seldom somebody calls.
class Worth {
 public:
  using Duration = SteadyClock::duration;
  static constexpr Duration kMostCredit = std::chrono::milliseconds(5);
  static constexpr Duration kMostDebt = std::chrono::microseconds(500);
  // About a time slice of Linux: a core that was lost once is back by then, and a model of 20 ms lost one run.
  static constexpr Duration kFirstPause = std::chrono::milliseconds(16);
  static constexpr Duration kLongestPause = std::chrono::seconds(4);

  // One command that was shared out.
  struct Command {
    Duration worked{};      // the caller, until there was no tile left
    Duration waited{};      // then, for workers in the middle of one
    Duration helped{};      // the workers, together
    std::size_t own = 0;    // tiles that the caller took
    std::size_t tiles = 0;  // of all
  };

  // The next command is the caller's alone.
  [[nodiscard]] bool alone() const { return pause_left_ > Duration{}; }
  // That command took so long.
  void spend(Duration worked) { pause_left_ -= worked; }
  // Returns whether a pause begins.
  bool add(const Command& command);

 private:
  Duration credit_{};
  Duration pause_ = kFirstPause;
  Duration pause_left_{};
};

}  // namespace kinglet::engine
