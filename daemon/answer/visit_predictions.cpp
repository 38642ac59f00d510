// SPDX-License-Identifier: Apache-2.0
#include "daemon/answer/visit_predictions.h"

#include <algorithm>
#include <string_view>

namespace kinglet::daemon {
namespace {

constexpr std::string_view kPredictionKind = "prd_";
constexpr std::string_view kVisitKind = "vis_";

bool names(std::string_view id, const Ulid& ulid) {
  return id.starts_with(kPredictionKind) && id.substr(kPredictionKind.size()) == ulid.view();
}

Ulid ulid_of(std::string_view visit_id) {
  Ulid ulid;
  std::ranges::copy(visit_id.substr(kVisitKind.size(), ulid.letters.size()), ulid.letters.begin());
  return ulid;
}

}  // namespace

void VisitPredictions::visit_began(const visits::Visit& visit) {
  const auto is_of_visit = [&](const Prediction& prediction) {
    return std::ranges::any_of(visit.predictions, [&](const auto& kept) { return names(kept.id, prediction.id); });
  };
  kept_.push_back({.visit = ulid_of(visit.id),
                   .first = newest_.list(visit.predictions.size(), is_of_visit),
                   .last_of_first = std::nullopt,
                   .best = std::nullopt});
}

void VisitPredictions::look(const Prediction& prediction) {
  for (Kept& kept : kept_) {
    const bool is_best = std::ranges::any_of(
        prediction.looks(), [&](const RegionLook& look) { return look.best_of_visit && look.visit == kept.visit; });
    if (!is_best) continue;
    if (!kept.last_of_first) kept.last_of_first = prediction;
    kept.best = prediction;
  }
}

visits::Visit VisitPredictions::complete(visits::Visit visit) {
  const auto open = std::ranges::find(kept_, ulid_of(visit.id), &Kept::visit);
  if (open == kept_.end()) return visit;
  std::vector<Prediction> known = std::move(open->first);
  if (open->last_of_first) known.push_back(*open->last_of_first);
  if (open->best) known.push_back(*open->best);
  for (visits::KeptPrediction& kept : visit.predictions) {
    const auto found = std::ranges::find_if(known, [&](const auto& one) { return names(kept.id, one.id); });
    if (found == known.end()) continue;
    found->visit = ulid_of(visit.id);
    kept.answer = describe_(*found);
  }
  kept_.erase(open);
  return visit;
}

}  // namespace kinglet::daemon
