// SPDX-License-Identifier: Apache-2.0
#include "cli/picture_pipeline.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "cli/picture_files.h"
#include "engine/base/clock.h"
#include "engine/base/format.h"

namespace kinglet::cli {
namespace {

double ms_since(SteadyTime start) { return to_ms(SteadyClock::now() - start).count(); }

void note_guesses(const engine::PictureModel& model, const std::string& file, Output& out) {
  const std::string stem = std::filesystem::path(file).stem().string();
  if (model.recipe_origin().empty()) {
    out.note(
        format_text("no recipe: pixels {}; use --recipe (a preset or a file), or put {}.recipe.json beside the model",
                    model.input().type == engine::DataType::kF32 ? "are divided by 255" : "go in as they are", stem));
  }
  if (model.precision().refused) {
    out.note(format_text("computed in float32: {}", model.precision().reason));
  }
  if (!model.output().has_scores) out.note("the model names a class and gives no score: it is shown as 1");
  if (model.labels_origin().empty()) {
    out.note(format_text("no labels: classes are shown by number; use --labels, or put {}.labels.txt beside the model",
                         stem));
  }
}

}  // namespace

PicturePipeline::PicturePipeline(engine::PictureModel model)
    : model_(std::move(model)), preprocessor_(model_.recipe(), model_.input().width, model_.input().height) {}

Result<PicturePipeline> PicturePipeline::open(const ModelOptions& options, Output& out) {
  engine::PictureModel model = KINGLET_TRY(engine::PictureModel::open(options.of_pictures(), session_options(options)));
  note_guesses(model, options.model, out);
  return PicturePipeline(std::move(model));
}

Result<PictureResult> PicturePipeline::prepare(std::span<const std::byte> picture, Framing framing) {
  PictureResult result;
  SteadyTime start = SteadyClock::now();
  const camera::DecodedImage decoded = KINGLET_TRY(decode_picture(picture, camera::Upright::kApplyExif));
  result.timing.decode_ms = ms_since(start);
  result.width_px = decoded.image.width;
  result.height_px = decoded.image.height;
  result.orientation_applied = decoded.orientation_applied;
  start = SteadyClock::now();
  std::optional<CropRect> part;
  if (framing == Framing::kWhole) part = {0, 0, result.width_px, result.height_px};
  result.crop_px = KINGLET_TRY(preprocessor_.run(decoded.image.view(), part, model_.input()));
  result.timing.preprocess_ms = ms_since(start);
  return result;
}

Result<PictureResult> PicturePipeline::classify(std::span<const std::byte> picture, std::size_t top_count,
                                                Framing framing) {
  PictureResult result = KINGLET_TRY(prepare(picture, framing));
  const SteadyTime start = SteadyClock::now();
  KINGLET_TRY(run());
  result.timing.inference_ms = ms_since(start);
  result.top = engine::top_k(model_.scores(), top_count);
  return result;
}

Result<std::span<const float>> PicturePipeline::run() {
  KINGLET_TRY(model_.run());
  return model_.finite_scores();
}

}  // namespace kinglet::cli
