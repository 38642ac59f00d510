// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet convert`: the same model in another form: another opset, JSON and back, weights in a file of their own,
// labels and recipe in the file. What is not asked for stays as it was.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/tool_files.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/edit/edit.h"
#include "engine/onnx/json/json.h"
#include "engine/onnx/save.h"
#include "engine/ops/levels.h"
#include "engine/recipe/labels.h"
#include "engine/recipe/output_meaning.h"
#include "engine/recipe/recipe.h"
#include "engine/session/compare_graphs.h"
#include "engine/tflite/import.h"

namespace kinglet::cli {
namespace {

using engine::Document;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMostTflite = std::uint64_t{512} << 20U;
constexpr std::uint64_t kMostJson = std::uint64_t{4} << 30U;

struct Options {
  std::string input, output;
  std::int64_t opset = 0;
  std::string to;
  std::string weights = "hash";
  std::string weights_from;
  std::string labels, recipe;
  bool external = false, internal = false;
  bool no_proof = false;
  bool force = false;
};

// What was done, for the report.
struct Report {
  std::int64_t opset_from = 0, opset_to = 0;  // 0: not asked for
  std::optional<engine::Comparison> proof;
  std::string labels_from;  // empty: it has none
  std::size_t labels = 0;
  std::vector<std::string> notes;
};

Result<Document> read_input(const Options& options, Report& report) {
  const InputFile file = KINGLET_TRY(InputFile::open(options.input));
  std::string start(static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), 64)), '\0');
  KINGLET_TRY(file.read_at(0, std::as_writable_bytes(std::span(start))));
  if (engine::looks_like_tflite(start)) {
    const std::string bytes = KINGLET_TRY(read_file(options.input, kMostTflite));
    const Result<engine::ImportedTflite> imported = engine::import_tflite(bytes);
    if (!imported) return std::unexpected(with_context(imported.error(), options.input));
    report.notes = imported->notes;
    std::string onnx = KINGLET_TRY(engine::to_onnx_bytes(imported->graph));
    return Document::from_bytes(std::move(onnx));
  }
  if (!engine::looks_like_json(start)) {
    if (!options.weights_from.empty()) {
      return fail(ErrorCode::kUsage, "--weights-from is for models as JSON", "convert");
    }
    return Document::open(options.input);
  }
  const std::string json = KINGLET_TRY(read_file(options.input, kMostJson));
  std::optional<Document> weights;
  if (!options.weights_from.empty()) weights = KINGLET_TRY(Document::open(options.weights_from));
  Result<Document> document = engine::from_json(json, weights ? &*weights : nullptr);
  if (!document) return std::unexpected(with_context(std::move(document).error(), options.input));
  return document;
}

Result<void> check_label_count(const Document& document, const engine::Labels& labels, Report& report) {
  const Result<engine::Graph> graph = document.to_graph();
  if (!graph) {
    report.notes.push_back("the number of labels could not be checked: " + describe(graph.error()));
    return {};
  }
  const auto count = engine::class_count(*graph, engine::kRowRules, {.name = {}, .labels = labels.size()});
  return count ? labels.check_count(*count) : Result<void>{};
}

Result<void> report_labels(const Document& document, Report& report) {
  const std::string text = engine::property(document, engine::kLabelsProperty);
  if (text.empty()) return {};
  report.labels = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  report.labels_from = "in the model";
  return {};
}

Result<void> add_properties(Document& document, const Options& options, Report& report) {
  if (!options.recipe.empty()) {
    const engine::Recipe recipe = KINGLET_TRY(engine::open_recipe(options.recipe));
    engine::set_property(document, engine::kRecipeProperty, engine::to_json(recipe));
  }
  if (options.labels.empty()) return report_labels(document, report);
  const engine::Labels labels = KINGLET_TRY(engine::Labels::open(options.labels));
  KINGLET_TRY(check_label_count(document, labels, report));
  report.labels_from = options.labels;
  report.labels = labels.size();
  report.notes.push_back(format_text("{} labels from {}{}", labels.size(), printable(options.labels),
                                     engine::property(document, engine::kLabelsProperty).empty()
                                         ? ""
                                         : "; they replace those that were in the model"));
  engine::set_property(document, engine::kLabelsProperty, engine::to_text(labels));
  return {};
}

Result<void> change_opset(Document& document, const Options& options, Report& report) {
  const engine::OpsetChange change = KINGLET_TRY(engine::change_opset(document, options.opset));
  report.opset_from = change.from;
  report.opset_to = options.opset;
  if (!change.changed) return {};
  report.notes.emplace_back("declared types of inner tensors are not kept");
  if (options.no_proof) return {};
  report.proof = KINGLET_TRY(engine::compare_graphs(change.before, change.after));
  if (report.proof->same) return {};
  return fail(ErrorCode::kInternal, "the converted model gives other answers: " + report.proof->difference, {},
              "nothing was written; please report this model");
}

