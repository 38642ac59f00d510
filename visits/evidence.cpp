// SPDX-License-Identifier: Apache-2.0
#include "visits/evidence.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"

namespace kinglet::visits {
namespace {

// Seconds. Measured on scenes (tests/bench/field.py): a bird has turned its head after the first, and another one may
// have taken its place after the second.
constexpr double kTurns = 0.5;
constexpr double kForgotten = 6;

}  // namespace

void Evidence::add(std::span<const float> scores, SteadyTime at) {
  KINGLET_CHECK(scores.size() == mean_.size());
  const double seconds = Seconds(at - at_).count();
  at_ = at;
  const double weight = looks_ > 0 ? 1 - std::exp(-seconds / kTurns) : 1;
  looks_ = looks_ * std::exp(-seconds / kForgotten) + weight;
  const auto share = static_cast<float>(looks_ > 0 ? weight / looks_ : 0);
  for (std::size_t i = 0; i < mean_.size(); ++i) mean_[i] += share * (scores[i] - mean_[i]);
}

void Evidence::set_picture(std::span<const float> scores) {
  KINGLET_CHECK(scores.size() == mean_.size());
  std::ranges::copy(scores, mean_.begin());
  looks_ = kPictureLooks;
}

}  // namespace kinglet::visits
