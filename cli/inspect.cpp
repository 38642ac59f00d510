// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet inspect`: what a model file holds, what belongs to it, and how it will run here.
#include "cli/inspect.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/graph_page.h"
#include "cli/model_options.h"
#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/ops/levels.h"
#include "engine/passes/quantized_layer.h"
#include "engine/passes/runner.h"
#include "engine/recipe/recipe_json.h"
#include "engine/session/model.h"
#include "engine/session/optimize.h"

namespace kinglet::cli {
namespace {

using Json = nlohmann::ordered_json;
using engine::Graph;
using engine::PlanInfo;

struct Options {
  ModelOptions model;
  std::string other;
  bool diff = false;
  bool shapes = false;
  std::string tensor;
  std::size_t values = 32;
  std::string page;
  bool force = false;
};

// Everything that is printed, collected first so that text and JSON say the same.
struct Facts {
  engine::ModelFile file;
  engine::GraphSize size;
  engine::FoundRecipe recipe;
  std::optional<engine::FoundLabels> labels;
  std::optional<PlanInfo> plan;
  std::string no_plan;                      // why there is none
  engine::ChosenPrecision precision;        // of a plan
  Result<engine::OutputMeaning> output;     // or why it is no classifier
  std::vector<engine::FloatNode> in_float;  // of a quantised model
};

// A step of the plan with the nodes it runs.
struct Segment {
  std::string backend;
  std::optional<engine::KernelInfo> kernel;
  std::size_t nodes = 0, halves = 0;  // of these in float16
  std::int64_t macs = 0;
  std::string first, last;

