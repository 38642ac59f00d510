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
  first_ = newest_.list(visit.predictions.size(), is_of_visit);
  last_of_first_.reset();
  best_.reset();
}

void VisitPredictions::look(const Prediction& prediction) {
  if (!last_of_first_) last_of_first_ = prediction;
  best_ = prediction;
}

visits::Visit VisitPredictions::complete(visits::Visit visit) {
  if (last_of_first_) first_.push_back(*last_of_first_);
  if (best_) first_.push_back(*best_);
  for (visits::KeptPrediction& kept : visit.predictions) {
    const auto found = std::ranges::find_if(first_, [&](const auto& one) { return names(kept.id, one.id); });
    if (found == first_.end()) continue;
    found->visit = ulid_of(visit.id);
    kept.answer = describe_(*found);
  }
  first_.clear();
  last_of_first_.reset();
  best_.reset();
  return visit;
}

}  // namespace kinglet::daemon
