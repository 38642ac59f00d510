// SPDX-License-Identifier: Apache-2.0
// Why: YCbCr to RGB of one row at output size, by matrix and range, in integers so that machines agree. SSE2 and NEON,
// each the same bits as the scalar twin.
#pragma once

#include <cstddef>
#include <cstdint>

#include "camera/frame/frame.h"

namespace kinglet::camera {

// Factors with 13 fractional bits, which fit 16 with their sign (ITU-R BT.601-7 and BT.709-6, section 3: Kr, Kb and the
// quantisation levels).
struct YuvFactors {
  std::int16_t y_offset = 0;
  std::int16_t y = 0;
  std::int16_t v_to_red = 0;
  std::int16_t u_to_green = 0;
  std::int16_t v_to_green = 0;
  std::int16_t u_to_blue = 0;
};

[[nodiscard]] YuvFactors make_yuv_factors(ColorMatrix matrix, ColorRange range);

// Samples of one row, a channel each.
struct YuvRow {
  const std::uint8_t* y;
  const std::uint8_t* u;
  const std::uint8_t* v;
};
struct RgbRow {
  std::uint8_t* red;
  std::uint8_t* green;
  std::uint8_t* blue;
};

void yuv_row_to_rgb(const YuvFactors& factors, const YuvRow& from, std::size_t count, const RgbRow& to);
void yuv_row_to_rgb_scalar(const YuvFactors& factors, const YuvRow& from, std::size_t count, const RgbRow& to);

}  // namespace kinglet::camera
