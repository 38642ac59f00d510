// SPDX-License-Identifier: Apache-2.0
// Why: a model that says where something is in a picture: session, recipe, the place for the pixels, labels and the
// reader of its boxes as one.
#pragma once

#include <span>

#include "engine/base/area.h"
#include "engine/picture/boxes.h"
#include "engine/picture/picture_model.h"

namespace kinglet::engine {

// Its recipe has boxes.
class DetectorModel : public PictureSession {
 public:
  // Errors as of Session::open, recipe_of and labels_of; kBadData for a model whose input is no picture, a recipe
  // without "boxes", outputs that are not what it says, and a label count that does not fit. Computed in float32.
  [[nodiscard]] static Result<DetectorModel> open(const PictureModelOptions& options, const SessionOptions& how);

  // Answers what is in input(): boxes in pixels of it, valid until the next run. kInternal when the backend fails.
  // Allocates nothing.
  [[nodiscard]] Result<std::span<const Box>> run();

 private:
  DetectorModel(Session session, PictureInput input, FoundRecipe recipe, FoundLabels labels, BoxReader reader);

  BoxReader reader_;
};

// A box of the input as a part of the picture whose part `used` was prepared by the recipe, in pixels of the picture
// and cut at its sides. Pure.
struct PictureBox {
  double left = 0, top = 0, width = 0, height = 0;
};
[[nodiscard]] PictureBox in_picture(const Box& box, const Recipe& recipe, const PictureInput& input,
                                    const CropRect& used);

}  // namespace kinglet::engine
