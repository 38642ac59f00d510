// SPDX-License-Identifier: Apache-2.0
// JPEGs of frames and of parts of them.
#include "daemon/capture/frame_jpeg.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "camera/decode/to_rgb.h"
#include "camera/frame/plane_shape.h"

namespace kinglet::daemon {
namespace {

using camera::PixelFormat;

// In which hardly two pixels are alike, with rows that are longer than they need to be.
struct Frame {
  Frame(PixelFormat format, int width, int height) {
    view = {.format = format, .width = width, .height = height};
    view.plane_count = static_cast<int>(camera::plane_count(format));
    for (std::uint32_t i = 0; i < camera::plane_count(format); ++i) {
      const auto shape =
          camera::plane_shape(format, i, static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height));
      const std::size_t stride = shape.row_bytes + 5;
      for (std::size_t at = 0; at < shape.rows * stride; ++at)
        planes[i].push_back(static_cast<std::byte>(7 + 37 * at + at / 61 + 91 * i));
      view.planes[i] = {.bytes = planes[i], .stride = stride};
    }
  }
  std::array<std::vector<std::byte>, 3> planes;
  camera::FrameView view;
};

TEST(FrameJpeg, OfAPartIsThatOfTheWholeFrameInRgb) {
  constexpr CropRect kParts[] = {{0, 0, 64, 48}, {-5, -5, 20, 9}, {13, 7, 31, 29}, {50, 40, 100, 100},
                                 {63, 47, 1, 1}, {17, 3, 2, 40},  {1, 1, 62, 46},  {30, 30, 0, 0}};
  for (const PixelFormat format :
       {PixelFormat::kRgb888, PixelFormat::kNv12, PixelFormat::kYuv420, PixelFormat::kYuyv}) {
    const Frame frame(format, 64, format == PixelFormat::kYuyv || format == PixelFormat::kRgb888 ? 47 : 48);
    const camera::Image whole = camera::to_rgb(frame.view).value();
    for (const CropRect& part : kParts) {
      for (const int most : {640, 33, 8}) {
        EXPECT_EQ(jpeg_of_part(frame.view, part, most, 90).value(), jpeg_of_part(whole.view(), part, most, 90).value())
            << to_string(format) << " " << part.x << "," << part.y << " at most " << most;
      }
    }
  }
}

}  // namespace
}  // namespace kinglet::daemon
