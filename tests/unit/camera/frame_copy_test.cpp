// SPDX-License-Identifier: Apache-2.0
// A copy of a part shows the pixels of that part, whatever the format has beside each other.
#include "camera/frame/frame_copy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "camera/decode/to_rgb.h"
#include "camera/frame/plane_shape.h"

namespace kinglet::camera {
namespace {

constexpr int kWidth = 12;
constexpr int kHeight = 8;
constexpr int kPadding = 5;

// A picture of this format in which hardly two pixels are alike, with rows that are longer than they need to be.
struct Picture {
  explicit Picture(PixelFormat format) {
    view = {.format = format, .width = kWidth, .height = kHeight};
    view.plane_count = static_cast<int>(plane_count(format));
    for (std::uint32_t i = 0; i < plane_count(format); ++i) {
      const PlaneShape shape = plane_shape(format, i, kWidth, kHeight);
      const std::size_t stride = shape.row_bytes + kPadding;
      std::vector<std::byte>& plane = planes[i];
      for (std::size_t at = 0; at < shape.rows * stride; ++at)
        plane.push_back(static_cast<std::byte>(7 + 37 * at + 91 * i));
      view.planes[i] = {.bytes = plane, .stride = stride};
    }
  }
  std::array<std::vector<std::byte>, 3> planes;
  FrameView view;
};

std::vector<std::byte> pixels_of(const FrameView& view, int x, int y, int width, int height) {
  const auto image = to_rgb(view);
  if (!image) return {};
  std::vector<std::byte> pixels;
  for (int row = y; row < y + height; ++row) {
    const auto first = image->rgb.begin() + 3 * (row * image->width + x);
    pixels.insert(pixels.end(), first, first + 3 * width);
  }
  return pixels;
}

TEST(CopyPart, ShowsThePixelsOfThatPart) {
  for (const PixelFormat format :
       {PixelFormat::kRgb888, PixelFormat::kNv12, PixelFormat::kYuv420, PixelFormat::kYuyv}) {
    const Picture picture(format);
    std::vector<std::byte> bytes;
    FrameView copy;
    copy_part(picture.view, 4, 2, 6, 4, bytes, copy);
    ASSERT_TRUE(check_view(copy)) << to_string(format);
    EXPECT_EQ(copy.width, 6);
    EXPECT_EQ(copy.height, 4);
    EXPECT_EQ(pixels_of(copy, 0, 0, 6, 4), pixels_of(picture.view, 4, 2, 6, 4)) << to_string(format);
  }
}

TEST(CopyPart, OfTheWholeIsTheWhole) {
  const Picture picture(PixelFormat::kNv12);
  std::vector<std::byte> bytes;
  FrameView copy;
  copy_part(picture.view, 0, 0, kWidth, kHeight, bytes, copy);
  EXPECT_EQ(pixels_of(copy, 0, 0, kWidth, kHeight), pixels_of(picture.view, 0, 0, kWidth, kHeight));
}

}  // namespace
}  // namespace kinglet::camera
