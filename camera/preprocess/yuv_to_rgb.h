// SPDX-License-Identifier: Apache-2.0
// Why: YCbCr to RGB of one row at output size, by matrix and range, in integers so that machines agree.
#pragma once

#include <cstdint>
#include <span>

#include "camera/frame.h"

namespace kinglet::camera {

// Factors with 16 fractional bits (ITU-R BT.601-7 and BT.709-6, section 3: Kr, Kb and the quantisation levels).
struct YuvFactors {
  std::int32_t y_offset = 0;
  std::int32_t y = 0;
  std::int32_t v_to_red = 0;
  std::int32_t u_to_green = 0;
  std::int32_t v_to_green = 0;
  std::int32_t u_to_blue = 0;
};

[[nodiscard]] YuvFactors make_yuv_factors(ColorMatrix matrix, ColorRange range);

// y, u, v hold rgb.size() / 3 samples each.
void yuv_row_to_rgb(const YuvFactors& factors, const std::uint8_t* y, const std::uint8_t* u, const std::uint8_t* v,
                    std::span<std::uint8_t> rgb);

}  // namespace kinglet::camera
