// SPDX-License-Identifier: Apache-2.0
#include "visits/json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "visits/names/shown_bird.h"

namespace kinglet::visits {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 5> kVerdicts{"none", "confirmed", "corrected", "not_a_bird", "unknown"};

Json review_json(const Review& review) {
  Json json{{"verdict", to_string(review.verdict)}};
  if (!review.species_id.empty()) json["species_id"] = review.species_id;
  if (!review.name.empty()) json["name"] = review.name;
  if (!review.note.empty()) json["note"] = review.note;
  if (review.reviewed_at) json["reviewed_at"] = to_rfc3339(*review.reviewed_at);
  if (!review.reviewed_by.empty()) json["reviewed_by"] = review.reviewed_by;
  return json;
}

Json model_result_json(const ModelResult& result) {
  return {
      {"species_id", result.species_id},   {"score", rounded_score(result.score)},
      {"frames_seen", result.frames_seen}, {"frames_agreeing", result.frames_agreeing},
      {"top", to_json(result.top)},        {"model", {{"name", result.model_name}, {"digest", result.model_digest}}}};
}

// What is known of the shown species without the model's labels.
void add_names(const Visit& visit, Json& json) {
  const NamedScore shown = shown_bird(visit);
  if (!shown.scientific_name.empty()) json["scientific_name"] = shown.scientific_name;
  if (!shown.common_name.empty()) json["common_name"] = shown.common_name;
}

}  // namespace

double rounded_score(float score) { return std::round(static_cast<double>(score) * 1e6) / 1e6; }

std::string_view to_string(Verdict verdict) { return kVerdicts.at(static_cast<std::size_t>(verdict)); }

std::optional<Verdict> verdict_of(std::string_view text) {
  const auto* const found = std::ranges::find(kVerdicts, text);
  if (found == kVerdicts.end()) return std::nullopt;
  return static_cast<Verdict>(found - kVerdicts.begin());
}

Json to_json(std::span<const NamedScore> top) {
  Json list = Json::array();
  for (const NamedScore& scored : top) {
    list.push_back({{"species_id", scored.species_id},
                    {"label", scored.label},
                    {"index", scored.index},
                    {"score", rounded_score(scored.score)}});
  }
  return list;
}

Json to_json(const Area& area) {
  // A ten-thousandth is half a pixel of 5,000.
  const auto share = [](double part) { return std::round(part * 1e4) / 1e4; };
  return {
      {"x", share(area.left)}, {"y", share(area.top)}, {"width", share(area.width)}, {"height", share(area.height)}};
}

Json to_json(const Visit& visit) {
  using std::chrono::milliseconds;
  const auto duration = std::chrono::round<milliseconds>(visit.duration);
  Json json{{"id", visit.id},
            {"seq", visit.seq},
            {"state", visit.state == VisitState::kOpen ? "open" : "ended"},
            {"source", visit.source},
            {"started_at", to_rfc3339(visit.started_at)}};
  if (visit.state == VisitState::kEnded) json["ended_at"] = to_rfc3339(visit.started_at + duration);
  json["duration_seconds"] = static_cast<double>(duration.count()) / 1e3;
  json["clock_synced"] = visit.clock_synced;
  json["species_id"] = visit.species_id();
  add_names(visit, json);
  json["model_result"] = model_result_json(visit.model_result);
  json["review"] = review_json(visit.review);
  json["unusual"] = visit.unusual;
  json["count"] = visit.count;
  json["best_prediction"] = visit.best_prediction;
  json["crop_px"] = {{"x", visit.best_crop.x},
                     {"y", visit.best_crop.y},
                     {"width", visit.best_crop.width},
                     {"height", visit.best_crop.height}};
  if (visit.best_box) json["box_ratio"] = to_json(*visit.best_box);
  return json;
}

}  // namespace kinglet::visits
