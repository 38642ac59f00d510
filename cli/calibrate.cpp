// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet calibrate`: the temperature of a model, from pictures whose labels are known, written into its recipe.
#include "visits/calibrate.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/classifier.h"
#include "cli/command.h"
#include "cli/labelled_pictures.h"
#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using visits::Calibration;

constexpr std::size_t kFewest = 20;      // pictures: fewer say nothing of a temperature
constexpr std::size_t kFewestWrong = 5;  // of them: a model that is always right does not show how far to trust it
constexpr double kMinScore = 0.6;        // the daemon's default, for what the change means

struct Options {
  ModelOptions model;
  std::string folder;
  std::string output;
  bool force = false;
};

struct Read {
  Calibration calibration;
  std::size_t unknown = 0;  // the model has no such label
  std::size_t damaged = 0;
};

Result<Read> classify_all(const std::vector<Labelled>& pictures, Classifier& classifier, const visits::Taxa& taxa,
                          Output& out) {
  Read read{.calibration = Calibration(taxa)};
  std::size_t done = 0;
  for (const Labelled& picture : pictures) {
    out.progress(picture.file, done++, pictures.size());
    const std::optional<std::uint32_t> taxon = taxa.find(picture.label);
    if (!taxon || *taxon >= taxa.leaf_count()) {
      ++read.unknown;
      continue;
    }
    const Result<std::string> bytes = read_picture(picture.file);
    const auto result = bytes ? classifier.classify(std::as_bytes(std::span(*bytes)), 1)
                              : Result<PictureResult>(std::unexpected(bytes.error()));
    if (!result) {
      ++read.damaged;
      out.warn(describe(with_context(result.error(), picture.file)));
      continue;
    }
    read.calibration.add(classifier.scores(), *taxon);
  }
  out.end_progress();
  return read;
}

Json to_json(const Calibration::Judgement& judgement) {
  const auto rounded = [](double value) { return std::round(value * 1e6) / 1e6; };
  return {{"surprise", rounded(judgement.surprise)},
          {"calibration_error", rounded(judgement.calibration_error)},
          {"right_ratio", rounded(judgement.right_ratio)},
          {"answered_ratio", rounded(judgement.answered_ratio)},
          {"answered_right_ratio", rounded(judgement.answered_right_ratio)}};
}

std::string to_text(const Calibration::Judgement& judgement) {
  return format_text("surprise {:.3f}, calibration error {:.3f}; at {:.2f}: {:.1f} % answered, {:.1f} % of these right",
                     judgement.surprise, judgement.calibration_error, kMinScore, 100 * judgement.answered_ratio,
                     100 * judgement.answered_right_ratio);
}

fs::path output_of(const Options& options) {
  if (!options.output.empty()) return options.output;
  return fs::path(options.model.model).replace_extension(".recipe.json");
}

Result<int> calibrate(const Options& options, Output& out) {
  const fs::path output = output_of(options);
  std::error_code ignored;
  if (!options.force && output != "-" && fs::exists(output, ignored)) {
    return fail(ErrorCode::kCannotCreate, "the recipe exists", printable(output.string()),
                "--force changes its temperature and leaves the rest; -o writes another file");
  }
  const std::vector<Labelled> pictures = KINGLET_TRY(read_labelled(options.folder));
  Classifier classifier = KINGLET_TRY(Classifier::open(options.model, out));
  const visits::Taxa taxa = KINGLET_TRY(visits::Taxa::make(classifier.labels()));
  const Read read = KINGLET_TRY(classify_all(pictures, classifier, taxa, out));
  if (read.calibration.size() < kFewest) {
    return fail(ErrorCode::kBadData,
                format_text("{} pictures with a label that the model knows, expected at least {}",
                            read.calibration.size(), kFewest),
                printable(options.folder), "a folder a label, named as the label or the species, or a labels.csv");
  }
  if (read.unknown > 0) out.warn(format_text("{} pictures have labels that the model does not know", read.unknown));
  engine::Recipe recipe = classifier.recipe();
  const Calibration::Judgement before = read.calibration.judge(1, kMinScore);
  const auto wrong =
      static_cast<std::size_t>(std::llround((1 - before.right_ratio) * static_cast<double>(read.calibration.size())));
  if (wrong < kFewestWrong) {
    return fail(ErrorCode::kBadData,
                format_text("the model is wrong on {} of {} pictures, expected at least {}", wrong,
                            read.calibration.size(), kFewestWrong),
                printable(options.folder),
                "where it is always right its doubts cannot be judged: add pictures as the camera sees them");
  }
  const double change = read.calibration.best_temperature();
  const Calibration::Judgement after = read.calibration.judge(change, kMinScore);
  recipe.temperature = std::clamp(std::round(recipe.temperature * change * 1e4) / 1e4, 0.01, 100.0);
  const std::string text = engine::to_json(recipe);
  if (output == "-") {
    out.print(text);
    return 0;
  }
  KINGLET_TRY(write_file(output, text, options.force ? Overwrite::kReplace : Overwrite::kRefuse));
  if (out.json()) {
    out.print_json(Json{{"temperature", recipe.temperature},
                        {"pictures", read.calibration.size()},
                        {"unknown_label", read.unknown},
                        {"undecodable", read.damaged},
                        {"before", to_json(before)},
                        {"after", to_json(after)},
                        {"recipe", output.string()}});
    return 0;
  }
  out.print(format_text("temperature {:.4f} from {} pictures ({:.1f} % right), in {}\nbefore: {}\nafter:  {}\n",
                        recipe.temperature, read.calibration.size(), 100 * before.right_ratio, output.string(),
                        to_text(before), to_text(after)));
  return 0;
}

}  // namespace

Body calibrate_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_model_argument(app, options->model);
  app.add_option("FOLDER", options->folder, "a folder a label, or pictures with a labels.csv (columns file, label)")
      ->required()
      ->type_name("");
  app.add_option("-o", options->output, "the recipe to write (default: MODEL.recipe.json beside the model)")
      ->type_name("FILE");
  app.add_flag("--force", options->force, "change a recipe that is there");
  add_picture_options(app, options->model);
  add_threads_option(app, options->model);
  return [options](Output& out) { return calibrate(*options, out); };
}

}  // namespace kinglet::cli
