// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet calibrate`: the temperature of a model, from pictures whose labels are known or from visits that a
// person has judged, written into its recipe.
#include "visits/calibrate.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/labelled_pictures.h"
#include "cli/load_config.h"
#include "cli/picture_files.h"
#include "cli/picture_pipeline.h"
#include "cli/reviewed_visits.h"
#include "daemon/settings/settings.h"
#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "visits/tables.h"

namespace kinglet::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using visits::Calibration;

constexpr std::size_t kFewest = 20;      // pictures: fewer say nothing of a temperature
constexpr std::size_t kFewestWrong = 5;  // of them: a model that is always right does not show how far to trust it
constexpr double kMinScore = 0.5;        // the daemon's default, for what the change means

struct Options {
  ModelOptions model;
  std::string folder;
  bool visits = false;
  std::string path;  // of the history
  ConfigOptions config;
  std::string output;
  bool force = false;
};

// The pictures to judge by, and how they are to be seen.
struct Given {
  std::vector<Labelled> pictures;
  Framing framing = Framing::kRecipe;
  std::string where;
  std::string_view what;        // "pictures"
  std::string_view few_hint;    // too few of them
  std::string_view wrong_hint;  // too few that the model gets wrong
  double min_score = kMinScore;
};

struct Read {
  Calibration calibration;
  std::size_t unknown = 0;  // the model has no such label
  std::size_t damaged = 0;
};

