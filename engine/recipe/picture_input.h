// SPDX-License-Identifier: Apache-2.0
// Why: where the numbers of a picture go: what prepares pictures writes there, the model reads it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "engine/graph/data_type.h"
#include "engine/recipe/recipe.h"

namespace kinglet::engine {

// One picture of three channels. `bytes` are the session's or the caller's.
struct PictureInput {
  std::span<std::byte> bytes;
  DataType type = DataType::kF32;  // or kU8, kI8
  int width = 0;                   // pixels
  int height = 0;
  TensorLayout layout = TensorLayout::kNhwc;  // as it is held in memory
  Quantization quantization;                  // only for integer inputs: q = round(x / scale) + zero_point
};

// Where a part of a picture is in the model's input: from the top left on, so large, and how many pixels of the input
// one of the part's takes.
struct Fit {
  int width = 0;
  int height = 0;
  double x_scale = 1;
  double y_scale = 1;
};

// All sizes at least 1.
[[nodiscard]] inline Fit fit_of(ResizeMode mode, int part_width, int part_height, int input_width, int input_height) {
  const double x = static_cast<double>(input_width) / part_width;
  const double y = static_cast<double>(input_height) / part_height;
  if (mode != ResizeMode::kLetterbox) return {input_width, input_height, x, y};
  const double scale = std::min(x, y);
  const auto side = [scale](int part, int input) { return std::clamp(static_cast<int>(part * scale), 1, input); };
  return {side(part_width, input_width), side(part_height, input_height), scale, scale};
}

}  // namespace kinglet::engine