  [[nodiscard]] std::string by() const {
    if (kernel) return kernel->name;
    if (halves == 0) return backend;
    return halves == nodes ? backend + ", float16" : format_text("{}, {} in float16", backend, halves);
  }
};

std::string megabytes(std::size_t bytes) { return format_text("{:.1f} MB", static_cast<double>(bytes) / 1e6); }

std::vector<Segment> segments_of(const PlanInfo& plan) {
  std::vector<Segment> out;
  for (const engine::StepInfo& step : plan.steps) {
    if (step.segment >= out.size()) out.resize(step.segment + 1);
    Segment& segment = out[step.segment];
    segment.backend = step.backend;
    segment.kernel = step.kernel;
    segment.macs += step.macs;
    segment.halves += step.half ? 1 : 0;
    if (segment.nodes++ == 0) segment.first = step.name;
    segment.last = step.name;
  }
  return out;
}

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

Result<std::vector<engine::FloatNode>> float_nodes_of(Graph graph) {
  KINGLET_TRY(engine::run_passes(graph, {.for_session = true, .until = "fuse_quantized"}));
  return engine::nodes_in_float(graph);
}

// Of a picture model; another one is shown as float32 computes it.
engine::ChosenPrecision precision_for(const ModelOptions& options) {
  const engine::PictureModelOptions pictures = options.of_pictures();
  if (const auto settled = engine::settled_precision(pictures.precision)) return *settled;
  const auto model = engine::PictureModel::open(pictures, session_options(options));
  return model ? model->precision() : engine::ChosenPrecision{.reason = "no picture model to try float16 with"};
}

Result<Facts> collect(const Options& options) {
  Facts facts{.file = KINGLET_TRY(engine::open_model(options.model.model)), .output = {}};
  facts.size = engine::size_of(facts.file.graph);
  facts.recipe = KINGLET_TRY(recipe_of(options.model.of_pictures(), facts.file.graph.metadata));
  facts.labels = KINGLET_TRY(labels_of(options.model.of_pictures(), facts.file.graph.metadata));
  facts.precision = precision_for(options.model);
  const Result<engine::Session> session =
      engine::Session::create(facts.file.graph, {.threads = thread_count(options.model), .half = facts.precision.half});
  facts.output =
      output_of(options.model.of_pictures(),
                session ? session->output_forms() : engine::output_forms(facts.file.graph, engine::kRowRules),
                facts.recipe.recipe, facts.labels);
  if (session) {
    facts.plan = session->plan();
    facts.in_float = KINGLET_TRY(float_nodes_of(facts.file.graph));
  } else {
    facts.no_plan = describe(session.error());
    if (!session.error().hint.empty()) facts.no_plan += format_text(" ({})", session.error().hint);
  }
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

Json kernel_json(const std::optional<engine::KernelInfo>& kernel) {
  if (!kernel) return nullptr;
  return {{"name", kernel->name}, {"cost", kernel->cost}, {"packed_bytes", kernel->packed_bytes}};
}

Json nodes_json(const PlanInfo& plan) {
  Json nodes = Json::array();
  for (const engine::StepInfo& step : plan.steps) {
    nodes.push_back({{"name", step.name},
                     {"operator", step.op_type},
                     {"backend", step.backend},
                     {"float16", step.half},
                     {"segment", step.segment},
                     {"output_shape", step.output_shape},
                     {"macs", step.macs}});
  }
  return nodes;
}

Json segments_json(const PlanInfo& plan) {
  Json out = Json::array();
  for (const Segment& segment : segments_of(plan)) {
    out.push_back({{"backend", segment.backend},
                   {"kernel", kernel_json(segment.kernel)},
                   {"nodes", segment.nodes},
                   {"float16_nodes", segment.halves},
                   {"macs", segment.macs},
                   {"first", segment.first},
                   {"last", segment.last}});
  }
  return out;
}

std::vector<engine::ValueId> input_ids(const Graph& graph) {
  std::vector<engine::ValueId> ids;
  for (const engine::GraphInput& input : graph.inputs()) ids.push_back(input.value);
  return ids;
}

Json plan_json(const Facts& facts, const Options& options) {
  if (!facts.plan) return {{"possible", false}, {"reason", facts.no_plan}};
  const PlanInfo& plan = *facts.plan;
  Json out{{"possible", true},
           {"nodes_in_file", plan.nodes_in_file},
           {"nodes_after_passes", plan.nodes_after_passes},
           {"segments", plan.segments},
           {"steps", segments_json(plan)},
           {"transposes", plan.transposes},
           {"macs", plan.macs},
           {"xnnpack_mac_ratio", plan.xnnpack_mac_ratio},
           {"float16_mac_ratio", plan.half_mac_ratio},
           {"precision", {{"used", facts.precision.name()}, {"reason", facts.precision.reason}}},
           {"weight_bytes", plan.weight_bytes},
           {"arena_bytes", plan.arena_bytes},
           {"fallback_nodes", plan.fallback_nodes},
           {"float_nodes", Json::array()}};
  for (const engine::FloatNode& node : facts.in_float) {
    out["float_nodes"].push_back({{"name", node.name}, {"operator", node.op_type}, {"reason", node.reason}});
  }
  if (options.shapes) out["nodes"] = nodes_json(plan);
  return out;
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
           {"constant_bytes", facts.size.constant_bytes},
           {"inputs", tensors_json(graph, input_ids(graph))},
           {"outputs", tensors_json(graph, graph.outputs())},
           {"operators", facts.size.operators}};
  for (const auto& [key, value] : graph.metadata.properties) out["properties"][key] = value;
  if (facts.output) {
    out["output"] = {{"name", facts.output->name},
                     {"meaning", to_string(facts.output->meaning)},
                     {"decided_by", facts.output->decided_by}};
  } else {
    out["no_output"] = facts.output.error().message;
  }
  if (facts.labels) out["labels"] = {{"path", facts.labels->origin}, {"count", facts.labels->labels.size()}};
  out["preprocess"] = engine::recipe_json(facts.recipe.recipe);
  if (const auto preset = engine::preset_like(facts.recipe.recipe); !preset.empty()) out["preprocess_like"] = preset;
  out["preprocess_from"] = facts.recipe.origin.empty() ? "default" : facts.recipe.origin;
  out["plan"] = plan_json(facts, options);
  return out;
}

// What the maker wrote into the file about it; recipe and labels have lines of their own.
std::vector<std::pair<std::string, std::string>> shown_properties(const Graph& graph) {
  constexpr std::size_t kMost = 8;
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& property : graph.metadata.properties) {
    if (property.first == engine::kRecipeProperty || property.first == engine::kLabelsProperty) continue;
    if (out.size() < kMost) out.push_back(property);
  }
  return out;
}

std::string_view resize_text(engine::ResizeMode mode) {
  if (mode == engine::ResizeMode::kStretch) return "stretch";
  return mode == engine::ResizeMode::kLetterbox ? "letterbox" : "center crop";
}

std::string recipe_text(const engine::FoundRecipe& found) {
  const engine::Recipe& recipe = found.recipe;
  const std::string_view preset = engine::preset_like(recipe);
  return format_text("{}; {}{}, mean {:g} {:g} {:g}, std {:g} {:g} {:g}, output {}",
                     found.origin.empty() ? "none found, the default" : found.origin,
                     preset.empty() ? "" : format_text("as preset {}: ", preset), resize_text(recipe.resize_mode),
                     recipe.mean[0], recipe.mean[1], recipe.mean[2], recipe.std[0], recipe.std[1], recipe.std[2],
                     recipe.boxes ? format_text("boxes of {}", to_string(recipe.boxes->head)) : recipe.output);
}

using Lines = std::vector<std::pair<std::string, std::string>>;

void add_plan_lines(const Facts& facts, Lines& lines) {
  if (!facts.plan) {
    lines.emplace_back("plan", "none: " + facts.no_plan);
    return;
  }
  const PlanInfo& plan = *facts.plan;
  lines.emplace_back(
      "plan", format_text("{} nodes, {} after the passes, {} segment{}, {} transposes", plan.nodes_in_file,
                          plan.nodes_after_passes, plan.segments, plan.segments == 1 ? "" : "s", plan.transposes));
  lines.emplace_back("work", format_text("{:.1f} million multiply-adds, {:.1f} % of them by XNNPACK",
                                         static_cast<double>(plan.macs) / 1e6, 100 * plan.xnnpack_mac_ratio));
  lines.emplace_back("precision", format_text("{}: {}", facts.precision.name(), facts.precision.reason));
  lines.emplace_back("memory", format_text("weights {}, arena {} (inputs, outputs and values between operators)",
                                           human_bytes(plan.weight_bytes), human_bytes(plan.arena_bytes)));
  lines.emplace_back("fallback", plan.fallback_nodes.empty()
                                     ? "none"
                                     : format_text("{} nodes run by evaluate", plan.fallback_nodes.size()));
  if (!facts.in_float.empty()) {
    lines.emplace_back("in float", format_text("{} nodes of a quantised model", facts.in_float.size()));
  }
}

Lines fact_lines(const Facts& facts) {
  const Graph& graph = facts.file.graph;
  Lines lines{
      {"model", facts.file.path.string()},
      {"size",
       format_text("{}, {} parameters in {}", human_bytes(facts.file.size_bytes), grouped(facts.size.parameters),
                   human_bytes(static_cast<std::uint64_t>(facts.size.constant_bytes)))},
      {"opset", format_text("{}, IR version {}, producer {}", graph.metadata.opset, graph.metadata.ir_version,
                            graph.metadata.producer.empty() ? "not named" : printable(graph.metadata.producer, 60))}};
  for (const auto& [key, value] : shown_properties(graph)) lines.emplace_back(printable(key, 20), printable(value));
  for (const engine::GraphInput& input : graph.inputs()) {
    const engine::Value& value = graph.value(input.value);
    lines.emplace_back("input", format_text("{}  {} {}", printable(value.name, 60), to_string(value.type),
                                            shape_text(graph, input.value, &input.dim_names)));
  }
  for (const engine::ValueId id : graph.outputs()) {
    lines.emplace_back("output", format_text("{}  {} {}", printable(graph.value(id).name, 60),
                                             to_string(graph.value(id).type), shape_text(graph, id)));
  }
  lines.emplace_back("scores", facts.output ? format_text("{}: {} ({}){}", printable(facts.output->name, 60),
                                                          to_string(facts.output->meaning), facts.output->decided_by,
                                                          facts.output->has_scores ? "" : "; a class without a score")
                                            : "none: " + facts.output.error().message);
  lines.emplace_back("recipe", recipe_text(facts.recipe));
  lines.emplace_back("labels", facts.labels ? format_text("{} ({})", facts.labels->origin, facts.labels->labels.size())
                                            : "none found");
  add_plan_lines(facts, lines);
  return lines;
}

void print_plan(const Facts& facts, const Options& options, Output& out) {
  const PlanInfo& plan = *facts.plan;
  const std::vector<Segment> segments = segments_of(plan);
  if (segments.size() > 1) {
    Table table({">STEP", "BY", ">COST", ">PACKED", ">NODES", ">MULTIPLY-ADDS", "FIRST NODE", "LAST NODE"});
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const Segment& segment = segments[i];
      const auto& kernel = segment.kernel;
      table.add({std::to_string(i), segment.by(), kernel && kernel->cost > 0 ? format_text("{:.2f}", kernel->cost) : "",
                 kernel ? megabytes(kernel->packed_bytes) : "", std::to_string(segment.nodes),
                 segment.macs > 0 ? grouped(segment.macs) : "", printable(segment.first, 50),
                 segment.nodes > 1 ? printable(segment.last, 50) : ""});
    }
    out.print("\n" + table.text(out));
  }
  if (!plan.fallback_nodes.empty()) {
    Table table({"FALLBACK NODE, AND WHY IT DOES NOT RUN IN XNNPACK"});
    for (const std::string& node : plan.fallback_nodes) table.add({printable(node, 300)});
    out.print("\n" + table.text(out));
  }
  if (!facts.in_float.empty()) {
    Table table({"NODE IN FLOAT", "OPERATOR", "WHY"});
    for (const engine::FloatNode& node : facts.in_float)
      table.add({printable(node.name, 50), node.op_type, node.reason});
    out.print("\n" + table.text(out));
  }
  if (!options.shapes) return;
  Table nodes({"NODE", "OPERATOR", "BY", ">SEGMENT", "OUTPUT", ">MULTIPLY-ADDS"});
  for (const engine::StepInfo& step : plan.steps) {
    nodes.add({printable(step.name, 50), step.op_type, step.half ? step.backend + ", float16" : step.backend,
               std::to_string(step.segment), step.output_shape, step.macs > 0 ? grouped(step.macs) : ""});
  }
  out.print("\n" + nodes.text(out));
}

