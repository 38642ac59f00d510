// SPDX-License-Identifier: Apache-2.0
#include "engine/threads/small_runs.h"

#include <algorithm>

namespace kinglet::engine {

void SmallRuns::add(Duration took) {
  if (left_ > Duration{}) {
    left_ -= took;
    return;
  }
  if (settled_ < kSettles) {
    settled_ += took;
    return;
  }
  tried_[count_++] = took;
  if (count_ < kTried) return;
  count_ = 0;
  settled_ = {};
  std::ranges::nth_element(tried_, tried_.begin() + kTried / 2);
  const Duration median = tried_[kTried / 2];
  if (!tries_alone_) {
    shared_ = median;
    tries_alone_ = shared_ < kShort;
    if (!tries_alone_) stay(false);
    return;
  }
  tries_alone_ = false;
  // Who works alone goes on to where help saves an eighth; who is helped, to where it saves a sixteenth.
  stay(shared_ > median - median / (alone_ ? 8 : 16));
}

void SmallRuns::stay(bool alone) {
  stay_ = alone == alone_ ? std::min(2 * stay_, kLongestStay) : kFirstStay;
  alone_ = alone;
  left_ = stay_;
}

}  // namespace kinglet::engine
