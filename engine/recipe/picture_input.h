// SPDX-License-Identifier: Apache-2.0
// Why: where the numbers of a picture go: what prepares pictures writes there, the model reads it.
#pragma once

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

}  // namespace kinglet::engine
