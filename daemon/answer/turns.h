// SPDX-License-Identifier: Apache-2.0
// Why: several cameras have one model. Whose frame is answered next follows from what each has used of the time, so
// that one that floods takes nothing of the others' shares. The time comes in as a value.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "engine/base/clock.h"

namespace kinglet::daemon {

// Start-time fair queueing: of the cameras with something to do the one that has used least is next. What one has left
// while it had nothing is kept for it as far as kKept of the longest turns go: the frame that it is owed comes a moment
// later. The rest is gone, so that after a long silence it is served alone for no longer than that. Thread-bound.
// Allocates nothing after construction.
class Turns {
 public:
  static constexpr int kKept = 8;
  // No run takes longer: what does was a process that was stopped, or a disk that hung, and is nobody's fault.
  static constexpr std::chrono::seconds kLongestTurn{5};

  explicit Turns(std::size_t cameras) : cameras_(cameras) {}

  struct Turn {
    std::size_t camera = 0;
    SteadyClock::duration charged{};  // until it is known what it takes
  };
  // Whose turn it is of those for which `waits(camera)`; nothing: nobody waits. The turn then begins, and counts as
  // what its camera's newest one took, until end().
  template <typename Waits>
  [[nodiscard]] std::optional<Turn> next(const Waits& waits) {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < cameras_.size(); ++i) {
      if (!waits(i)) continue;
      cameras_[i].used = std::max(cameras_[i].used, reached_ - kKept * longest_);
      if (!best || cameras_[i].used < cameras_[*best].used) best = i;
    }
    if (!best) return std::nullopt;
    Camera& camera = cameras_[*best];
    reached_ = std::max(reached_, camera.used);
    camera.used += camera.last;
    return Turn{.camera = *best, .charged = camera.last};
  }
  // It is over, and took so long.
  void end(const Turn& turn, SteadyClock::duration took) {
    const SteadyClock::duration taken = std::min<SteadyClock::duration>(took, kLongestTurn);
    Camera& camera = cameras_[turn.camera];
    camera.used += taken - turn.charged;
    camera.last = taken;
    longest_ = std::max(taken, longest_ - longest_ / 64);
  }

 private:
  struct Camera {
    SteadyClock::duration used{};
    SteadyClock::duration last{};  // what its newest turn took
  };
  std::vector<Camera> cameras_;
  SteadyClock::duration reached_{};  // the most that a camera had used whose turn it was
  SteadyClock::duration longest_{};  // turn, of the newest hundred or so
};

}  // namespace kinglet::daemon
