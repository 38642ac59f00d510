// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet inspect`: what a model file holds, what belongs to it, and how it will run here.
#include <format>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/classifier.h"
#include "cli/command.h"
#include "engine/base/text.h"
#include "engine/model.h"
#include "engine/optimize.h"

namespace kinglet::cli {
namespace {

using Json = nlohmann::ordered_json;
using engine::Graph;
using engine::PlanInfo;

struct Options {
  ModelOptions model;
  bool shapes = false;
};

// Everything that is printed, collected first so that text and JSON say the same.
struct Facts {
  engine::ModelFile file;
  engine::GraphSize size;
  FoundRecipe recipe;
  std::optional<std::filesystem::path> labels_path;
  std::size_t label_count = 0;
  PlanInfo plan;
};

std::string shape_text(const Graph& graph, engine::ValueId id, const std::vector<std::string>* names = nullptr) {
  const auto& shape = graph.value(id).shape;
  if (!shape) return "[?]";
  std::string text;
  for (std::size_t i = 0; i < shape->size(); ++i) {
    const bool named = names != nullptr && i < names->size() && !(*names)[i].empty() && (*shape)[i] < 0;
    const std::string dim = named ? printable((*names)[i], 30) : (*shape)[i] < 0 ? "?" : std::to_string((*shape)[i]);
    text += (i > 0 ? "," : "") + dim;
  }
  return "[" + text + "]";
}

Result<Facts> collect(const Options& options) {
  Facts facts{.file = KINGLET_TRY(engine::open_model(options.model.model)),
              .size = {},
              .recipe = {},
              .labels_path = labels_path(options.model),
              .label_count = 0,
              .plan = {}};
  facts.size = engine::size_of(facts.file.graph);
  facts.recipe = KINGLET_TRY(recipe_of(options.model, facts.file.graph.metadata));
  if (facts.labels_path) facts.label_count = KINGLET_TRY(engine::Labels::open(*facts.labels_path)).size();
  Result<engine::Session> session = engine::Session::create(facts.file.graph, {.threads = thread_count(options.model)});
  if (!session) return std::unexpected(with_context(session.error(), options.model.model));
  facts.plan = session->plan();
  return facts;
}

Json tensors_json(const Graph& graph, std::span<const engine::ValueId> ids) {
  Json out = Json::array();
  for (const engine::ValueId id : ids) {
    const engine::Value& value = graph.value(id);
    Json shape = nullptr;
    if (value.shape) {
      shape = Json::array();
      for (const engine::Dim dim : *value.shape) shape.push_back(dim < 0 ? Json(nullptr) : Json(dim));
    }
    out.push_back({{"name", value.name}, {"type", to_string(value.type)}, {"shape", std::move(shape)}});
  }
  return out;
}

Json nodes_json(const PlanInfo& plan) {
  Json nodes = Json::array();
  for (const engine::StepInfo& step : plan.steps) {
    nodes.push_back({{"name", step.name},
                     {"operator", step.op_type},
                     {"backend", step.backend},
                     {"segment", step.segment},
                     {"output_shape", step.output_shape},
                     {"macs", step.macs}});
  }
  return nodes;
}

std::vector<engine::ValueId> input_ids(const Graph& graph) {
  std::vector<engine::ValueId> ids;
  for (const engine::GraphInput& input : graph.inputs()) ids.push_back(input.value);
  return ids;
}

Result<Json> to_json(const Facts& facts, const Options& options) {
  const Graph& graph = facts.file.graph;
  Json out{{"name", facts.file.path.stem().string()},
           {"path", facts.file.path.string()},
           {"digest", KINGLET_TRY(engine::file_digest(facts.file.path))},
           {"size_bytes", facts.file.size_bytes},
           {"opset", graph.metadata.opset},
           {"ir_version", graph.metadata.ir_version},
           {"producer", graph.metadata.producer},
           {"parameters", facts.size.parameters},
           {"inputs", tensors_json(graph, input_ids(graph))},
           {"outputs", tensors_json(graph, graph.outputs())},
           {"operators", facts.size.operators}};
  for (const auto& [key, value] : graph.metadata.properties) out["properties"][key] = value;
  if (facts.labels_path) out["labels"] = {{"path", facts.labels_path->string()}, {"count", facts.label_count}};
  out["preprocess"] = Json::parse(engine::to_json(facts.recipe.recipe));
  out["preprocess_from"] = facts.recipe.origin.empty() ? "default" : facts.recipe.origin;
  const PlanInfo& plan = facts.plan;
  out["plan"] = {{"nodes_in_file", plan.nodes_in_file},
                 {"nodes_after_passes", plan.nodes_after_passes},
                 {"segments", plan.segments},
                 {"transposes", plan.transposes},
                 {"macs", plan.macs},
                 {"xnnpack_mac_ratio", plan.xnnpack_mac_ratio},
                 {"weight_bytes", plan.weight_bytes},
                 {"arena_bytes", plan.arena_bytes},
                 {"fallback_nodes", plan.fallback_nodes}};
  if (options.shapes) out["plan"]["nodes"] = nodes_json(plan);
  return out;
}

// What the maker wrote into the file about it; the recipe has a line of its own.
std::vector<std::pair<std::string, std::string>> shown_properties(const Graph& graph) {
  constexpr std::size_t kMost = 8;
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& property : graph.metadata.properties) {
    if (property.first != "kinglet.recipe" && out.size() < kMost) out.push_back(property);
  }
  return out;
}

std::string join(const std::vector<std::string>& names, std::size_t limit) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), limit); ++i) text += (i > 0 ? ", " : "") + printable(names[i], 60);
  if (names.size() > limit) text += std::format(" and {} more", names.size() - limit);
  return text;
}

