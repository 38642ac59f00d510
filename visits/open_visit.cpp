// SPDX-License-Identifier: Apache-2.0
#include "visits/open_visit.h"

#include <algorithm>

namespace kinglet::visits {
namespace {

std::string prediction_id(const Ulid& id) { return "prd_" + std::string(id.view()); }

}  // namespace

NamedScore named(const Scored& scored, const Taxa& taxa) {
  const Taxon& taxon = taxa[scored.taxon];
  return {.species_id = taxon.species_id,
          .label = taxon.label,
          .scientific_name = taxon.scientific_name,
          .common_name = taxon.common_name,
          .index = scored.index,
          .score = scored.score};
}

void OpenVisit::Name::set_best(const Sighting& sighting) {
  best_score = sighting.look.score;
  best_prediction = sighting.prediction;
  best_crop = sighting.crop;
  best_box = sighting.box;
  best_answer = sighting.look;
}

bool OpenVisit::Name::add(const Sighting& sighting, std::uint64_t frame) {
  if (frame != newest_frame) {
    ++frames;
    score_sum += static_cast<double>(sighting.answer.score);
  }
  newest_frame = frame;
  unusual = unusual || sighting.answer.unusual;
  if (sighting.look.score <= best_score) return false;
  set_best(sighting);
  return true;
}

OpenVisit::Name& OpenVisit::name_of(std::uint32_t taxon) {
  const auto found = std::ranges::find(names, taxon, &Name::taxon);
  if (found != names.end()) return *found;
  Name& weakest = *std::ranges::min_element(names.begin() + 1, names.end(), {}, &Name::frames);
  weakest = Name{.taxon = taxon};
  return weakest;
}

Visit describe(const OpenVisit& open, VisitState state, const Taxa& taxa) {
  const OpenVisit::Name& name = open.names[0];
  Visit visit;
  visit.id = "vis_" + std::string(open.id.view());
  visit.seq = open.seq;
  visit.state = state;
  visit.started_at = open.started_wall;
  visit.duration = open.last_at - open.started_at;
  visit.clock_synced = open.clock_synced;
  visit.first_of_season = open.first_of_season;
  visit.unusual = name.unusual || open.first_of_season;
  visit.best_prediction = prediction_id(name.best_prediction);
  visit.best_crop = name.best_crop;
  visit.best_box = name.best_box;
  visit.count = open.count;
  for (const Ulid& id : open.begun_by) visit.predictions.push_back({.id = prediction_id(id), .answer = {}});
  if (!std::ranges::contains(open.begun_by, name.best_prediction)) {
    visit.predictions.push_back({.id = visit.best_prediction, .answer = {}});
  }
  ModelResult& result = visit.model_result;
  result.species_id = taxa[name.taxon].species_id;
  result.score = static_cast<float>(name.score_sum / std::max(1U, name.frames));
  result.frames_seen = static_cast<std::uint32_t>(open.last_frame - open.first_frame + 1);
  result.frames_agreeing = name.frames;
  const std::span<const Scored> top = name.best_answer.top();
  if (std::ranges::find(top, name.taxon, &Scored::taxon) == top.end()) {
    result.top.push_back(named({name.taxon, top[0].index, name.best_score}, taxa));
  }
  for (const Scored& scored : top) result.top.push_back(named(scored, taxa));
  return visit;
}

}  // namespace kinglet::visits
