// SPDX-License-Identifier: Apache-2.0
// Why: parts of a frame are what the model looks at where birds are small: they show the part and nothing beside it,
// and a dark one as if there were light.
#include <gtest/gtest.h>

#include "camera/preprocess/brightness.h"
#include "camera/preprocess/mjpeg_planes.h"
#include "camera/preprocess/preprocess.h"
#include "tests/support/video_frames.h"

namespace kinglet::camera {
namespace {

using kinglet::testing::make_video_frame;

constexpr int kSide = 64;
constexpr CropRect kPart{.x = 80, .y = 40, .width = 128, .height = 128};

// Colours around `level`, in squares, beside white that no part shows.
Image scene(int level) {
  Image image{320, 240, {}};
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const bool inside = x >= kPart.x && x < kPart.x + kPart.width && y >= kPart.y && y < kPart.y + kPart.height;
      const int light = (x / 16 + y / 16) % 2 == 0 ? level / 2 : -level / 2;
      for (const int tint : {level / 8, 0, -level / 8}) {
        image.rgb.push_back(static_cast<std::byte>(inside ? level + light + tint : 255));
      }
    }
  }
  return image;
}

std::vector<std::byte> shown(const FrameView& view, const CropRect& part = kPart) {
  engine::Recipe recipe;
  recipe.std = {1, 1, 1};
  std::vector<std::byte> memory(std::size_t{3} * kSide * kSide);
  Preprocessor preprocessor(recipe, kSide, kSide);
  MjpegPlanes decoder;
  const auto used = preprocessor.run_part(
      view, part, {}, {.bytes = memory, .type = engine::DataType::kU8, .width = kSide, .height = kSide}, decoder);
  EXPECT_TRUE(used) << describe(used.error());
  return memory;
}

int largest_difference(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  int largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(std::to_integer<int>(a[i]) - std::to_integer<int>(b[i])));
  }
  return largest;
}

class PreprocessPart : public ::testing::TestWithParam<std::pair<PixelFormat, ColorRange>> {
 protected:
  static std::vector<std::byte> shown_of(int level) {
    const auto [format, range] = GetParam();
    if (format == PixelFormat::kRgb888) return shown(scene(level).view());
    return shown(make_video_frame(scene(level), format, ColorMatrix::kBt601, range).view);
  }
};

TEST_P(PreprocessPart, OfADarkSceneIsShownAsInLight) {
  // A quarter of the light, shown four times as bright: what was half a level is two, of colours up to seven.
  EXPECT_LE(largest_difference(shown_of(28), shown_of(4 * 28)), 10);
}

TEST_P(PreprocessPart, OfABrightSceneIsLeftAsItIs) {
  EXPECT_GT(largest_difference(shown_of(76), shown_of(4 * 28)), 30);
}

// More than four pixels for one of the input along each axis, in whole blocks of a JPEG.
TEST_P(PreprocessPart, OfManyPixelsShowsNothingBesideIt) {
  constexpr CropRect kLarge{.x = 80, .y = 48, .width = 400, .height = 416};
  const auto [format, range] = GetParam();
  const auto beside = [&](int level) {
    const Image image = kinglet::testing::painted(640, 480, [=](int x, int y) {
      const bool inside = x >= kLarge.x && x < kLarge.x + kLarge.width && y >= kLarge.y && y < kLarge.y + kLarge.height;
      return inside ? std::array{x % 256, y % 256, (x * y) % 200} : std::array{level, level, level};
    });
    if (format == PixelFormat::kRgb888) return shown(image.view(), kLarge);
    return shown(make_video_frame(image, format, ColorMatrix::kBt601, range).view, kLarge);
  };
  EXPECT_EQ(beside(0), beside(255));
}

INSTANTIATE_TEST_SUITE_P(Formats, PreprocessPart,
                         ::testing::Values(std::pair(PixelFormat::kRgb888, ColorRange::kFull),
                                           std::pair(PixelFormat::kNv12, ColorRange::kLimited),
                                           std::pair(PixelFormat::kYuv420, ColorRange::kFull),
                                           std::pair(PixelFormat::kYuyv, ColorRange::kLimited),
                                           std::pair(PixelFormat::kMjpeg, ColorRange::kFull)));

TEST(Brightness, TheDarkerThePartTheBrighterItIsShown) {
  std::vector<double> gains;
  for (const double level : {255, 118, 70, 69, 40, 20, 0}) gains.push_back(kGains.at(gain_for(level)));
  EXPECT_EQ(gains, (std::vector<double>{1, 1, 1, 1.5, 2.5, 5, 5}));
}

}  // namespace
}  // namespace kinglet::camera
