// SPDX-License-Identifier: Apache-2.0
// Why: how many planes a pixel format has, and how many bytes each: what files, pipes and shared buffers agree on.
#pragma once

#include <cstdint>

#include "camera/frame/frame.h"

namespace kinglet::camera {

// In rows, and bytes a row; kMjpeg has one row of one byte.
struct PlaneShape {
  std::uint64_t rows = 0;
  std::uint64_t row_bytes = 0;
};
[[nodiscard]] std::uint32_t plane_count(PixelFormat format);
[[nodiscard]] PlaneShape plane_shape(PixelFormat format, std::uint32_t plane, std::uint32_t width,
                                     std::uint32_t height);

}  // namespace kinglet::camera
