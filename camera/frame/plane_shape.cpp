// SPDX-License-Identifier: Apache-2.0
#include "camera/frame/plane_shape.h"

namespace kinglet::camera {

std::uint32_t plane_count(PixelFormat format) {
  switch (format) {
    case PixelFormat::kNv12:
      return 2;
    case PixelFormat::kYuv420:
      return 3;
    case PixelFormat::kRgb888:
    case PixelFormat::kYuyv:
    case PixelFormat::kMjpeg:
      break;
  }
  return 1;
}

PlaneShape plane_shape(PixelFormat format, std::uint32_t plane, std::uint32_t width, std::uint32_t height) {
  switch (format) {
    case PixelFormat::kRgb888:
      return {height, 3ULL * width};
    case PixelFormat::kYuyv:
      return {height, 2ULL * width};
    case PixelFormat::kNv12:
      return plane == 0 ? PlaneShape{height, width} : PlaneShape{height / 2, width};
    case PixelFormat::kYuv420:
      return plane == 0 ? PlaneShape{height, width} : PlaneShape{height / 2, width / 2};
    case PixelFormat::kMjpeg:
      break;
  }
  return {1, 1};
}

}  // namespace kinglet::camera
