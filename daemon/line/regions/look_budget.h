// SPDX-License-Identifier: Apache-2.0
// Why: four squares of a frame are four runs of the model. How many the board has the time for, before the next frame.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/base/clock.h"

namespace kinglet::daemon {

// From what regions cost so far and how often frames come; at least one region a frame, and one as long as nothing is
// known. Thread-bound.
class LookBudget {
 public:
  static constexpr std::size_t kNoBound = SIZE_MAX;

  // `share` of the time between two frames; 0: no bound.
  explicit LookBudget(double share) : share_(share) {}

  // A frame of the source; frames between two of them that were not seen count by their numbers.
  void note_frame(std::uint64_t sequence, SteadyTime captured_at) {
    const std::uint64_t frames = sequence - sequence_;
    if (sequence > sequence_ && captured_at > captured_at_ && captured_at_ != SteadyTime{}) {
      follow(period_, Seconds(captured_at - captured_at_).count() / static_cast<double>(frames));
    }
    sequence_ = sequence;
    captured_at_ = captured_at;
  }
  void note_cost(SteadyClock::duration taken, std::size_t regions) {
    follow(cost_, Seconds(taken).count() / static_cast<double>(std::max<std::size_t>(1, regions)));
  }
  // The looks of another model beside `looks` of this one: as many as there is time for from what looks so far have
  // left over of the share, at most a frame's and one such look's; this model's own come first.
  struct Beside {
    double cost = 0;                   // seconds
    SteadyTime now{};                  // of the frame
    SteadyClock::duration interval{};  // as of allows(), with
    std::size_t cameras = 1;
  };
  [[nodiscard]] std::size_t allows_beside(std::size_t looks, const Beside& other) const {
    if (share_ <= 0 || other.cost <= 0) return kNoBound;
    if (cost_ <= 0 || period_ <= 0) return 0;
    const double left = earned(other) - static_cast<double>(looks) * cost_;
    return static_cast<std::size_t>(std::clamp(left / other.cost, 0.0, 1e6));
  }
  // What all looks at that frame took.
  void note_used(SteadyClock::duration taken, const Beside& other) {
    saved_ = std::clamp(earned(other) - Seconds(taken).count(), -most(other), other.cost);
    earned_until_ = other.now;
  }
  // `interval`: frames are looked at no more often than that. `cameras` share the model.
  [[nodiscard]] std::size_t allows(SteadyClock::duration interval, std::size_t cameras = 1) const {
    if (share_ <= 0) return kNoBound;
    if (cost_ <= 0) return 1;
    const double time = share_ * std::max(period_, Seconds(interval).count()) / static_cast<double>(cameras);
    return static_cast<std::size_t>(std::clamp(time / cost_, 1.0, 1e6));
  }

 private:
  // Seconds.
  [[nodiscard]] double most(const Beside& other) const {
    return share_ * std::max(period_, Seconds(other.interval).count()) + other.cost;
  }
  [[nodiscard]] double earned(const Beside& other) const {
    if (earned_until_ == SteadyTime{}) return saved_;
    const double time = share_ * Seconds(other.now - earned_until_).count() / static_cast<double>(other.cameras);
    return std::min(saved_ + time, most(other));
  }
  static void follow(double& mean, double value) {
    constexpr double kShare = 0.125;
    mean = mean > 0 ? mean + kShare * (value - mean) : value;
  }

  double share_;
  double period_ = 0;  // of the source, seconds
  double cost_ = 0;    // of a region, seconds
  double saved_ = 0;   // of the share, seconds
  SteadyTime earned_until_{};
  std::uint64_t sequence_ = 0;
  SteadyTime captured_at_{};
};

}  // namespace kinglet::daemon
