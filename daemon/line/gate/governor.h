// SPDX-License-Identifier: Apache-2.0
// Why: a board in a sunny box throttles, and everything on it stutters. Looking less often keeps it cool.
#pragma once

#include <algorithm>
#include <optional>

#include "engine/base/clock.h"

namespace kinglet::daemon {

// How often to look, as a share of what is wished: half as often after each kPatience at or above `hot`, twice as often
// after each kPatience below hot - kSlack. Thread-bound.
class Governor {
 public:
  static constexpr std::chrono::seconds kPatience{20};
  static constexpr double kSlack = 5;  // degrees
  static constexpr double kLeast = 1.0 / 16;

  // `hot` in degrees Celsius; 0: never.
  explicit Governor(double hot) : hot_(hot) {}

  // The share from now on. Without a temperature it stays as it is.
  double update(std::optional<double> celsius, SteadyTime now) {
    if (hot_ <= 0 || !celsius || (changed_ && now - *changed_ < kPatience)) return share_;
    const double before = share_;
    if (*celsius >= hot_) share_ = std::max(kLeast, share_ / 2);
    if (*celsius < hot_ - kSlack) share_ = std::min(1.0, share_ * 2);
    if (share_ != before) changed_ = now;
    return share_;
  }
  [[nodiscard]] double share() const { return share_; }

 private:
  double hot_;
  double share_ = 1;
  std::optional<SteadyTime> changed_;
};

}  // namespace kinglet::daemon
