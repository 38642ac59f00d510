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

// Start-time fair queueing: of the cameras with a frame the one that has used least is next. One that had nothing to
// show for a while begins where the others are: what it left is gone, and gives it no right to be served alone.
// Thread-bound. Allocates nothing after construction.
class Turns {
 public:
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
      cameras_[i].used = std::max(cameras_[i].used, reached_);
      if (!best || cameras_[i].used < cameras_[*best].used) best = i;
    }
    if (!best) return std::nullopt;
    Camera& camera = cameras_[*best];
    reached_ = camera.used;
    camera.used += camera.last;
    return Turn{.camera = *best, .charged = camera.last};
  }
  // It is over, and took so long.
  void end(const Turn& turn, SteadyClock::duration taken) {
    Camera& camera = cameras_[turn.camera];
    camera.used += taken - turn.charged;
    camera.last = taken;
  }

 private:
  struct Camera {
    SteadyClock::duration used{};
    SteadyClock::duration last{};  // what its newest turn took
  };
  std::vector<Camera> cameras_;
  SteadyClock::duration reached_{};  // what the camera had used whose turn it is
};

}  // namespace kinglet::daemon
