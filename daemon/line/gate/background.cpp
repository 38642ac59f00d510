// SPDX-License-Identifier: Apache-2.0
#include "daemon/line/gate/background.h"

#include <algorithm>

namespace kinglet::daemon {
namespace {

// Time constants in seconds.
constexpr double kFollow = 8;
constexpr double kFollowRecent = 2;
constexpr double kFollowFlutter = 20;

float share_of(double seconds, double time_constant) {
  return static_cast<float>(1 - std::exp(-seconds / time_constant));
}

}  // namespace

void Background::begin(const CellValues& values, float flutter) {
  means_ = values;
  recent_ = values;
  changes_.fill(0);
  flutters_.fill(flutter);
}

void Background::compare(const CellValues& values, Common common) {
  const bool is_factor = common == Common::kFactor;
  CellValues ordered;
  for (std::size_t i = 0; i < values.size(); ++i)
    ordered[i] = is_factor ? values[i] / means_[i] : values[i] - means_[i];
  auto* const middle = ordered.data() + ordered.size() / 2;
  std::nth_element(ordered.data(), middle, ordered.data() + ordered.size());
  const float of_all = *middle;
  for (std::size_t i = 0; i < values.size(); ++i) {
    changes_[i] = values[i] - (is_factor ? means_[i] * of_all : means_[i] + of_all);
  }
}

void Background::follow(const CellValues& values, double seconds, const CellMarks& held) {
  const float mean = share_of(seconds, kFollow);
  const float recent = share_of(seconds, kFollowRecent);
  const float flutter = share_of(seconds, kFollowFlutter);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!held[i]) means_[i] += mean * (values[i] - means_[i]);
    const float away = values[i] - recent_[i];
    recent_[i] += recent * away;
    flutters_[i] += flutter * (std::abs(away) - flutters_[i]);
  }
}

}  // namespace kinglet::daemon
