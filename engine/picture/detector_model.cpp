// SPDX-License-Identifier: Apache-2.0
#include "engine/picture/detector_model.h"

#include <algorithm>
#include <utility>

namespace kinglet::engine {

DetectorModel::DetectorModel(Session session, PictureInput input, FoundRecipe recipe, FoundLabels labels,
                             BoxReader reader)
    : PictureSession(std::move(session), input, std::move(recipe), std::move(labels)), reader_(std::move(reader)) {}

Result<DetectorModel> DetectorModel::open(const PictureModelOptions& options, const SessionOptions& how) {
  Session session = KINGLET_TRY(Session::open(options.model, how));
  PictureInput input = KINGLET_TRY(picture_input(session, options.model));
  FoundRecipe recipe = KINGLET_TRY(recipe_of(options, session.metadata()));
  if (!recipe.recipe.boxes) {
    return fail(ErrorCode::kBadData,
                recipe.origin.empty() ? "a detector needs a recipe that says how its boxes are read"
                                      : "the recipe has no \"boxes\": it is not a detector's",
                options.model.string(), "--recipe yolox, nanodet, nanodet-plus or nms, or a file (docs/recipes.md)");
  }
  auto fitting = recipe_for_input(recipe.recipe, input.type, session.inputs().front().quantization);
  if (!fitting) return std::unexpected(with_context(fitting.error(), options.model.string()));
  recipe.recipe = std::move(*fitting);
  input.quantization = recipe.recipe.quantization.value_or(Quantization{});
  auto reader = BoxReader::make(session, *recipe.recipe.boxes, input.width, input.height);
  if (!reader) return std::unexpected(with_context(reader.error(), options.model.string()));
  std::optional<FoundLabels> found = KINGLET_TRY(labels_of(options, session.metadata()));
  if (!found) found = FoundLabels{.labels = Labels::numbered(reader->classes()), .origin = {}};
  KINGLET_TRY(found->labels.check_count(reader->classes()));
  return DetectorModel(std::move(session), input, std::move(recipe), std::move(*found), std::move(*reader));
}

Result<std::span<const Box>> DetectorModel::run() {
  KINGLET_TRY(session_.run());
  return reader_.read(session_);
}

PictureBox in_picture(const Box& box, const Recipe& recipe, const PictureInput& input, const CropRect& used) {
  const Fit fit = fit_of(recipe.resize_mode, used.width, used.height, input.width, input.height);
  const auto place = [](float at, double scale, int begin, int length) {
    return begin + std::clamp(static_cast<double>(at) / scale, 0.0, static_cast<double>(length));
  };
  const double left = place(box.left, fit.x_scale, used.x, used.width);
  const double top = place(box.top, fit.y_scale, used.y, used.height);
  return {.left = left,
          .top = top,
          .width = place(box.right, fit.x_scale, used.x, used.width) - left,
          .height = place(box.bottom, fit.y_scale, used.y, used.height) - top};
}

}  // namespace kinglet::engine