std::string recipe_text(const FoundRecipe& found) {
  const engine::Recipe& recipe = found.recipe;
  return std::format("{}; {}, mean {:g} {:g} {:g}, std {:g} {:g} {:g}, output {}",
                     found.origin.empty() ? "none found, the default" : found.origin,
                     recipe.resize_mode == engine::ResizeMode::kStretch ? "stretch" : "center crop", recipe.mean[0],
                     recipe.mean[1], recipe.mean[2], recipe.std[0], recipe.std[1], recipe.std[2], recipe.output);
}

void print_text(const Facts& facts, const Options& options, Output& out) {
  const Graph& graph = facts.file.graph;
  const auto line = [&](std::string_view name, std::string_view value) {
    out.print(std::format("{:<11} {}\n", name, value));
  };
  line("model", facts.file.path.string());
  line("size", std::format("{}, {} parameters", human_bytes(facts.file.size_bytes), grouped(facts.size.parameters)));
  line("opset", std::format("{}, IR version {}, producer {}", graph.metadata.opset, graph.metadata.ir_version,
                            graph.metadata.producer.empty() ? "not named" : printable(graph.metadata.producer, 60)));
  for (const auto& [key, value] : shown_properties(graph)) line(printable(key, 20), printable(value));
  for (const engine::GraphInput& input : graph.inputs()) {
    const engine::Value& value = graph.value(input.value);
    line("input", std::format("{}  {} {}", printable(value.name, 60), to_string(value.type),
                              shape_text(graph, input.value, &input.dim_names)));
  }
  for (const engine::ValueId id : graph.outputs()) {
    line("output", std::format("{}  {} {}", printable(graph.value(id).name, 60), to_string(graph.value(id).type),
                               shape_text(graph, id)));
  }
  line("recipe", recipe_text(facts.recipe));
  line("labels",
       facts.labels_path ? std::format("{} ({})", facts.labels_path->string(), facts.label_count) : "none found");
  const PlanInfo& plan = facts.plan;
  line("plan", std::format("{} nodes, {} after the passes, {} segment{}, {} transposes", plan.nodes_in_file,
                           plan.nodes_after_passes, plan.segments, plan.segments == 1 ? "" : "s", plan.transposes));
  line("work", std::format("{:.1f} million multiply-adds, {:.1f} % of them by XNNPACK",
                           static_cast<double>(plan.macs) / 1e6, 100 * plan.xnnpack_mac_ratio));
  line("memory", std::format("weights {}, buffers {}", human_bytes(plan.weight_bytes), human_bytes(plan.arena_bytes)));
  line("fallback", plan.fallback_nodes.empty() ? "none" : join(plan.fallback_nodes, 8));
  Table operators({"OPERATOR", ">COUNT"});
  for (const auto& [name, count] : facts.size.operators) operators.add({name, std::to_string(count)});
  out.print("\n" + operators.text(out));
  if (!options.shapes) return;
  Table nodes({"NODE", "OPERATOR", "BY", ">SEGMENT", "OUTPUT", ">MULTIPLY-ADDS"});
  for (const engine::StepInfo& step : plan.steps) {
    nodes.add({printable(step.name, 50), step.op_type, step.backend, std::to_string(step.segment), step.output_shape,
               step.macs > 0 ? grouped(step.macs) : ""});
  }
  out.print("\n" + nodes.text(out));
}

Result<int> inspect(const Options& options, Output& out) {
  const Facts facts = KINGLET_TRY(collect(options));
  if (out.json()) {
    out.print_json(KINGLET_TRY(to_json(facts, options)));
  } else {
    print_text(facts, options, out);
  }
  return 0;
}

}  // namespace

Body inspect_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_model_argument(app, options->model);
  app.add_flag("--shapes", options->shapes, "list every step of the plan with its output");
  add_picture_options(app, options->model);
  add_threads_option(app, options->model);
  return [options](Output& out) { return inspect(*options, out); };
}

}  // namespace kinglet::cli