Result<Read> classify_all(const Given& given, PicturePipeline& pipeline, const visits::Taxa& taxa, Output& out) {
  Read read{.calibration = Calibration(taxa)};
  std::size_t done = 0;
  for (const Labelled& picture : given.pictures) {
    out.progress(picture.file, done++, given.pictures.size());
    const std::optional<std::uint32_t> taxon = taxa.find(picture.label);
    if (!taxon || *taxon >= taxa.leaf_count()) {
      ++read.unknown;
      continue;
    }
    const Result<std::string> bytes = read_picture(picture.file);
    const auto result = bytes ? pipeline.classify(std::as_bytes(std::span(*bytes)), 1, given.framing)
                              : Result<PictureResult>(std::unexpected(bytes.error()));
    if (!result) {
      ++read.damaged;
      out.warn(describe(with_context(result.error(), picture.file)));
      continue;
    }
    read.calibration.add(pipeline.model().scores(), *taxon);
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

std::string to_text(const Calibration::Judgement& judgement, double min_score) {
  return format_text("surprise {:.3f}, calibration error {:.3f}; at {:.2f}: {:.1f} % reach it, {:.1f} % of these right",
                     judgement.surprise, judgement.calibration_error, min_score, 100 * judgement.answered_ratio,
                     100 * judgement.answered_right_ratio);
}

fs::path output_of(const Options& options) {
  if (!options.output.empty()) return options.output;
  return fs::path(options.model.model).replace_extension(".recipe.json");
}

Result<config::Config> read_config(const ConfigOptions& options) {
  auto loaded = load_config(options);
  if (!loaded) return std::unexpected(loaded.error().front());
  return std::move(loaded->config);
}

Result<Given> of_folder(const Options& options) {
  return Given{
      .pictures = KINGLET_TRY(read_labelled(options.folder)),
      .where = printable(options.folder),
      .what = "pictures",
      .few_hint = "a folder a label, named as the label or the species, or a labels.csv",
      .wrong_hint = "where it is always right its doubts cannot be judged: add pictures as the camera sees them"};
}

Result<Given> of_visits(const Options& options, const config::Config& config, const visits::Taxa& taxa, Output& out) {
  const store::StoreOptions settings = KINGLET_TRY(daemon::store_options(config, {}));
  std::filesystem::path folder = settings.folder.empty() ? "/var/lib/kinglet" : settings.folder;
  if (!options.path.empty()) folder = options.path;
  ReviewedVisits reviewed = KINGLET_TRY(read_reviewed_visits(folder, taxa));
  if (reviewed.without_picture > 0) {
    out.note(format_text("{} reviewed visits have no picture any more", reviewed.without_picture));
  }
  if (reviewed.without_label > 0) {
    out.note(format_text("{} reviewed visits say nothing: unknown, or no bird and the model has no class for that",
                         reviewed.without_label));
  }
  return Given{.pictures = std::move(reviewed.pictures),
               .framing = Framing::kWhole,
               .where = folder.string(),
               .what = "reviewed visits",
               .few_hint = "review more visits on the page, those that are right as well as those that are not",
               .wrong_hint = "where it is always right its doubts cannot be judged: review what it got wrong, too",
               .min_score = config.decide.min_score};
}

Result<void> check_enough(const Calibration& calibration, const Given& given) {
  if (calibration.size() < kFewest) {
    return fail(ErrorCode::kBadData,
                format_text("{} {} with a label that the model knows, expected at least {}", calibration.size(),
                            given.what, kFewest),
                given.where, std::string(given.few_hint));
  }
  const double right = calibration.judge(1, kMinScore).right_ratio;
  const auto wrong = static_cast<std::size_t>(std::llround((1 - right) * static_cast<double>(calibration.size())));
  if (wrong >= kFewestWrong) return {};
  return fail(ErrorCode::kBadData,
              format_text("the model is wrong on {} of {} {}, expected at least {}", wrong, calibration.size(),
                          given.what, kFewestWrong),
              given.where, std::string(given.wrong_hint));
}

Result<int> calibrate(const Options& options, Output& out) {
  if (options.visits != options.folder.empty()) {
    return fail(ErrorCode::kUsage, "expected a folder of pictures or --visits, and not both", "calibrate");
  }
  const fs::path output = output_of(options);
  std::error_code ignored;
  if (!options.force && output != "-" && fs::exists(output, ignored)) {
    return fail(ErrorCode::kCannotCreate, "the recipe exists", printable(output.string()),
                "--force changes its temperature and leaves the rest; -o writes another file");
  }
  const config::Config config = options.visits ? KINGLET_TRY(read_config(options.config)) : config::Config{};
  PicturePipeline pipeline = KINGLET_TRY(PicturePipeline::open(options.model, out));
  if (const engine::OutputMeaning& meaning = pipeline.model().output();
      !pipeline.model().score_nature().add_up_to_one || meaning.meaning == engine::Meaning::kTopK) {
    return fail(ErrorCode::kBadData,
                format_text("its output \"{}\" is {}: one temperature is for the scores of a soft-max",
                            printable(meaning.name, 60), to_string(meaning.meaning)),
                options.model.model);
  }
  const std::vector<visits::SpeciesRow> rows = KINGLET_TRY(
      visits::read_species_tables(options.model.model, {.species = config.model.species, .names = config.model.names}));
  const visits::Taxa taxa = KINGLET_TRY(visits::Taxa::make(pipeline.model().labels(), rows));
  const Given given = KINGLET_TRY(options.visits ? of_visits(options, config, taxa, out) : of_folder(options));
  const Read read = KINGLET_TRY(classify_all(given, pipeline, taxa, out));
  KINGLET_TRY(check_enough(read.calibration, given));
  if (read.unknown > 0)
    out.warn(format_text("{} {} have labels that the model does not know", read.unknown, given.what));
  engine::Recipe recipe = pipeline.model().recipe();
  const Calibration::Judgement before = read.calibration.judge(1, given.min_score);
  const double change = read.calibration.best_temperature();
  const Calibration::Judgement after = read.calibration.judge(change, given.min_score);
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
  out.print(format_text("temperature {:.4f} from {} {} ({:.1f} % right), in {}\nbefore: {}\nafter:  {}\n",
                        recipe.temperature, read.calibration.size(), given.what, 100 * before.right_ratio,
                        output.string(), to_text(before, given.min_score), to_text(after, given.min_score)));
  return 0;
}

}  // namespace

Body calibrate_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_model_argument(app, options->model);
  app.add_option("FOLDER", options->folder, "a folder a label, or pictures with a labels.csv (columns file, label)")
      ->type_name("");
  app.add_flag("--visits", options->visits, "judge by the visits that a person has reviewed, instead of a folder");
  app.add_option("--path", options->path, "folder of their history instead of the configured one")->type_name("DIR");
  add_config_options(app, options->config);
  app.add_option("-o", options->output, "the recipe to write (default: MODEL.recipe.json beside the model)")
      ->type_name("FILE");
  app.add_flag("--force", options->force, "change a recipe that is there");
  add_picture_options(app, options->model);
  return [options](Output& out) { return calibrate(*options, out); };
}

}  // namespace kinglet::cli
