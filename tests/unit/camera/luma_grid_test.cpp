// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/luma_grid.h"

#include <gtest/gtest.h>

#include "tests/support/video_frames.h"

namespace kinglet::camera {
namespace {

using kinglet::testing::make_video_frame;
using kinglet::testing::VideoFrame;

// Gray, darker to the right: brightness 250 - 200 * x / width.
Image slope(int width, int height) {
  Image image{width, height, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) image.rgb.insert(image.rgb.end(), 3, static_cast<std::byte>(250 - 200 * x / width));
  }
  return image;
}

class LumaGridOfFormat : public ::testing::TestWithParam<PixelFormat> {};

TEST_P(LumaGridOfFormat, IsTheMeanBrightnessOfEachCell) {
  const Image image = slope(640, 360);
  VideoFrame frame{{}, image.view()};
  if (GetParam() != PixelFormat::kRgb888) {
    frame = make_video_frame(image, GetParam(), ColorMatrix::kBt601, ColorRange::kFull);
  }
  LumaGrid grid;
  const auto measured = grid.measure(frame.view);
  ASSERT_TRUE(measured) << describe(measured.error());
  for (int row = 0; row < kGridRows; ++row) {
    for (int column = 0; column < kGridColumns; ++column) {
      const double expected = 250 - 200 * (column + 0.5) / kGridColumns;
      EXPECT_NEAR(grid.cells()[static_cast<std::size_t>(row * kGridColumns + column)], expected, 3) << column;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, LumaGridOfFormat,
                         ::testing::Values(PixelFormat::kRgb888, PixelFormat::kNv12, PixelFormat::kYuv420,
                                           PixelFormat::kYuyv, PixelFormat::kMjpeg));

TEST(LumaGrid, SmallerFramesAreRefused) {
  LumaGrid grid;
  const Image image = slope(38, 40);
  EXPECT_EQ(grid.measure(image.view()).error().code, ErrorCode::kBadData);
}

}  // namespace
}  // namespace kinglet::camera