// Without a plan the shapes of the file itself are shown.
void print_file_shapes(const Graph& graph, Output& out) {
  Table nodes({"NODE", "OPERATOR", "OUTPUT"});
  for (const engine::NodeId id : graph.nodes()) {
    const engine::Node& node = graph.node(id);
    for (const engine::ValueId output : node.outputs) {
      if (output == engine::kNoValue) continue;
      nodes.add({printable(node.name, 50), node.op_type,
                 format_text("{} {}", to_string(graph.value(output).type), shape_text(graph, output))});
    }
  }
  out.print("\n" + nodes.text(out));
}

void print_text(const Facts& facts, const Options& options, Output& out) {
  for (const auto& [name, value] : fact_lines(facts)) out.print(format_text("{:<11} {}\n", name, value));
  Table operators({"OPERATOR", ">COUNT"});
  for (const auto& [name, count] : facts.size.operators) operators.add({name, std::to_string(count)});
  out.print("\n" + operators.text(out));
  if (facts.plan) return print_plan(facts, options, out);
  if (options.shapes) print_file_shapes(facts.file.graph, out);
}

Result<void> write_page(const Facts& facts, const Options& options, Output& out) {
  PageFacts page{.title = facts.file.path.filename().string(), .lines = fact_lines(facts), .runs = {}};
  if (!facts.plan) {
    page.runs_elsewhere = "no plan";
  } else {
    for (const engine::StepInfo& step : facts.plan->steps) {
      page.runs[step.name] = format_text("{}, step {}{}", step.backend, step.segment,
                                         step.macs > 0 ? format_text(", {} multiply-adds", grouped(step.macs)) : "");
    }
    for (const std::string& fallback : facts.plan->fallback_nodes) {
      const std::size_t name_end = fallback.find(" (");
      const auto row = page.runs.find(fallback.substr(0, name_end));
      const std::size_t reason = fallback.find("): ");
      if (row != page.runs.end() && reason != std::string::npos) row->second += ": " + fallback.substr(reason + 3);
    }
  }
  KINGLET_TRY(write_file(options.page, graph_page(facts.file.graph, page),
                         options.force ? Overwrite::kReplace : Overwrite::kRefuse));
  out.note(format_text("wrote {}", options.page));
  return {};
}

