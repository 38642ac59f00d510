// SPDX-License-Identifier: Apache-2.0
// Why: what is under a privacy mask is black for everyone, in every format, and nothing else changes.
#include <gtest/gtest.h>

#include "camera/decode/to_rgb.h"
#include "camera/source/source.h"
#include "camera/sources/masked_source.h"
#include "camera/sources/open_source.h"
#include "tests/support/video_frames.h"

namespace kinglet::camera {
namespace {

using kinglet::testing::make_video_frame;
using kinglet::testing::VideoFrame;

constexpr int kMaskedWidth = 64;
constexpr int kMaskedHeight = 48;

Image bright() {
  Image image{kMaskedWidth, kMaskedHeight, {}};
  for (int i = 0; i < kMaskedWidth * kMaskedHeight; ++i) {
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
  for (int y = 0; y < kMaskedHeight; ++y) {
    for (int x = 0; x < kMaskedWidth; ++x) {
      const bool masked = x >= 16 && x < 32 && y >= 24 && y < 36;
      const bool at_edge = x >= 14 && x < 34 && y >= 22 && y < 38;  // shared colour
      for (int c = 0; c < 3; ++c) {
        const auto at = static_cast<std::size_t>(3 * (y * kMaskedWidth + x) + c);
        if (masked) {
          EXPECT_LE(std::to_integer<int>(after.rgb[at]), 3) << x << "," << y;
        } else if (!at_edge) {
          // A JPEG is decoded without the detour through RGB.
          const int off = GetParam().format == PixelFormat::kMjpeg ? 3 : 0;
          EXPECT_NEAR(std::to_integer<int>(after.rgb[at]), std::to_integer<int>(before.rgb[at]), off) << x << "," << y;
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

// A camera whose hardware scales a second stream.
class TwoStreams final : public FrameSource {
 public:
  Result<void> start() override { return {}; }
  Result<std::variant<Frame, NoFrame>> next(SteadyTime /*deadline*/) override {
    return Frame(full_.view, small_.view, {}, [] {});
  }
  void stop() override {}
  int depth() const override { return 4; }
  std::string description() const override { return "two streams"; }
  std::uint64_t dropped_count() const override { return 0; }

 private:
  VideoFrame full_ = make_video_frame(bright(), PixelFormat::kNv12, ColorMatrix::kBt601, ColorRange::kFull);
  Image half_{32, 24, std::vector<std::byte>(3 * 32 * 24, std::byte{200})};
  VideoFrame small_ = make_video_frame(half_, PixelFormat::kNv12, ColorMatrix::kBt601, ColorRange::kFull);
};

TEST(Masks, CoverTheSmallStreamAsWell) {
  const auto source = with_masks(std::make_unique<TwoStreams>(), {{.left = 0, .top = 0, .width = 0.5, .height = 1}});
  ASSERT_TRUE(source->start());
  const auto next = source->next(SteadyClock::now() + std::chrono::seconds(30)).value();
  const Frame& frame = std::get<Frame>(next);
  for (const FrameView& view : {frame.view(), frame.small()}) {
    const auto half = static_cast<std::size_t>(view.width / 2);
    EXPECT_EQ(view.planes[0].bytes[half - 1], std::byte{0});
    EXPECT_NE(view.planes[0].bytes[half], std::byte{0});
  }
  EXPECT_EQ(frame.small().width, 32);
}

TEST(Masks, PaintNoMoreFramesThanAreWanted) {
  const auto source = with_masks(std::make_unique<TwoStreams>(), {Area{}});
  ASSERT_TRUE(source->start());
  const auto gives = [&] {
    return std::holds_alternative<Frame>(source->next(SteadyClock::now() + std::chrono::seconds(30)).value());
  };
  EXPECT_TRUE(gives());
  source->want_every(std::chrono::hours(24));
  EXPECT_FALSE(gives());
  source->want_every({});
  EXPECT_TRUE(gives());
}

TEST(Masks, LeaveAJpegOfACameraAsVideo) {
  const auto jpeg = make_video_frame(bright(), PixelFormat::kMjpeg, ColorMatrix::kBt601, ColorRange::kFull);
  std::vector<std::byte> bytes;
  const FrameView painted =
      Masks({Area{.left = 0, .top = 0, .width = 0.5, .height = 1}}).painted(jpeg.view, bytes).value();
  EXPECT_TRUE(painted.format == PixelFormat::kYuv420 || painted.format == PixelFormat::kYuyv)
      << to_string(painted.format);
}

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
    EXPECT_EQ(row[159], std::byte{0});
    EXPECT_NE(row[200], std::byte{0});
  }
}

}  // namespace
}  // namespace kinglet::camera
