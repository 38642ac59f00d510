// SPDX-License-Identifier: Apache-2.0
#include "cli/verify_recipe.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/labelled_pictures.h"
#include "cli/picture_files.h"
#include "cli/picture_pipeline.h"
#include "engine/base/format.h"
#include "engine/recipe/recipe_json.h"
#include "visits/taxa.h"

namespace kinglet::cli {
namespace {

using Json = nlohmann::ordered_json;
using camera::Upright;
using engine::ColorOrder;
using engine::Recipe;
using engine::ResizeMode;
using engine::TensorLayout;

// How a picture is prepared: the recipe, and what stands outside of it.
struct Way {
  Recipe recipe;
  Upright upright = Upright::kApplyExif;
  TensorLayout layout = TensorLayout::kNchw;

  bool operator==(const Way&) const = default;
};

void set_range(Way& way, std::array<double, 3> mean, std::array<double, 3> std) {
  if (way.recipe.color_order == ColorOrder::kBgr) {
    std::ranges::reverse(mean);
    std::ranges::reverse(std);
  }
  way.recipe.mean = mean;
  way.recipe.std = std;
}

struct Mistake {
  std::string_view name;
  std::string_view what;  // for people
  void (*make)(Way&);
};

// One row a mistake; one that changes nothing of the recipe in use is not run.
constexpr Mistake kMistakes[] = {
    {"channels_swapped", "red and blue swapped",
     [](Way& way) {
       way.recipe.color_order = way.recipe.color_order == ColorOrder::kRgb ? ColorOrder::kBgr : ColorOrder::kRgb;
     }},
    {"range_0_1", "pixels as 0 to 1", [](Way& way) { set_range(way, {0, 0, 0}, {255, 255, 255}); }},
    {"range_-1_1", "pixels as -1 to 1", [](Way& way) { set_range(way, {127.5, 127.5, 127.5}, {127.5, 127.5, 127.5}); }},
    {"range_0_255", "pixels as 0 to 255", [](Way& way) { set_range(way, {0, 0, 0}, {1, 1, 1}); }},
    {"range_imagenet", "ImageNet mean and deviation",
     [](Way& way) { set_range(way, {123.675, 116.28, 103.53}, {58.395, 57.12, 57.375}); }},
    {"stretched", "stretched instead of cropped", [](Way& way) { way.recipe.resize_mode = ResizeMode::kStretch; }},
    {"cropped", "cropped instead of stretched", [](Way& way) { way.recipe.resize_mode = ResizeMode::kCenterCrop; }},
    {"antialias_off", "resized without antialias", [](Way& way) { way.recipe.antialias = false; }},
    {"antialias_on", "resized with antialias", [](Way& way) { way.recipe.antialias = true; }},
    {"exif_ignored", "EXIF orientation ignored", [](Way& way) { way.upright = Upright::kAsStored; }},
    {"layout_swapped", "channels last and first exchanged",
     [](Way& way) { way.layout = way.layout == TensorLayout::kNchw ? TensorLayout::kNhwc : TensorLayout::kNchw; }},
};

// What one way made of all pictures, beside the recipe in use.
struct Outcome {
  const Mistake* mistake;
  Way way;
  std::vector<double> top_scores;  // one a picture
  std::vector<double> right;       // one a picture whose label is known: 1 or 0
  std::size_t changed = 0;         // pictures with another best label
  double score_change = 0;         // sum over pictures: score of the label that the recipe in use names
};

constexpr std::size_t kFewest = 5;    // pictures: fewer accuse nobody
constexpr double kClearGain = 0.05;   // of the mean
constexpr double kClearErrors = 2.5;  // standard errors of the mean gain

double mean_of(const std::vector<double>& numbers) {
  double sum = 0;
  for (const double number : numbers) sum += number;
  return numbers.empty() ? 0 : sum / static_cast<double>(numbers.size());
}

// Is `way` clearly above `used`, picture by picture?
bool is_clearly_above(const std::vector<double>& way, const std::vector<double>& used) {
  if (used.size() < kFewest) return false;
  const double gain = mean_of(way) - mean_of(used);
  double squares = 0;
  for (std::size_t i = 0; i < used.size(); ++i) {
    const double off = way[i] - used[i] - gain;
    squares += off * off;
  }
  const auto count = static_cast<double>(used.size());
  return gain >= kClearGain && gain >= kClearErrors * std::sqrt(squares / (count - 1) / count);
}

// "right" where labels speak, else "surer": a model is mostly surest of what it was trained on; one picture may please
// any mistake, all together seldom do. But it may be sure of nonsense: not where labels say that it is less often
// right. Empty: nothing speaks for this way.
std::string_view better_by(const Outcome& way, const Outcome& used) {
  if (used.right.size() >= kFewest) {
    if (is_clearly_above(way.right, used.right)) return "right";
    if (mean_of(way.right) < mean_of(used.right)) return "";
  }
  return is_clearly_above(way.top_scores, used.top_scores) ? "surer" : "";
}

// Thread-bound.
class Trial {
 public:
  Trial(PicturePipeline& pipeline, const visits::Taxa& taxa, const Way& used) : pipeline_(pipeline), taxa_(taxa) {
    outcomes_.push_back({nullptr, used, {}});
    for (const Mistake& mistake : kMistakes) {
      Way way = used;
      mistake.make(way);
      if (way != used) outcomes_.push_back({&mistake, way, {}});
    }
    for (const Outcome& outcome : outcomes_) {
      preprocessors_.emplace_back(outcome.way.recipe, pipeline.model().input().width, pipeline.model().input().height);
    }
  }

