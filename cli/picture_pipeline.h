// SPDX-License-Identifier: Apache-2.0
// Why: pictures to named scores: what classify, and checks on pictures, share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "camera/preprocess/preprocess.h"
#include "cli/model_options.h"
#include "cli/output.h"
#include "engine/picture/picture_model.h"

namespace kinglet::cli {

// Times of one picture, in milliseconds.
struct PictureTiming {
  double decode_ms = 0;
  double preprocess_ms = 0;
  double inference_ms = 0;
};

struct PictureResult {
  std::vector<engine::Score> top;
  int width_px = 0;
  int height_px = 0;
  bool orientation_applied = false;
  CropRect crop_px;
  PictureTiming timing;
};

// What of a picture the model sees: the part that the recipe says, or all of it, as of one that is such a part already.
enum class Framing : std::uint8_t { kRecipe, kWhole };

// Thread-bound.
class PicturePipeline {
 public:
  // Notes what it had to guess (recipe, labels) on stderr. Errors as of engine::PictureModel.
  [[nodiscard]] static Result<PicturePipeline> open(const ModelOptions& options, Output& out);

  [[nodiscard]] Result<PictureResult> classify(std::span<const std::byte> picture, std::size_t top_count,
                                               Framing framing = Framing::kRecipe);
  // Decodes and prepares the picture into the model's input, without running.
  [[nodiscard]] Result<PictureResult> prepare(std::span<const std::byte> picture, Framing framing = Framing::kRecipe);
  // Answers what is in the input, however it came there: scores of 0 to 1, one a label, valid until the next run.
  // kBadData: they are not finite.
  [[nodiscard]] Result<std::span<const float>> run();

  [[nodiscard]] engine::PictureModel& model() { return model_; }
  [[nodiscard]] const engine::PictureModel& model() const { return model_; }

 private:
  explicit PicturePipeline(engine::PictureModel model);

  engine::PictureModel model_;
  camera::Preprocessor preprocessor_;
};

}  // namespace kinglet::cli
