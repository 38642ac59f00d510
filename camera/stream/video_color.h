// SPDX-License-Identifier: Apache-2.0
// Why: which colours a video frame has when its stream does not say: what encoders of such sizes use.
#pragma once

#include "camera/stream/parser.h"

namespace kinglet::camera {

// Sets matrix and range of a frame whose size is known.
inline void set_color(FrameView& shape, const ColorWish& wish) {
  const bool high_definition = shape.width >= 1280 || shape.height >= 720;
  shape.matrix = wish.matrix.value_or(high_definition ? ColorMatrix::kBt709 : ColorMatrix::kBt601);
  shape.range = wish.range.value_or(ColorRange::kLimited);
}

}  // namespace kinglet::camera
