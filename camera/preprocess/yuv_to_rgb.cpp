// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/yuv_to_rgb.h"

#include <algorithm>
#include <cmath>

namespace kinglet::camera {
namespace {

constexpr int kBits = 16;

std::int32_t to_fixed(double factor) { return static_cast<std::int32_t>(std::lround(factor * (1 << kBits))); }

std::uint8_t to_byte(std::int32_t value) { return static_cast<std::uint8_t>(std::clamp(value >> kBits, 0, 255)); }

}  // namespace

YuvFactors make_yuv_factors(ColorMatrix matrix, ColorRange range) {
  const double red = matrix == ColorMatrix::kBt601 ? 0.299 : 0.2126;
  const double blue = matrix == ColorMatrix::kBt601 ? 0.114 : 0.0722;
  const double green = 1 - red - blue;
  const double luma = range == ColorRange::kFull ? 1.0 : 255.0 / 219.0;
  const double chroma = range == ColorRange::kFull ? 1.0 : 255.0 / 224.0;
  return {.y_offset = range == ColorRange::kFull ? 0 : 16,
          .y = to_fixed(luma),
          .v_to_red = to_fixed(chroma * 2 * (1 - red)),
          .u_to_green = to_fixed(-chroma * 2 * (1 - blue) * blue / green),
          .v_to_green = to_fixed(-chroma * 2 * (1 - red) * red / green),
          .u_to_blue = to_fixed(chroma * 2 * (1 - blue))};
}

void yuv_row_to_rgb(const YuvFactors& factors, const std::uint8_t* y, const std::uint8_t* u, const std::uint8_t* v,
                    std::span<std::uint8_t> rgb) {
  constexpr std::int32_t kHalf = 1 << (kBits - 1);
  for (std::size_t x = 0; x < rgb.size() / 3; ++x) {
    const std::int32_t luma = (y[x] - factors.y_offset) * factors.y + kHalf;
    const std::int32_t blue = u[x] - 128;
    const std::int32_t red = v[x] - 128;
    rgb[3 * x] = to_byte(luma + red * factors.v_to_red);
    rgb[3 * x + 1] = to_byte(luma + blue * factors.u_to_green + red * factors.v_to_green);
    rgb[3 * x + 2] = to_byte(luma + blue * factors.u_to_blue);
  }
}

}  // namespace kinglet::camera