  // `taxon`: what the picture shows, where that is known.
  [[nodiscard]] Result<void> add(std::span<const std::byte> picture, std::optional<std::uint32_t> taxon) {
    const camera::DecodedImage upright = KINGLET_TRY(decode_picture(picture, Upright::kApplyExif));
    camera::DecodedImage stored;
    if (upright.orientation_applied) {
      stored = KINGLET_TRY(decode_picture(picture, Upright::kAsStored));
      ++turned_;
    }
    const auto image_for = [&](const Way& way) -> const camera::Image& {
      return upright.orientation_applied && way.upright == Upright::kAsStored ? stored.image : upright.image;
    };
    const std::span<const float> scores = KINGLET_TRY(answer(0, image_for(outcomes_.front().way)));
    const std::size_t named = best_of(scores);
    const double score = scores[named];
    outcomes_.front().top_scores.push_back(score);
    if (taxon) outcomes_.front().right.push_back(taxa_.of_class()[named] == *taxon ? 1 : 0);
    for (std::size_t i = 1; i < outcomes_.size(); ++i) {
      Outcome& outcome = outcomes_[i];
      // A way may end without an answer, in numbers that are none: then it is not sure of anything.
      const auto answered = answer(i, image_for(outcome.way));
      const std::size_t best = answered ? best_of(*answered) : named;
      outcome.top_scores.push_back(answered ? (*answered)[best] : 0);
      if (taxon) outcome.right.push_back(answered && taxa_.of_class()[best] == *taxon ? 1 : 0);
      outcome.changed += !answered || best != named ? 1 : 0;
      outcome.score_change += (answered ? (*answered)[named] : 0) - score;
    }
    return {};
  }

  [[nodiscard]] const std::vector<Outcome>& outcomes() const { return outcomes_; }
  [[nodiscard]] std::size_t pictures() const { return outcomes_.front().top_scores.size(); }
  [[nodiscard]] std::size_t turned() const { return turned_; }  // pictures with an EXIF orientation

 private:
  static std::size_t best_of(std::span<const float> scores) {
    return static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin());
  }

  // Scores of the picture prepared in the way `index`, valid until the next answer.
  Result<std::span<const float>> answer(std::size_t index, const camera::Image& image) {
    engine::PictureInput input = pipeline_.model().input();
    input.layout = outcomes_[index].way.layout;
    KINGLET_TRY(preprocessors_[index].run(image.view(), std::nullopt, input));
    return pipeline_.run();
  }

