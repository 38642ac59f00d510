// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/routes/json.h"

#include <cmath>

#include "visits/json.h"

namespace kinglet::daemon::http {

double rounded(double value, int decimals) {
  const double scale = std::pow(10.0, decimals);
  return std::round(value * scale) / scale;
}

double rounded_ms(SteadyClock::duration duration) { return rounded(to_ms(duration).count(), 3); }

Json top_to_json(std::span<const Scored> top, const visits::Taxa& taxa) {
  Json list = Json::array();
  for (const Scored& scored : top) {
    const visits::Taxon& taxon = taxa[scored.taxon];
    list.push_back({{"species_id", taxon.species_id},
                    {"label", taxon.label},
                    {"index", scored.index},
                    {"score", rounded(static_cast<double>(scored.score), 6)}});
  }
  return list;
}

Json crop_to_json(const CropRect& crop) {
  return {{"x", crop.x}, {"y", crop.y}, {"width", crop.width}, {"height", crop.height}};
}

Json regions_to_json(std::span<const RegionLook> looks, const visits::Taxa& taxa) {
  Json list = Json::array();
  for (const RegionLook& look : looks) {
    list.push_back({{"track", "trk_" + std::string(look.track.view())},
                    {"box_ratio", visits::to_json(look.box)},
                    {"proposed_by", to_string(look.proposed_by)},
                    {"outcome", to_string(look.outcome)},
                    {"top", top_to_json(look.top(), taxa)}});
    if (!look.opinion) continue;
    Json& sees = list.back()["detector"] = {{"sees", to_string(look.opinion->being)}};
    if (look.opinion->being != Being::kNobody) sees["score"] = rounded(static_cast<double>(look.opinion->score), 6);
  }
  return list;
}

Json model_reference(const ModelFacts& model) { return {{"name", model.name}, {"digest", model.digest}}; }

Json to_json(const Prediction& prediction, const ModelFacts& model, const std::string& source_name) {
  Json json{{"id", "prd_" + std::string(prediction.id.view())},
            {"seq", prediction.seq},
            {"at", to_rfc3339(prediction.at)},
            {"clock_synced", prediction.clock_synced},
            {"source", prediction.drawn ? std::string(kDrawnSource) : source_name},
            {"frame_seq", prediction.frame_seq},
            {"age_ms", rounded_ms(prediction.age)},
            {"outcome", to_string(prediction.answer.outcome)},
            {"top", top_to_json(prediction.answer.top(), *model.taxa)},
            {"crop_px", crop_to_json(prediction.crop)},
            {"regions", regions_to_json(prediction.looks(), *model.taxa)},
            {"timing",
             {{"wait_ms", rounded_ms(prediction.timing.wait)},
              {"preprocess_ms", rounded_ms(prediction.timing.preprocess)},
              {"inference_ms", rounded_ms(prediction.timing.inference)},
              {"postprocess_ms", rounded_ms(prediction.timing.postprocess)}}},
            {"model", model_reference(model)}};
  if (prediction.visit) json["visit_id"] = "vis_" + std::string(prediction.visit->view());
  return json;
}

}  // namespace kinglet::daemon::http
