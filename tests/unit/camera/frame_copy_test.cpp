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

std::vector<std::byte> pixels_in(const FrameView& view, int x, int y, int width, int height) {
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
    EXPECT_EQ(pixels_in(copy, 0, 0, 6, 4), pixels_in(picture.view, 4, 2, 6, 4)) << to_string(format);
  }
}

TEST(FrameCopies, AHugePictureIsNotPaidForEverAfter) {
  const auto plain = [](int width, int height, std::vector<std::byte>& pixels) {
    const auto row = static_cast<std::size_t>(width) * 3;
    pixels.assign(row * static_cast<std::size_t>(height), std::byte{7});
    FrameView view{.format = PixelFormat::kRgb888, .width = width, .height = height, .plane_count = 1};
    view.planes[0] = {.bytes = pixels, .stride = row};
    return view;
  };
  std::vector<std::byte> huge_pixels;
  std::vector<std::byte> pixels;
  const FrameView huge = plain(8000, 6000, huge_pixels);
  const FrameView usual = plain(640, 480, pixels);
  std::vector<std::byte> whole;
  std::vector<std::byte> part;
  FrameView copy;
  copy_view(huge, whole, copy);
  copy_part(huge, 0, 0, 8000, 6000, part, copy);
  for (int turn = 0; turn < 2; ++turn) {
    copy_view(usual, whole, copy);
    EXPECT_EQ(whole.size(), pixels.size());
    EXPECT_LT(whole.capacity(), std::size_t{32} << 20);
    copy_part(usual, 0, 0, 64, 48, part, copy);
    EXPECT_EQ(part.size(), 64U * 48 * 3);
    EXPECT_LT(part.capacity(), std::size_t{32} << 20);
  }
  // What is about as large comes into the memory that there is.
  const FrameView large = plain(4000, 3000, pixels);
  copy_view(large, whole, copy);
  const std::byte* const place = whole.data();
  copy_view(plain(2000, 1600, huge_pixels), whole, copy);
  EXPECT_EQ(whole.data(), place);
}

TEST(CopyPart, OfTheWholeIsTheWhole) {
  const Picture picture(PixelFormat::kNv12);
  std::vector<std::byte> bytes;
  FrameView copy;
  copy_part(picture.view, 0, 0, kWidth, kHeight, bytes, copy);
  EXPECT_EQ(pixels_in(copy, 0, 0, kWidth, kHeight), pixels_in(picture.view, 0, 0, kWidth, kHeight));
}

}  // namespace
}  // namespace kinglet::camera