// A model as file must load; one that kinglet has not all operators of is written, and that is said.
Result<void> check_result(const Document& document, Report& report) {
  const Result<engine::Graph> graph = document.to_graph();
  if (graph) return {};
  if (graph.error().code != ErrorCode::kUnsupported) return std::unexpected(graph.error());
  report.notes.push_back("the result could not be checked: " + describe(graph.error()));
  return {};
}

Result<void> write_onnx(const Document& document, const Options& options, Output& out) {
  if (options.output == "-") {
    out.print(KINGLET_TRY(document.to_bytes()));
    return {};
  }
  const auto place = options.external   ? engine::WeightPlace::kBeside
                     : options.internal ? engine::WeightPlace::kInside
                                        : engine::WeightPlace::kAsFound;
  return document.save(options.output, overwrite(options.force), place);
}

Result<void> write_json(const Document& document, const Options& options, Output& out) {
  const auto weights = options.weights == "inline" ? engine::JsonWeights::kInline : engine::JsonWeights::kHash;
  const std::string json = KINGLET_TRY(engine::to_json(document, weights));
  if (options.output != "-") return write_file(options.output, json, overwrite(options.force));
  out.print(json);
  return {};
}

void print_report(const Options& options, const Report& report, bool json, Output& out) {
  for (const std::string& note : report.notes) out.note(note);
  if (out.json() && options.output != "-") {
    Json root{{"model", options.input}, {"output", options.output}, {"form", json ? "json" : "onnx"}};
    if (report.opset_to > 0) root["opset"] = {{"from", report.opset_from}, {"to", report.opset_to}};
    if (report.proof) {
      root["proof"] = {
          {"inputs", report.proof->inputs}, {"max_error", report.proof->max_error}, {"limit", report.proof->limit}};
    }
    if (!report.labels_from.empty()) root["labels"] = {{"from", report.labels_from}, {"count", report.labels}};
    root["notes"] = report.notes;
    out.print_json(root);
    return;
  }
  if (report.opset_to > 0 && report.opset_from == report.opset_to) {
    out.note(format_text("opset {} already", report.opset_to));
  } else if (report.opset_to > 0) {
    out.note(format_text("opset {} -> {}", report.opset_from, report.opset_to));
  }
  if (report.proof) {
    out.note(format_text("proven on {} inputs: largest difference {:.3g}, allowed {:.3g}", report.proof->inputs,
                         report.proof->max_error, report.proof->limit));
  }
  if (options.output != "-") out.note(format_text("wrote {}", options.output));
}

Result<int> convert(const Options& options, Output& out) {
  KINGLET_TRY(check_output(options.input, options.output, options.force, "convert"));
  const bool json = options.to.empty() ? options.output.ends_with(".json") : options.to == "json";
  if (out.json() && options.output == "-") {
    return fail(ErrorCode::kUsage, "standard output can take the model, or --json, not both", "convert");
  }
  Report report;
  Document document = KINGLET_TRY(read_input(options, report));
  const auto done = [&]() -> Result<void> {
    if (options.opset > 0) KINGLET_TRY(change_opset(document, options, report));
    KINGLET_TRY(add_properties(document, options, report));
    return json ? Result<void>{} : check_result(document, report);
  }();
  if (!done) return std::unexpected(with_context(done.error(), options.input));
  KINGLET_TRY(json ? write_json(document, options, out) : write_onnx(document, options, out));
  print_report(options, report, json, out);
  return 0;
}

}  // namespace

Body convert_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("IN", options->input, "a model: ONNX, a classifier of TensorFlow Lite, or JSON that convert wrote")
      ->required()
      ->type_name("");
  app.add_option("-o,--output", options->output, "where the result goes; - is stdout")->type_name("OUT");
  app.add_option("--opset", options->opset, "write it for this version of the operators (9 to 22), proven by running")
      ->check(CLI::Range(1, 999))
      ->option_text("N");
  app.add_option("--to", options->to, "onnx or json (default: by the ending of OUT)")
      ->check(CLI::IsMember({"onnx", "json"}))
      ->option_text("FORM");
  app.add_option("--weights", options->weights, "in JSON: hash (names them, the default) or inline (holds them)")
      ->check(CLI::IsMember({"hash", "inline"}))
      ->option_text("HOW");
  app.add_option("--weights-from", options->weights_from, "the file that has the weights a JSON names by hash")
      ->type_name("FILE");
  auto* external = app.add_flag("--external-data", options->external, "weights into OUT.data beside the model");
  app.add_flag("--internal-data", options->internal, "weights into the model file")->excludes(external);
  app.add_option("--labels", options->labels, "put these labels into the file, one a line")->type_name("FILE");
  app.add_option("--recipe", options->recipe, "put this preprocessing (a file or a preset's name) into the model")
      ->type_name("FILE");
  app.add_flag("--no-proof", options->no_proof, "with --opset: do not run both to compare their answers");
  app.add_flag("--force", options->force, "replace an output file that is there");
  return [options](Output& out) { return convert(*options, out); };
}

}  // namespace kinglet::cli
