// SPDX-License-Identifier: Apache-2.0
#include "daemon/predict.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"
#include "engine/scores.h"

namespace kinglet::daemon {
namespace {

Outcome judge(std::span<const engine::Score> best, const engine::Labels& labels, const DecideRule& rule) {
  if (labels[best[0].index].role == engine::LabelRole::kBackground) return Outcome::kBackground;
  if (static_cast<double>(best[0].value) < rule.min_score) return Outcome::kBelowThreshold;
  const float second = best.size() > 1 ? best[1].value : 0;
  if (static_cast<double>(best[0].value - second) < rule.min_margin) return Outcome::kAmbiguous;
  return Outcome::kAccepted;
}

}  // namespace

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::kAccepted:
      return "accepted";
    case Outcome::kBelowThreshold:
      return "below_threshold";
    case Outcome::kBackground:
      return "background";
    case Outcome::kAmbiguous:
      return "ambiguous";
    case Outcome::kNonFinite:
      return "non_finite";
  }
  return "non_finite";
}

Answer predict(std::span<const float> scores, const engine::Labels& labels, const DecideRule& rule, std::size_t top_k) {
  KINGLET_CHECK(scores.size() == labels.size() && !scores.empty());
  KINGLET_CHECK(top_k >= 1 && top_k <= kMaxTop);
  if (!std::ranges::all_of(scores, [](float score) { return std::isfinite(score); })) return Answer{};
  // Two are needed for the margin, whatever the caller wants to see.
  std::array<engine::Score, kMaxTop> best;
  const std::size_t count = engine::top_k(scores, std::span(best).first(std::max<std::size_t>(top_k, 2)));
  Answer answer;
  answer.outcome = judge(std::span(best).first(count), labels, rule);
  answer.count = std::min(count, top_k);
  for (std::size_t i = 0; i < answer.count; ++i) {
    answer.entries[i] = {static_cast<std::uint32_t>(best[i].index), best[i].value};
  }
  return answer;
}

}  // namespace kinglet::daemon