  PicturePipeline& pipeline_;
  const visits::Taxa& taxa_;
  std::vector<Outcome> outcomes_;  // the first is the recipe in use
  std::vector<camera::Preprocessor> preprocessors_;
  std::size_t turned_ = 0;
};

double rounded(double value) { return std::round(value * 1e6) / 1e6; }

Json to_json(const Trial& trial, const engine::PictureModel& model) {
  const Outcome& used = trial.outcomes().front();
  const auto count = static_cast<double>(trial.pictures());
  const auto with_right = [](Json json, const Outcome& outcome) {
    if (!outcome.right.empty()) json["right_ratio"] = rounded(mean_of(outcome.right));
    return json;
  };
  Json ways = Json::array();
  Json better = Json::array();
  for (const Outcome& outcome : trial.outcomes()) {
    if (outcome.mistake == nullptr) continue;
    const bool is_better = !better_by(outcome, used).empty();
    ways.push_back(with_right({{"name", outcome.mistake->name},
                               {"what", outcome.mistake->what},
                               {"top1_changed", outcome.changed},
                               {"score_change", rounded(outcome.score_change / count)},
                               {"mean_top_score", rounded(mean_of(outcome.top_scores))},
                               {"better", is_better}},
                              outcome));
    if (is_better) better.push_back(outcome.mistake->name);
  }
  Json json{{"recipe", engine::recipe_json(used.way.recipe)},
            {"recipe_from", model.recipe_origin().empty() ? "default" : model.recipe_origin()},
            {"pictures", trial.pictures()},
            {"labelled", used.right.size()},
            {"turned_by_exif", trial.turned()},
            {"mean_top_score", rounded(mean_of(used.top_scores))}};
  json = with_right(std::move(json), used);
  json["mistakes"] = std::move(ways);
  json["better"] = std::move(better);
  return json;
}

void print_table(const Trial& trial, Output& out) {
  const Outcome& used = trial.outcomes().front();
  const auto count = static_cast<double>(trial.pictures());
  Table table({"PREPARED", ">TOP-1 CHANGED", ">SCORE CHANGE", ">MEAN TOP SCORE", ">RIGHT", ""});
  for (const Outcome& outcome : trial.outcomes()) {
    std::vector<std::string> row{"as the recipe says", "", ""};
    if (outcome.mistake != nullptr) {
      row = {std::string(outcome.mistake->what), format_text("{} of {}", outcome.changed, trial.pictures()),
             format_text("{:+.3f}", outcome.score_change / count)};
    }
    row.push_back(format_text("{:.3f}", mean_of(outcome.top_scores)));
    row.push_back(used.right.empty() ? "" : format_text("{:.1f} %", 100 * mean_of(outcome.right)));
    row.emplace_back(outcome.mistake == nullptr ? "" : better_by(outcome, used));
    table.add(std::move(row));
  }
  out.print(table.text(out));
}

// A folder with a labels.csv or folders of labels tells what its pictures show; others are just pictures.
Result<std::vector<Labelled>> list_pictures(const std::vector<std::string>& arguments) {
  namespace fs = std::filesystem;
  std::vector<Labelled> pictures;
  for (const std::string& argument : arguments) {
    std::error_code ignored;
    if (argument != "-" && fs::is_directory(argument, ignored)) {
      std::vector<Labelled> labelled = KINGLET_TRY(read_labelled(argument));
      if (!labelled.empty()) {
        std::ranges::move(labelled, std::back_inserter(pictures));
        continue;
      }
    }
    for (std::string& file : KINGLET_TRY(expand_pictures({argument}))) pictures.push_back({std::move(file), ""});
  }
  return pictures;
}

// "wrong" when something speaks for another way.
struct Verdict {
  std::string_view word;  // "stands", "wrong", "undecided"
  std::string text;
};

Verdict judge(const Trial& trial) {
  std::string better;
  for (const Outcome& outcome : trial.outcomes()) {
    if (outcome.mistake == nullptr) continue;
    const std::string_view by = better_by(outcome, trial.outcomes().front());
    if (by.empty()) continue;
    better += format_text("{}{} with {}", better.empty() ? "" : ", ",
                          by == "right" ? "more often right" : "surer of the same pictures", outcome.mistake->what);
  }
  if (!better.empty()) return {"wrong", "the recipe is probably wrong: the model is clearly " + better};
  if (trial.pictures() < kFewest) {
    return {"undecided", format_text("undecided: {} picture{}, at least {} are needed to accuse a recipe",
                                     trial.pictures(), trial.pictures() == 1 ? "" : "s", kFewest)};
  }
  return {"stands",
          format_text("the recipe stands: on {} pictures the model is not clearly better with any usual mistake",
                      trial.pictures())};
}

}  // namespace

Result<int> verify_recipe(const ModelOptions& options, const std::vector<std::string>& arguments, Output& out) {
  const std::vector<Labelled> pictures = KINGLET_TRY(list_pictures(arguments));
  PicturePipeline pipeline = KINGLET_TRY(PicturePipeline::open(options, out));
  const visits::Taxa taxa = KINGLET_TRY(visits::Taxa::make(pipeline.model().labels()));
  Trial trial(pipeline, taxa, {.recipe = pipeline.model().recipe(), .layout = pipeline.model().input().layout});
  std::size_t done = 0;
  std::size_t unknown = 0;
  for (const auto& [file, label] : pictures) {
    out.progress(file, done++, pictures.size());
    const std::optional<std::uint32_t> taxon = label.empty() ? std::nullopt : taxa.find(label);
    const bool is_class = taxon && *taxon < taxa.leaf_count();
    unknown += !label.empty() && !is_class ? 1 : 0;
    const std::string bytes = KINGLET_TRY(read_picture(file));
    const Result<void> added = trial.add(std::as_bytes(std::span(bytes)), is_class ? taxon : std::nullopt);
    if (!added) out.warn(describe(with_context(added.error(), file)) + " (left out)");
  }
  out.end_progress();
  if (trial.pictures() == 0) return fail(ErrorCode::kBadData, "no picture could be used", arguments.front());
  if (unknown > 0) out.warn(format_text("{} pictures have labels that the model does not know", unknown));
  const Verdict verdict = judge(trial);
  if (out.json()) {
    Json json = to_json(trial, pipeline.model());
    json["verdict"] = verdict.word;
    json["verdict_text"] = verdict.text;
    out.print_json(json);
  } else {
    print_table(trial, out);
    out.print(format_text("\n{}\n", out.styled(verdict.text, verdict.word == "wrong"    ? Style::kBad
                                                             : verdict.word == "stands" ? Style::kGood
                                                                                        : Style::kPlain)));
  }
  return verdict.word == "wrong" ? 1 : 0;
}

}  // namespace kinglet::cli
