// SPDX-License-Identifier: Apache-2.0
// Why: what is under a privacy mask is black for everyone, in every format, and nothing else changes.
#include <gtest/gtest.h>

#include "camera/masked_source.h"
#include "camera/preprocess/preprocess.h"
#include "camera/source.h"
#include "tests/support/video_frames.h"

namespace kinglet::camera {
namespace {

using kinglet::testing::make_video_frame;
using kinglet::testing::VideoFrame;

constexpr int kWidth = 64;
constexpr int kHeight = 48;

Image bright() {
  Image image{kWidth, kHeight, {}};
  for (int i = 0; i < kWidth * kHeight; ++i) {
    image.rgb.insert(image.rgb.end(), {std::byte{200}, std::byte{150}, std::byte{100}});
  }
  return image;
}

struct MaskCase {
  PixelFormat format;
  ColorRange range;
};
class MasksOfFormat : public ::testing::TestWithParam<MaskCase> {};

TEST_P(MasksOfFormat, AreBlackAndTheRestIsAsItWas) {
  const Image image = bright();
  VideoFrame frame{{}, image.view()};
  if (GetParam().format != PixelFormat::kRgb888) {
    frame = make_video_frame(image, GetParam().format, ColorMatrix::kBt601, GetParam().range);
  }
  const Image before = to_rgb(frame.view).value();
  const Masks masks({{.left = 0.25, .top = 0.5, .width = 0.25, .height = 0.25}});
  std::vector<std::byte> bytes;
  const FrameView painted = masks.painted(frame.view, bytes).value();
  EXPECT_NE(painted.format, PixelFormat::kMjpeg);
  const Image after = to_rgb(painted).value();
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const bool masked = x >= 16 && x < 32 && y >= 24 && y < 36;
      const bool at_edge = x >= 14 && x < 34 && y >= 22 && y < 38;  // shared colour
      for (int c = 0; c < 3; ++c) {
        const auto at = static_cast<std::size_t>(3 * (y * kWidth + x) + c);
        if (masked) {
          EXPECT_LE(std::to_integer<int>(after.rgb[at]), 3) << x << "," << y;
        } else if (!at_edge) {
          EXPECT_EQ(after.rgb[at], before.rgb[at]) << x << "," << y;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, MasksOfFormat,
                         ::testing::Values(MaskCase{PixelFormat::kRgb888, ColorRange::kFull},
                                           MaskCase{PixelFormat::kNv12, ColorRange::kLimited},
                                           MaskCase{PixelFormat::kYuv420, ColorRange::kFull},
                                           MaskCase{PixelFormat::kYuyv, ColorRange::kLimited},
                                           MaskCase{PixelFormat::kMjpeg, ColorRange::kFull}));

TEST(Masks, CoverEveryPixelTheyTouch) {
  const auto frame = make_video_frame(bright(), PixelFormat::kNv12, ColorMatrix::kBt601, ColorRange::kFull);
  const Masks masks({{.left = 0.49, .top = 0.49, .width = 0.001, .height = 0.001}});
  std::vector<std::byte> bytes;
  const FrameView painted = masks.painted(frame.view, bytes).value();
  const std::size_t at = 23 * painted.planes[0].stride + 31;
  EXPECT_EQ(painted.planes[0].bytes[at], std::byte{0});
}

TEST(Masks, AFrameThatIsNotWhatItSaysIsRefused) {
  auto frame = make_video_frame(bright(), PixelFormat::kNv12, ColorMatrix::kBt601, ColorRange::kFull);
  frame.view.planes[1].bytes = frame.view.planes[1].bytes.first(10);
  std::vector<std::byte> bytes;
  EXPECT_EQ(Masks({Area{}}).painted(frame.view, bytes).error().code, ErrorCode::kBadData);
}

// Whoever opens a source gets it masked: page, model, history and recordings alike.
TEST(Masks, HoldForEverySourceThatIsOpened) {
  SourceOptions options{.spec = "demo:7?fps=max", .width = 320, .height = 180};
  options.masks = {{.left = 0, .top = 0, .width = 0.5, .height = 1}};
  const auto source = open_source(options).value();
  ASSERT_TRUE(source->start());
  for (int i = 0; i < 10; ++i) {
    const auto next = source->next(SteadyClock::now() + std::chrono::seconds(30)).value();
    const FrameView& view = std::get<Frame>(next).view();
    const auto row = view.planes[0].bytes.subspan(90 * view.planes[0].stride);
    EXPECT_EQ(row[3 * 159], std::byte{0});
    EXPECT_NE(row[3 * 200], std::byte{0});
  }
}

}  // namespace
}  // namespace kinglet::camera
