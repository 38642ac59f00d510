// SPDX-License-Identifier: Apache-2.0
// Why: which part of a frame becomes the model's input, and how large the whole would be: the recipe's resize rule.
#pragma once

#include <optional>

#include "camera/preprocess/resample/pillow_resample.h"
#include "engine/base/area.h"

namespace kinglet::camera {

struct Geometry {
  AxisSpan columns;
  AxisSpan rows;
  CropRect used;  // the same in whole pixels of the frame
};

// kStretch, and kLetterbox where the input is of its proportions: the frame, or `crop` of it. kCenterCrop without
// `crop`: as torchvision's Resize(resize_size, else floor(size / crop_ratio)) and CenterCrop(size) give it, for inputs
// that are not square with the side that needs the larger factor. A given `crop` is what the model sees, whatever the
// mode. kBadData: a crop outside the frame, a resize_size smaller than the input.
[[nodiscard]] Result<Geometry> make_geometry(const engine::Recipe& recipe, int frame_width, int frame_height,
                                             const std::optional<CropRect>& crop, int model_width, int model_height);

// The area's whole pixels: at least one, inside the frame.
[[nodiscard]] CropRect pixels_of(const Area& area, int frame_width, int frame_height);

// A square around `box` with room on each side of it, as far as `limits` allow, which hold it; `least` pixels a side
// where they can. Where the limits are narrower than the square it is as wide as they are.
[[nodiscard]] CropRect square_around(const CropRect& box, const CropRect& limits, int least);

}  // namespace kinglet::camera
