// SPDX-License-Identifier: Apache-2.0
#include "visits/names/shown_bird.h"

#include <algorithm>

#include "visits/names/bird_names.h"

namespace kinglet::visits {

NamedScore shown_bird(const Visit& visit) {
  const auto& top = visit.model_result.top;
  const std::string& id = visit.species_id();
  const auto found = std::ranges::find(top, id, &NamedScore::species_id);
  if (found != top.end()) return *found;
  NamedScore bird{.species_id = id};
  if (visit.review.verdict == Verdict::kCorrected) bird.common_name = visit.review.name;
  if (const BirdNames* known = find_bird_names(id)) {
    bird.scientific_name = known->scientific_name;
    bird.common_name = known->names.front();
  }
  return bird;
}

}  // namespace kinglet::visits
