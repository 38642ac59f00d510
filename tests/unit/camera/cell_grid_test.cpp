// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/cell_grid.h"

#include <gtest/gtest.h>
#include <turbojpeg.h>

#include <array>
#include <memory>

#include "tests/support/video_frames.h"

namespace kinglet::camera {
namespace {

using kinglet::testing::make_video_frame;
using kinglet::testing::painted;
using kinglet::testing::VideoFrame;

// Gray, darker to the right: brightness 250 - 200 * x / width.
Image slope(int width, int height) {
  return painted(width, height, [=](int x, int) {
    const int level = 250 - 200 * x / width;
    return std::array{level, level, level};
  });
}

class CellGridOfFormat : public ::testing::TestWithParam<PixelFormat> {
 protected:
  // As long as `image` is there.
  static VideoFrame in_this_format(const Image& image) {
    if (GetParam() == PixelFormat::kRgb888) return {{}, image.view()};
    return make_video_frame(image, GetParam(), ColorMatrix::kBt601, ColorRange::kFull);
  }
};

TEST_P(CellGridOfFormat, IsTheMeanBrightnessOfEachCell) {
  const Image image = slope(640, 360);
  const VideoFrame frame = in_this_format(image);
  CellGrid grid;
  const auto measured = grid.measure(frame.view);
  ASSERT_TRUE(measured) << describe(measured.error());
  for (int row = 0; row < kGridRows; ++row) {
    for (int column = 0; column < kGridColumns; ++column) {
      const double expected = 250 - 200 * (column + 0.5) / kGridColumns;
      EXPECT_NEAR(grid.cells().luma[static_cast<std::size_t>(row * kGridColumns + column)], expected, 3) << column;
    }
  }
}

// Left grey, right (200, 60, 40).
Image half_red(int width, int height) {
  return painted(width, height,
                 [=](int x, int) { return x < width / 2 ? std::array{90, 90, 90} : std::array{200, 60, 40}; });
}

TEST_P(CellGridOfFormat, IsTheMeanColourOfEachCell) {
  const Image image = half_red(640, 360);
  const VideoFrame frame = in_this_format(image);
  CellGrid grid;
  ASSERT_TRUE(grid.measure(frame.view));
  const auto cell = [](int column) { return std::size_t{12 * kGridColumns} + static_cast<std::size_t>(column); };
  EXPECT_NEAR(grid.cells().blue[cell(5)], 90, 2);
  EXPECT_NEAR(grid.cells().red[cell(5)], 90, 2);
  EXPECT_NEAR(grid.cells().luma[cell(35)], 0.299 * 200 + 0.587 * 60 + 0.114 * 40, 2);
  EXPECT_NEAR(grid.cells().blue[cell(35)], 40, 3);
  EXPECT_NEAR(grid.cells().red[cell(35)], 200, 3);
}

INSTANTIATE_TEST_SUITE_P(Formats, CellGridOfFormat,
                         ::testing::Values(PixelFormat::kRgb888, PixelFormat::kNv12, PixelFormat::kYuv420,
                                           PixelFormat::kYuyv, PixelFormat::kMjpeg));

TEST(CellGrid, OfAGreyJpegHasNoColour) {
  const Image image = slope(640, 360);
  const std::unique_ptr<void, decltype(&tjDestroy)> compressor(tjInitCompress(), tjDestroy);
  unsigned char* jpeg = nullptr;
  unsigned long size = 0;
  ASSERT_EQ(tjCompress2(compressor.get(), reinterpret_cast<const unsigned char*>(image.rgb.data()), 640, 0, 360,
                        TJPF_RGB, &jpeg, &size, TJSAMP_GRAY, 90, 0),
            0);
  const std::unique_ptr<unsigned char, decltype(&tjFree)> owner(jpeg, tjFree);
  FrameView view{.format = PixelFormat::kMjpeg, .width = 640, .height = 360, .plane_count = 1};
  view.planes[0] = {std::as_bytes(std::span(jpeg, size)), 0};
  CellGrid grid;
  ASSERT_TRUE(grid.measure(view));
  EXPECT_EQ(grid.cells().red, grid.cells().luma);
  EXPECT_EQ(grid.cells().blue, grid.cells().luma);
}

TEST(CellGrid, SmallerFramesAreRefused) {
  CellGrid grid;
  const Image image = slope(38, 40);
  EXPECT_EQ(grid.measure(image.view()).error().code, ErrorCode::kBadData);
}

}  // namespace
}  // namespace kinglet::camera
