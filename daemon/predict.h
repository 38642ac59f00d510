// SPDX-License-Identifier: Apache-2.0
// Why: scores become an answer, or an abstention that says why. Knows nothing of frames or models.
#pragma once

#include <span>

#include "daemon/prediction.h"
#include "engine/labels.h"

namespace kinglet::daemon {

struct DecideRule {
  double min_score = 0.60;   // a best score below is kBelowThreshold
  double min_margin = 0.15;  // best minus second below is kAmbiguous
};

// The best `top_k` (1 to kMaxTop) classes of `scores` (0 to 1, one a label) and the outcome: kNonFinite when any score
// is not a number, then kBackground when the best label is a background, kBelowThreshold, kAmbiguous, else kAccepted.
[[nodiscard]] Answer predict(std::span<const float> scores, const engine::Labels& labels, const DecideRule& rule,
                             std::size_t top_k);

}  // namespace kinglet::daemon
