// SPDX-License-Identifier: Apache-2.0
// Why: GET /api/v1/model, /model/labels, /model/plan: what runs, and enough to repeat its preprocessing elsewhere.
#include <algorithm>
#include <format>
#include <set>

#include "daemon/http/message/problem.h"
#include "daemon/http/routes/json.h"
#include "daemon/http/routes/routes.h"
#include "daemon/line/line_detector.h"
#include "daemon/models/model_board.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/recipe/recipe_json.h"
#include "visits/names/bird_names.h"

namespace kinglet::daemon::http {
namespace {

Reply no_model(const ModelsView& view) {
  return problem("not-found", "no model is loaded: " + view.models.problem(),
                 "set model.path to an ONNX image classifier");
}

Json tensor(const engine::TensorInfo& info) {
  return {{"name", info.name},
          {"type", engine::to_string(info.type)},
          {"shape", info.shape},
          {"layout", info.layout == engine::TensorLayout::kNhwc ? "NHWC" : "NCHW"}};
}

Json tensors(const std::vector<engine::TensorInfo>& infos) {
  Json list = Json::array();
  for (const engine::TensorInfo& info : infos) list.push_back(tensor(info));
  return list;
}

Json plan_summary(const engine::PlanInfo& plan) {
  return {{"nodes_in_file", plan.nodes_in_file},
          {"nodes_after_passes", plan.nodes_after_passes},
          {"segments", plan.segments},
          {"transposes", plan.transposes},
          {"macs", plan.macs},
          {"xnnpack_mac_ratio", rounded(plan.xnnpack_mac_ratio, 6)},
          {"fallback_nodes", plan.fallback_nodes},
          {"weight_bytes", plan.weight_bytes},
          {"arena_bytes", plan.arena_bytes},
          {"href", "/api/v1/model/plan"}};
}

std::optional<std::string> property(const ModelFacts& model, std::string_view name) {
  for (const auto& [key, value] : model.metadata.properties) {
    if (key == name) return value;
  }
  return std::nullopt;
}

// What never changes while the model is loaded: a browser asks again only by ETag.
Reply cached(const ModelFacts& model, const Call& call, const Json& json) {
  std::string text = json.dump();
  // Names change without the model.
  const std::string tag = format_text("\"{}-{:016x}\"", model.digest.substr(model.digest.find(':') + 1, 16),
                                      std::hash<std::string>{}(text));
  if (call.if_none_match == tag) return {.status = 304, .headers = {{"ETag", tag}}};
  Reply reply = json_reply(std::move(text));
  reply.headers.emplace_back("ETag", tag);
  return reply;
}

// Those of the program's table, and those that the owner names, that the model does not have, under whichever name: a
// person may see them all the same.
Json other_birds(const visits::Taxa& taxa, std::string_view language) {
  std::set<std::size_t> known;
  for (const visits::BirdNames& bird : visits::bird_names()) {
    if (taxa.find(bird.species_id)) known.insert(bird.bird);
  }
  Json others = Json::array();
  std::set<const visits::OtherBird*> told;
  for (const visits::BirdNames& bird : visits::bird_names()) {
    if (!bird.is_current || known.contains(bird.bird)) continue;
    const std::string_view english = bird.names.front();
    const std::string_view name = visits::bird_name(bird.species_id, language);
    Json other{{"species_id", bird.species_id},
               {"scientific_name", bird.scientific_name},
               {"common_name", english},
               {"name", name.empty() ? english : name}};
    if (const visits::OtherBird* own = taxa.find_other(bird.species_id)) {
      told.insert(own);
      other["species_id"] = own->species_id;
      other["common_name"] = other["name"] = own->name;
    }
    others.push_back(std::move(other));
  }
  for (const visits::OtherBird& own : taxa.others()) {
    if (told.contains(&own)) continue;
    others.push_back({{"species_id", own.species_id}, {"common_name", own.name}, {"name", own.name}});
  }
  return others;
}

}  // namespace

Reply get_model(const ModelsView& view, const Call& /*call*/) {
  const auto facts = view.models.facts();
  if (!facts) return no_model(view);
  const ModelFacts& model = *facts;
  Json json{{"name", model.name},
            {"file", model.file},
            {"digest", model.digest},
            {"size_bytes", model.size_bytes},
            {"demonstration", model.demonstration}};
  for (const auto& [member, key] :
       {std::pair{"licence", "kinglet.licence"}, std::pair{"accuracy", "kinglet.accuracy"}}) {
    if (const std::optional<std::string> value = property(model, key)) json[member] = *value;
  }
  json["opset"] = model.metadata.opset;
  if (!model.metadata.producer.empty()) json["producer"] = model.metadata.producer;
  json["inputs"] = tensors(model.inputs);
  json["outputs"] = tensors(model.outputs);
  json["output"] = {{"name", model.output.name},
                    {"meaning", to_string(model.output.meaning)},
                    {"decided_by", model.output.decided_by}};
  json["labels"] = {
      {"count", model.labels.size()}, {"href", "/api/v1/model/labels"}, {"named", model.labels_from_file}};
  json["preprocess"] = engine::recipe_json(model.recipe);
  json["preprocess_found"] = model.recipe_found;
  json["plan"] = plan_summary(model.plan);
  json["precision"] = {{"used", model.precision.name()},
                       {"wished", to_string(model.wished_precision)},
                       {"reason", model.precision.reason},
                       {"trial_ms", rounded(model.precision.took.count(), 3)}};
  if (const LineDetector* detector = view.detector) {
    json["detector"] = {{"name", detector->name()},
                        {"head", detector->head()},
                        {"classes", detector->labels().size()},
                        {"works", detector->problem().empty()}};
  }
  json["threads"] = model.threads;
  json["load_ms"] = rounded(model.load_time.count(), 3);
  json["warmup_ms"] = rounded(model.warmup_time.count(), 3);
  return json_reply(json.dump());
}

Reply get_model_labels(const ModelsView& view, const Call& call) {
  const auto model = view.models.facts();
  if (!model) return no_model(view);
  const std::optional<std::string_view> language = call.query_value("language");
  if (language && !std::ranges::contains(visits::kNameLanguages, *language)) {
    return problem("bad-parameter", format_text("language is \"{}\"", printable(*language, 20)),
                   "expected en, de, fr, es, ja or zh");
  }
  Json items = Json::array();
  const visits::Taxa& taxa = *model->taxa;
  for (std::size_t index = 0; index < model->labels.size(); ++index) {
    const visits::Taxon& taxon = taxa[taxa.of_class()[index]];
    Json item{{"index", index}, {"species_id", taxon.species_id}, {"label", model->labels[index].text}};
    if (!taxon.scientific_name.empty()) item["scientific_name"] = taxon.scientific_name;
    item["common_name"] = taxon.common_name;
    if (language) item["name"] = visits::name_in(taxon, *language);
    if (taxon.parent != visits::kNoTaxon) item["parent"] = taxa[taxon.parent].species_id;
    item["role"] = taxon.role == engine::LabelRole::kBackground ? "background"
                   : taxon.role == engine::LabelRole::kSpecies  ? "species"
                                                                : "other";
    items.push_back(std::move(item));
  }
  Json all{{"items", std::move(items)}, {"has_more", false}};
  if (language) all["others"] = other_birds(taxa, *language);
  return cached(*model, call, all);
}

Reply get_model_plan(const ModelsView& view, const Call& call) {
  const auto model = view.models.facts();
  if (!model) return no_model(view);
  Json json = plan_summary(model->plan);
  json.erase("href");
  Json steps = Json::array();
  for (const engine::StepInfo& step : model->plan.steps) {
    steps.push_back({{"name", step.name},
                     {"op_type", step.op_type},
                     {"backend", step.backend},
                     {"segment", step.segment},
                     {"output_shape", step.output_shape},
                     {"macs", step.macs}});
  }
  json["steps"] = std::move(steps);
  return cached(*model, call, json);
}

}  // namespace kinglet::daemon::http
