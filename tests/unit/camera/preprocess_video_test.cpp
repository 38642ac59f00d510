// SPDX-License-Identifier: Apache-2.0
// Why: every video format gives what the exact way for stills gives, within what its coarser colour allows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "camera/decode/to_rgb.h"
#include "camera/preprocess/preprocess.h"
#include "tests/support/video_frames.h"

namespace kinglet::camera {
namespace {

using kinglet::testing::make_video_frame;
using kinglet::testing::VideoFrame;

// A scene with colour that changes slowly, as chroma of half size can carry it, and luma that does not.
Image make_scene(int width, int height) {
  return kinglet::testing::painted(width, height, [=](int x, int y) {
    const int light = (x / 7 + y / 5) % 2 == 0 ? 40 : 0;
    return std::array{30 + x * 150 / width + light, 180 - y * 130 / height + light,
                      60 + (x + y) * 100 / (width + height) + light};
  });
}

engine::Recipe plain_recipe() {
  engine::Recipe recipe;
  recipe.std = {1, 1, 1};
  return recipe;
}

// Output pixels as bytes.
std::vector<std::byte> run(const engine::Recipe& recipe, const FrameView& view, int width, int height,
                           const std::optional<CropRect>& crop = std::nullopt) {
  std::vector<std::byte> memory(3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  Preprocessor preprocessor(recipe, width, height);
  const auto used =
      preprocessor.run(view, crop, {.bytes = memory, .type = engine::DataType::kU8, .width = width, .height = height});
  EXPECT_TRUE(used) << describe(used.error());
  return memory;
}

struct VideoCase {
  PixelFormat format;
  ColorMatrix matrix;
  ColorRange range;
};

class PreprocessVideo : public ::testing::TestWithParam<VideoCase> {};

TEST_P(PreprocessVideo, AgreesWithTheStillOfTheSameScene) {
  const Image scene = make_scene(320, 240);
  const VideoFrame frame = make_video_frame(scene, GetParam().format, GetParam().matrix, GetParam().range);
  for (const auto& [width, height] : {std::pair(96, 96), {224, 224}, {50, 33}, {320, 240}}) {
    const auto still = run(plain_recipe(), scene.view(), width, height);
    const auto video = run(plain_recipe(), frame.view, width, height);
    EXPECT_LT(kinglet::testing::mean_difference(still, video), 1.5) << width << "x" << height;
    EXPECT_LT(kinglet::testing::largest_difference(still, video), 20) << width << "x" << height;
  }
}

// So much smaller that boxes come first, also where their last ones are cut.
TEST_P(PreprocessVideo, AgreesWithTheStillOfAMuchLargerScene) {
  const Image scene = make_scene(1278, 722);
  const VideoFrame frame = make_video_frame(scene, GetParam().format, GetParam().matrix, GetParam().range);
  for (const std::optional<CropRect>& crop : {std::optional<CropRect>(), {CropRect{201, 77, 901, 603}}}) {
    const auto still = run(plain_recipe(), scene.view(), 96, 96, crop);
    const auto video = run(plain_recipe(), frame.view, 96, 96, crop);
    EXPECT_LT(kinglet::testing::mean_difference(still, video), 1.5);
    EXPECT_LT(kinglet::testing::largest_difference(still, video), 12);
  }
}

// Many columns for an output and a row for each, which boxes do not serve: the filter is the still's.
TEST(PreprocessStrip, HasTheWholeFilter) {
  std::mt19937 random(5);
  std::uniform_int_distribution<int> level(0, 255);
  const Image scene = kinglet::testing::painted(960, 96, [&](int, int) {
    const int grey = level(random);
    return std::array{grey, grey, grey};
  });
  for (const PixelFormat format : {PixelFormat::kNv12, PixelFormat::kYuv420, PixelFormat::kYuyv}) {
    const VideoFrame frame = make_video_frame(scene, format, ColorMatrix::kBt601, ColorRange::kFull);
    const auto still = run(plain_recipe(), scene.view(), 96, 96);
    const auto video = run(plain_recipe(), frame.view, 96, 96);
    EXPECT_LT(kinglet::testing::mean_difference(still, video), 0.8) << to_string(format);
  }
}

// Single pixels are what a recipe without antialiasing means: none is put together with others.
TEST_P(PreprocessVideo, ShowsSinglePixelsOfALargeSceneWithoutAntialiasing) {
  if (GetParam().format == PixelFormat::kMjpeg) GTEST_SKIP() << "decodes to fewer pixels";
  const Image scene = make_scene(960, 720);
  const VideoFrame frame = make_video_frame(scene, GetParam().format, GetParam().matrix, GetParam().range);
  engine::Recipe recipe = plain_recipe();
  recipe.antialias = false;
  EXPECT_LT(kinglet::testing::mean_difference(run(recipe, scene.view(), 96, 96), run(recipe, frame.view, 96, 96)), 1.5);
}

TEST_P(PreprocessVideo, AgreesWithTheStillOfTheSameCrop) {
  const Image scene = make_scene(320, 240);
  const VideoFrame frame = make_video_frame(scene, GetParam().format, GetParam().matrix, GetParam().range);
  const CropRect crop{41, 27, 150, 101};
  const auto still = run(plain_recipe(), scene.view(), 64, 64, crop);
  const auto video = run(plain_recipe(), frame.view, 64, 64, crop);
  EXPECT_LT(kinglet::testing::mean_difference(still, video), 1.5);
}

TEST_P(PreprocessVideo, KeepsAFlatColour) {
  Image flat{64, 48, {}};
  for (int i = 0; i < 64 * 48; ++i) flat.rgb.insert(flat.rgb.end(), {std::byte{200}, std::byte{90}, std::byte{30}});
  const VideoFrame frame = make_video_frame(flat, GetParam().format, GetParam().matrix, GetParam().range);
  const auto video = run(plain_recipe(), frame.view, 31, 17);
  const auto still = run(plain_recipe(), flat.view(), 31, 17);
  EXPECT_LE(kinglet::testing::largest_difference(still, video), 3);
}

// What ONNX's QuantizeLinear makes of a float.
int quantised(float value, const engine::Quantization& steps, int lowest) {
  const float step = std::nearbyint(value / static_cast<float>(steps.scale)) + static_cast<float>(steps.zero_point);
  return static_cast<int>(std::clamp(step, static_cast<float>(lowest), static_cast<float>(lowest + 255)));
}

// Every byte is the float way's number, quantised.
void expect_quantised_floats(const FrameView& view, engine::DataType type, const engine::Quantization& steps,
                             engine::TensorLayout layout) {
  engine::Recipe recipe = engine::open_recipe("torchvision").value();
  recipe.color_order = engine::ColorOrder::kBgr;
  Preprocessor preprocessor(recipe, 56, 48);
  std::vector<float> floats(std::size_t{3} * 56 * 48);
  std::vector<std::byte> bytes(floats.size());
  engine::PictureInput input{
      .bytes = std::as_writable_bytes(std::span(floats)), .width = 56, .height = 48, .layout = layout};
  ASSERT_TRUE(preprocessor.run(view, std::nullopt, input));
  input.bytes = bytes;
  input.type = type;
  input.quantization = steps;
  ASSERT_TRUE(preprocessor.run(view, std::nullopt, input));
  const bool is_signed = type == engine::DataType::kI8;
  for (std::size_t i = 0; i < floats.size(); ++i) {
    const int found = is_signed ? static_cast<std::int8_t>(bytes[i]) : std::to_integer<int>(bytes[i]);
    ASSERT_EQ(found, quantised(floats[i], steps, is_signed ? -128 : 0)) << i << ": " << floats[i];
  }
}

TEST_P(PreprocessVideo, GivesIntegersThatAreTheFloatsQuantised) {
  const Image scene = make_scene(320, 240);
  const VideoFrame frame = make_video_frame(scene, GetParam().format, GetParam().matrix, GetParam().range);
  for (const auto layout : {engine::TensorLayout::kNhwc, engine::TensorLayout::kNchw}) {
    for (const FrameView& view : {frame.view, scene.view()}) {
      expect_quantised_floats(view, engine::DataType::kI8, {0.0186, -14}, layout);
      expect_quantised_floats(view, engine::DataType::kU8, {0.02, 114}, layout);
      expect_quantised_floats(view, engine::DataType::kI8, {0.004, 5}, layout);  // most pixels beyond the ends
    }
  }
}

TEST_P(PreprocessVideo, SnapshotShowsTheScene) {
  const Image scene = make_scene(320, 240);
  const VideoFrame frame = make_video_frame(scene, GetParam().format, GetParam().matrix, GetParam().range);
  const Image rgb = to_rgb(frame.view).value();
  EXPECT_EQ(rgb.width, 320);
  EXPECT_LT(kinglet::testing::mean_difference(rgb.rgb, scene.rgb), 2.0);
}

INSTANTIATE_TEST_SUITE_P(Formats, PreprocessVideo,
                         ::testing::Values(VideoCase{PixelFormat::kNv12, ColorMatrix::kBt601, ColorRange::kFull},
                                           VideoCase{PixelFormat::kNv12, ColorMatrix::kBt709, ColorRange::kLimited},
                                           VideoCase{PixelFormat::kYuv420, ColorMatrix::kBt601, ColorRange::kLimited},
                                           VideoCase{PixelFormat::kYuv420, ColorMatrix::kBt709, ColorRange::kFull},
                                           VideoCase{PixelFormat::kYuyv, ColorMatrix::kBt601, ColorRange::kLimited},
                                           VideoCase{PixelFormat::kYuyv, ColorMatrix::kBt709, ColorRange::kFull},
                                           VideoCase{PixelFormat::kMjpeg, ColorMatrix::kBt601, ColorRange::kFull}),
                         [](const auto& test) {
                           return std::string(to_string(test.param.format)) +
                                  (test.param.matrix == ColorMatrix::kBt601 ? "Bt601" : "Bt709") +
                                  (test.param.range == ColorRange::kFull ? "Full" : "Limited");
                         });

// Between what is made of a picture and of its JPEG.
double jpeg_difference(int width, int height) {
  const Image scene = make_scene(width, height);
  const VideoFrame frame = make_video_frame(scene, PixelFormat::kMjpeg, ColorMatrix::kBt601, ColorRange::kFull);
  return kinglet::testing::mean_difference(run(plain_recipe(), scene.view(), 96, 96),
                                           run(plain_recipe(), frame.view, 96, 96));
}

TEST(PreprocessMjpeg, ReducesLargeFramesWhileDecodingThem) { EXPECT_LT(jpeg_difference(1280, 720), 2.0); }

TEST(PreprocessMjpeg, KeepsColoursWhenAHalfIsEnough) { EXPECT_LT(jpeg_difference(320, 270), 2.0); }

TEST(PreprocessMjpeg, TakesOddSizes) { EXPECT_LT(jpeg_difference(323, 241), 2.0); }

Error error_of(const FrameView& view) {
  std::vector<std::byte> memory(3 * 32 * 32);
  Preprocessor preprocessor(plain_recipe(), 32, 32);
  const auto used =
      preprocessor.run(view, std::nullopt, {.bytes = memory, .type = engine::DataType::kU8, .width = 32, .height = 32});
  return used ? Error{} : used.error();
}

TEST(PreprocessMjpeg, RefusesAFrameOfAnotherSizeThanPromised) {
  VideoFrame frame = make_video_frame(make_scene(64, 48), PixelFormat::kMjpeg, ColorMatrix::kBt601, ColorRange::kFull);
  frame.view.width = 640;
  EXPECT_EQ(error_of(frame.view).message, "MJPEG frame of 64x48 pixels, the camera promised 640x48");
}

TEST(PreprocessMjpeg, RefusesATruncatedFrame) {
  VideoFrame frame = make_video_frame(make_scene(64, 48), PixelFormat::kMjpeg, ColorMatrix::kBt601, ColorRange::kFull);
  frame.view.planes[0].bytes = frame.view.planes[0].bytes.first(frame.memory.size() * 6 / 10);
  EXPECT_THAT(error_of(frame.view).message, ::testing::StartsWith("MJPEG frame is damaged"));
  frame.view.planes[0].bytes = frame.view.planes[0].bytes.first(20);
  EXPECT_THAT(error_of(frame.view).message, ::testing::StartsWith("MJPEG frame is not a JPEG"));
}

TEST(PreprocessHostileView, IsRefusedWhenPlanesAreTooShort) {
  for (const PixelFormat format : {PixelFormat::kNv12, PixelFormat::kYuv420, PixelFormat::kYuyv}) {
    const VideoFrame whole = make_video_frame(make_scene(64, 48), format, ColorMatrix::kBt601, ColorRange::kFull);
    for (std::size_t plane = 0; plane < static_cast<std::size_t>(whole.view.plane_count); ++plane) {
      FrameView view = whole.view;
      view.planes[plane].bytes = view.planes[plane].bytes.first(view.planes[plane].bytes.size() - 33);
      EXPECT_EQ(error_of(view).code, ErrorCode::kBadData) << to_string(format) << " plane " << plane;
      view = whole.view;
      view.planes[plane].stride = 1;
      EXPECT_EQ(error_of(view).code, ErrorCode::kBadData) << to_string(format) << " plane " << plane;
      view.planes[plane].stride = SIZE_MAX;
      EXPECT_EQ(error_of(view).code, ErrorCode::kBadData) << to_string(format) << " plane " << plane;
    }
  }
}

// Numbers drawn by lot, as broken metadata would have them: an error or a good answer, never a read outside (the
// address sanitizer watches).
TEST(PreprocessHostileView, IsNeverReadOutsideItsPlanes) {
  std::mt19937 dice(20240501);
  const auto pick = [&](auto... values) {
    const std::array options{static_cast<long>(values)...};
    return options[dice() % options.size()];
  };
  int good = 0;
  for (int round = 0; round < 3000; ++round) {
    FrameView view;
    view.format = static_cast<PixelFormat>(dice() % 4);
    view.width = static_cast<int>(pick(-1, 0, 1, 2, 3, 16, 17, 64, 65'535, 65'536, 2'147'483'647));
    view.height = static_cast<int>(pick(-5, 0, 1, 2, 9, 16, 48, 65'535));
    view.plane_count = static_cast<int>(pick(0, 1, 2, 3, 3, 3));
    std::vector<std::vector<std::byte>> memory;  // each plane an allocation of its own, so that a step over is seen
    for (Plane& plane : view.planes) {
      memory.emplace_back(static_cast<std::size_t>(pick(0, 1, 16, 255, 512, 3072, 4096, 9216)), std::byte{7});
      plane = {memory.back(), static_cast<std::size_t>(pick(0, 1, 8, 16, 17, 48, 64, 128, 192, 1 << 20))};
    }
    good += error_of(view).message.empty() ? 1 : 0;
  }
  EXPECT_GT(good, 20);
}

}  // namespace
}  // namespace kinglet::camera
