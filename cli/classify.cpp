// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet classify`: pictures in, names and scores out. A bad picture is told and does not stop the others.
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/each_picture.h"
#include "cli/picture_files.h"
#include "cli/picture_pipeline.h"
#include "engine/base/format.h"
#include "engine/session/model.h"
#include "visits/decide.h"
#include "visits/tables.h"

namespace kinglet::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  ModelOptions model;
  std::vector<std::string> pictures;
  std::size_t top = 5;
};

using visits::Outcome;

Json to_json(const std::string& file, const PictureResult& result, Outcome outcome, const engine::Labels& labels) {
  Json top = Json::array();
  for (const engine::Score& score : result.top) {
    const engine::Label& label = labels[score.index];
    top.push_back(
        {{"species_id", label.species_id}, {"label", label.text}, {"index", score.index}, {"score", score.value}});
  }
  return {{"file", file},
          {"top", std::move(top)},
          {"outcome", to_string(outcome)},
          {"input",
           {{"width_px", result.width_px},
            {"height_px", result.height_px},
            {"orientation_applied", result.orientation_applied}}},
          {"crop_px",
           {{"x", result.crop_px.x},
            {"y", result.crop_px.y},
            {"width", result.crop_px.width},
            {"height", result.crop_px.height}}},
          {"timing",
           {{"decode_ms", result.timing.decode_ms},
            {"preprocess_ms", result.timing.preprocess_ms},
            {"inference_ms", result.timing.inference_ms}}}};
}

void print_text(const std::string& file, const PictureResult& result, Outcome outcome, const engine::Labels& labels,
                Output& out) {
  out.print(format_text("{}  {}x{}\n", out.styled(file, Style::kBold), result.width_px, result.height_px));
  for (const engine::Score& score : result.top) {
    out.print(format_text("  {:.4f}  {}\n", score.value, labels[score.index].text));
  }
  if (outcome != Outcome::kAccepted) out.print(format_text("  a daemon would not answer: {}\n", to_string(outcome)));
  out.detail(format_text("{}: decode {:.1f} ms, preprocess {:.1f} ms, run {:.1f} ms", file, result.timing.decode_ms,
                         result.timing.preprocess_ms, result.timing.inference_ms));
}

Result<Json> model_json(const std::string& path) {
  return Json{{"name", std::filesystem::path(path).stem().string()},
              {"path", path},
              {"digest", KINGLET_TRY(engine::file_digest(path))}};
}

// What the daemon would decide with its default settings.
Result<visits::Decider> make_decider(const Options& options, const PicturePipeline& pipeline) {
  const auto rows = KINGLET_TRY(visits::read_species_tables(options.model.model, {}));
  auto taxa = std::make_shared<const visits::Taxa>(KINGLET_TRY(visits::Taxa::make(pipeline.model().labels(), rows)));
  std::vector<std::string> warnings;
  return visits::Decider(visits::Rule::make(std::move(taxa), {}, warnings, pipeline.model().score_nature()));
}

Result<int> classify(const Options& options, Output& out) {
  const std::vector<std::string> pictures = KINGLET_TRY(expand_pictures(options.pictures));
  PicturePipeline pipeline = KINGLET_TRY(PicturePipeline::open(options.model, out));
  visits::Decider decider = KINGLET_TRY(make_decider(options, pipeline));
  const engine::Labels& labels = pipeline.model().labels();
  Json model;
  if (out.json()) model = KINGLET_TRY(model_json(options.model.model));
  return look_at_each(pictures, std::move(model), out, [&](const std::string& file) -> Result<Json> {
    const std::string bytes = KINGLET_TRY(read_picture(file));
    const PictureResult result = KINGLET_TRY(pipeline.classify(std::as_bytes(std::span(bytes)), options.top));
    const Outcome outcome = decider.decide(pipeline.model().scores(), std::nullopt, 1).outcome;
    if (out.json()) return to_json(file, result, outcome, labels);
    print_text(file, result, outcome, labels, out);
    return Json();
  });
}

}  // namespace

Body classify_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_model_argument(app, options->model);
  add_pictures_argument(app, options->pictures);
  app.add_option("--top", options->top, "labels a picture (default 5)")->check(CLI::Range(1, 10'000))->option_text("N");
  add_picture_options(app, options->model);
  return [options](Output& out) { return classify(*options, out); };
}

}  // namespace kinglet::cli