Result<int> inspect(const Options& options, Output& out) {
  if (options.diff != !options.other.empty()) {
    if (options.diff)
      return fail(ErrorCode::kUsage, "--diff compares two files, one is given", "inspect",
                  "kinglet inspect --diff OLD.onnx NEW.onnx");
    return fail(ErrorCode::kUsage, format_text("unexpected argument \"{}\"", printable(options.other)), "inspect",
                "--diff compares two files");
  }
  if (options.diff) {
    KINGLET_TRY(print_diff(options.model.model, options.other, out));
    return 0;
  }
  if (!options.tensor.empty()) {
    const engine::ModelFile file = KINGLET_TRY(engine::open_model(options.model.model));
    KINGLET_TRY(print_tensor(file.graph, options.tensor, options.values, out));
    return 0;
  }
  const Facts facts = KINGLET_TRY(collect(options));
  if (!options.page.empty()) KINGLET_TRY(write_page(facts, options, out));
  if (out.json()) {
    out.print_json(KINGLET_TRY(to_json(facts, options)));
  } else if (options.page.empty()) {
    print_text(facts, options, out);
  }
  return 0;
}

}  // namespace

Body inspect_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_model_argument(app, options->model);
  app.add_option("OTHER", options->other, "with --diff: the file to compare with")->type_name("");
  app.add_flag("--diff", options->diff, "what is different between two files, by name and operator");
  app.add_flag("--shapes", options->shapes, "list every step of the plan with its output");
  app.add_option("--tensor", options->tensor, "show one tensor: type, shape, and statistics of a weight")
      ->option_text("NAME");
  app.add_option("--values", options->values, "numbers that --tensor shows (default 32)")
      ->check(CLI::Range(0, 100'000'000))
      ->option_text("N");
  app.add_option("--html", options->page, "write a drawing of the graph: one file, with search and details")
      ->type_name("FILE");
  app.add_flag("--force", options->force, "replace an output file that is there");
  add_picture_options(app, options->model);
  return [options](Output& out) { return inspect(*options, out); };
}

}  // namespace kinglet::cli
