// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet optimize`: the passes applied to a file, every removed node named, the answers proven equal.
#include "engine/session/optimize.h"
#include "engine/base/format.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/picture_files.h"
#include "cli/picture_pipeline.h"
#include "cli/picture_samples.h"
#include "cli/tool_files.h"
#include "engine/base/text.h"
#include "engine/base/units.h"
#include "engine/passes/pass.h"
#include "engine/session/model.h"

namespace kinglet::cli {
namespace {

using Json = nlohmann::ordered_json;
using engine::OptimizeReport;

struct Options {
  std::string model;
  std::string output;
  bool list = false;
  std::vector<std::string> only;
  std::vector<std::string> skip;
  std::string until;
  std::int64_t stop_after = -1;
  bool no_proof = false;
  std::string images;
  bool allow_growth = false;
  bool force = false;
};

void print_list(Output& out) {
  Json passes = Json::array();
  Table table({"PASS", "WHAT IT DOES"});
  for (const engine::Pass& pass : engine::all_passes()) {
    if (pass.stage != engine::PassStage::kFile) continue;
    passes.push_back({{"name", pass.name}, {"summary", pass.summary}, {"why_here", pass.why_here}});
    table.add({std::string(pass.name), std::string(pass.summary)});
  }
  if (out.json()) return out.print_json({{"passes", std::move(passes)}});
  out.print(table.text(out));
}

Json size_json(const engine::GraphSize& size) {
  return {{"nodes", size.nodes},
          {"parameters", size.parameters},
          {"constant_bytes", size.constant_bytes},
          {"operators", size.operators}};
}

Json to_json(const OptimizeReport& report, const Options& options) {
  Json passes = Json::array();
  for (const engine::PassRow& row : report.passes.passes) {
    passes.push_back({{"name", row.name}, {"rewrites", row.rewrites}, {"ms", row.ms}});
  }
  Json removed = Json::array();
  for (const engine::NodeRow& row : report.passes.removed) {
    removed.push_back({{"name", row.name}, {"operator", row.op_type}, {"pass", row.pass}});
  }
  Json out{{"model", options.model},
           {"output", options.output},
           {"before", size_json(report.before)},
           {"after", size_json(report.after)},
           {"rewrites", report.passes.rewrite_count()},
           {"ms", report.passes_ms},
           {"peak_bytes", report.passes_peak_bytes},
           {"passes", std::move(passes)},
           {"removed", std::move(removed)}};
  if (report.proof.inputs > 0) {
    out["proof"] = {{"inputs", report.proof.inputs},
                    {"max_error", report.proof.max_error},
                    {"limit", report.proof.limit},
                    {"top1_compared", report.proof.top1_compared},
                    {"top1_same", report.proof.top1_same},
                    {"backend", report.proof.backend},
                    {"ms", report.proof_ms},
                    {"peak_bytes", report.proof_peak_bytes}};
  }
  return out;
}

std::string cost(double ms, std::int64_t peak_bytes) {
  return format_text("{:.2f} s, {} of memory at most", ms / 1000,
                     format_bytes({static_cast<std::uint64_t>(peak_bytes)}));
}

void print_text(const OptimizeReport& report, const Options& options, Output& out) {
  Table table({"OPERATOR", ">BEFORE", ">AFTER"});
  std::map<std::string, std::pair<std::size_t, std::size_t>> counts;
  for (const auto& [name, count] : report.before.operators) counts[name].first = count;
  for (const auto& [name, count] : report.after.operators) counts[name].second = count;
  for (const auto& [name, pair] : counts) table.add({name, std::to_string(pair.first), std::to_string(pair.second)});
  table.add({"all nodes", std::to_string(report.before.nodes), std::to_string(report.after.nodes)});
  table.add({"parameters", grouped(report.before.parameters), grouped(report.after.parameters)});
  out.print(table.text(out));
  if (!report.passes.removed.empty()) {
    Table removed({"REMOVED NODE", "OPERATOR", "BY PASS"});
    for (const engine::NodeRow& row : report.passes.removed) {
      removed.add({printable(row.name, 60), row.op_type, std::string(row.pass)});
    }
    out.print("\n" + removed.text(out));
  }
  out.note(
      format_text("{} rewrites: {}", report.passes.rewrite_count(), cost(report.passes_ms, report.passes_peak_bytes)));
  if (report.folded_less) out.note("some constants were left unfolded: the file would have grown");
  if (report.proof.inputs > 0) {
    std::string classes;
    if (report.proof.top1_compared > 0) {
      classes = format_text("; best class the same in {} of {} rows with a clear one", report.proof.top1_same,
                            report.proof.top1_compared);
    }
    out.note(format_text("proven on {} inputs: largest difference {:.3g}, allowed {:.3g}{}", report.proof.inputs,
                         report.proof.max_error, report.proof.limit, classes));
    out.note(format_text("proof: {}", cost(report.proof_ms, report.proof_peak_bytes)));
  }
  if (options.output != "-") out.note(format_text("wrote {}", options.output));
}

// Pictures of the folder as the model's input, prepared by its recipe; so many are enough for a proof.
constexpr std::size_t kMostPictures = 32;

Result<std::vector<engine::NamedInputs>> load_pictures(const Options& options, Output& out) {
  std::vector<engine::NamedInputs> pictures;
  if (options.images.empty()) return pictures;
  std::vector<std::string> names = KINGLET_TRY(expand_pictures({options.images}));
  if (names.size() > kMostPictures) {
    out.note(format_text("the first {} of {} pictures are used", kMostPictures, names.size()));
    names.resize(kMostPictures);
  }
  ModelOptions model;
  model.model = options.model;
  model.precision = "float32";
  PicturePipeline pipeline = KINGLET_TRY(PicturePipeline::open(model, out));
  for (const std::string& name : names) {
    pictures.push_back({.name = name, .tensors = {KINGLET_TRY(prepared_picture(pipeline, name))}});
  }
  return pictures;
}

Result<int> optimize(const Options& options, Output& out) {
  if (options.list) {
    print_list(out);
    return 0;
  }
  if (options.model.empty() || options.output.empty()) {
    return fail(ErrorCode::kUsage, "expected a model and -o OUT", "optimize",
                "`kinglet optimize --help` shows an example");
  }
  KINGLET_TRY(check_output(options.model, options.output, options.force, "optimize"));
  if (options.no_proof && !options.images.empty()) {
    return fail(ErrorCode::kUsage, "--images is for the proof, which --no-proof leaves out", "optimize",
                "give one of the two");
  }
  const std::vector<engine::NamedInputs> pictures = KINGLET_TRY(load_pictures(options, out));
  const engine::ModelFile file = KINGLET_TRY(engine::open_model(options.model));
  engine::OptimizeOptions optimize_options{.only = {options.only.begin(), options.only.end()},
                                           .skip = {options.skip.begin(), options.skip.end()},
                                           .until = options.until,
                                           .prove = !options.no_proof,
                                           .pictures = pictures,
                                           .allow_growth = options.allow_growth};
  if (options.stop_after >= 0) optimize_options.stop_after_rewrites = options.stop_after;
  const Result<engine::Optimized> optimized = engine::optimize_model(file.graph, optimize_options);
  if (!optimized) return std::unexpected(with_context(optimized.error(), options.model));
  KINGLET_TRY(write_model(optimized->graph, options.output, options.force, out));
  if (options.output == "-") {
    out.note(
        format_text("{} nodes, {} after the passes", optimized->report.before.nodes, optimized->report.after.nodes));
  } else if (out.json()) {
    out.print_json(to_json(optimized->report, options));
  } else {
    print_text(optimized->report, options, out);
  }
  return 0;
}

}  // namespace

Body optimize_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("MODEL", options->model, "an ONNX file")->type_name("");
  app.add_option("-o,--output", options->output, "where the result goes; - is stdout")->type_name("OUT");
  app.add_flag("--list", options->list, "list the passes");
  const auto names = [&](const std::string& name, std::vector<std::string>& target, const std::string& help) {
    app.add_option(name, target, help)->delimiter(',')->allow_extra_args(false)->take_all()->option_text("PASS[,PASS]");
  };
  names("--only", options->only, "these passes alone");
  names("--skip", options->skip, "all passes but these");
  app.add_option("--until", options->until, "up to this pass, in the order of --list")->type_name("PASS");
  app.add_option("--stop-after-rewrites", options->stop_after, "stop after so many rewrites (to find a wrong one)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40))
      ->option_text("N");
  app.add_flag("--no-proof", options->no_proof, "do not run both to compare their answers");
  app.add_option("--images", options->images, "prove it on the pictures of this folder, too")->type_name("DIR");
  app.add_flag("--allow-growth", options->allow_growth, "write the result even if its constants grow by more than 4 %");
  app.add_flag("--force", options->force, "replace an output file that is there");
  return [options](Output& out) { return optimize(*options, out); };
}

}  // namespace kinglet::cli
