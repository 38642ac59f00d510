// SPDX-License-Identifier: Apache-2.0
// Why: each preset gives the numbers that its library's own arithmetic gives, and looks at the same part of the
// picture.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "camera/preprocess/preprocess.h"
#include "tests/support/pictures.h"

namespace kinglet::camera {
namespace {

using engine::Interpolation;
using kinglet::testing::make_picture;

engine::Recipe preset(std::string_view name) { return engine::open_recipe(std::string(name)).value(); }

// The tensor in floats, [H,W,C].
std::vector<float> prepared(const engine::Recipe& recipe, const FrameView& frame, int size) {
  std::vector<float> values(3 * static_cast<std::size_t>(size) * static_cast<std::size_t>(size));
  Preprocessor preprocessor(recipe, size, size);
  const auto used = preprocessor.run(
      frame, std::nullopt, {.bytes = std::as_writable_bytes(std::span(values)), .width = size, .height = size});
  EXPECT_TRUE(used) << describe(used.error());
  return values;
}

// What the library makes of one pixel, channels as its tensor has them.
using Arithmetic = std::function<std::array<double, 3>(double red, double green, double blue)>;

Arithmetic normalised(std::array<double, 3> mean, std::array<double, 3> std) {
  return [=](double red, double green, double blue) {
    return std::array{(red / 255 - mean[0]) / std[0], (green / 255 - mean[1]) / std[1],
                      (blue / 255 - mean[2]) / std[2]};
  };
}

std::array<double, 3> minus_one_to_one(double red, double green, double blue) {
  return {red / 127.5 - 1, green / 127.5 - 1, blue / 127.5 - 1};
}

std::array<double, 3> nanodet(double red, double green, double blue) {
  return {(blue - 103.53) / 57.375, (green - 116.28) / 57.12, (red - 123.675) / 58.395};
}

struct Row {
  const char* name;
  Arithmetic arithmetic;
};

const std::array<double, 3> kImageNetMean{0.485, 0.456, 0.406};
const std::array<double, 3> kImageNetStd{0.229, 0.224, 0.225};

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows{
      {"torchvision", normalised(kImageNetMean, kImageNetStd)},
      {"torchvision-v2", normalised(kImageNetMean, kImageNetStd)},
      {"timm", normalised(kImageNetMean, kImageNetStd)},
      {"timm-vit", normalised({0.5, 0.5, 0.5}, {0.5, 0.5, 0.5})},
      {"clip", normalised({0.48145466, 0.4578275, 0.40821073}, {0.26862954, 0.26130258, 0.27577711})},
      {"birder", normalised({0.5191, 0.5306, 0.4877}, {0.2316, 0.2304, 0.2588})},
      {"ultralytics", normalised({0, 0, 0}, {1, 1, 1})},
      {"huggingface-vit", normalised({0.5, 0.5, 0.5}, {0.5, 0.5, 0.5})},
      {"keras-mobilenet", minus_one_to_one},
      {"keras-resnet",
       [](double red, double green, double blue) { return std::array{blue - 103.939, green - 116.779, red - 123.68}; }},
      {"keras-densenet", normalised(kImageNetMean, kImageNetStd)},
      {"keras-efficientnet", [](double red, double green, double blue) { return std::array{red, green, blue}; }},
      {"caffe", [](double red, double green, double blue) { return std::array{blue - 104, green - 117, red - 123}; }},
      {"tflite-float",
       [](double red, double green, double blue) {
         return std::array{(red - 127.5) / 127.5, (green - 127.5) / 127.5, (blue - 127.5) / 127.5};
       }},
      {"tflite-uint8", [](double red, double green, double blue) { return std::array{red, green, blue}; }},
      {"tflite-int8", [](double red, double green, double blue) { return std::array{red, green, blue}; }},
      {"yolox", [](double red, double green, double blue) { return std::array{blue, green, red}; }},
      {"nanodet", nanodet},
      {"nanodet-plus", nanodet},
      {"nms", normalised({0, 0, 0}, {1, 1, 1})},
  };
  return kRows;
}

TEST(Presets, EachHasItsArithmeticHere) {
  std::vector<std::string_view> tested;
  for (const Row& row : rows()) tested.emplace_back(row.name);
  std::vector<std::string_view> there;
  for (const engine::Preset& row : engine::recipe_presets()) there.push_back(row.name);
  EXPECT_EQ(tested, there);
}

TEST(Presets, GiveTheNumbersOfTheirLibrary) {
  const std::array<std::array<int, 3>, 4> colours{{{0, 0, 0}, {255, 255, 255}, {17, 130, 222}, {201, 99, 4}}};
  for (const Row& row : rows()) {
    for (const auto& [red, green, blue] : colours) {
      const Image pixel{1, 1, {std::byte(red), std::byte(green), std::byte(blue)}};
      engine::Recipe recipe = preset(row.name);
      recipe.resize_size = 0;  // the input here is one pixel
      recipe.crop_ratio = 1;
      const std::vector<float> got = prepared(recipe, pixel.view(), 1);
      const std::array<double, 3> wanted = row.arithmetic(red, green, blue);
      for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(got[c], wanted[c], 2e-5) << row.name << " channel " << c;
    }
  }
}

// Bytes of a quantised input for all 256 pixels.
std::vector<int> bytes_of(std::string_view name, engine::DataType type) {
  Image ramp{256, 1, {}};
  for (int i = 0; i < 256; ++i) ramp.rgb.insert(ramp.rgb.end(), 3, static_cast<std::byte>(i));
  const engine::Recipe recipe = preset(name);
  std::vector<std::byte> memory(std::size_t{3} * 256);
  Preprocessor preprocessor(recipe, 256, 1);
  EXPECT_TRUE(preprocessor.run(
      ramp.view(), std::nullopt,
      {.bytes = memory, .type = type, .width = 256, .height = 1, .quantization = *recipe.quantization}));
  std::vector<int> out;
  for (std::size_t i = 0; i < 256; ++i) {
    const std::byte byte = memory[3 * i];
    out.push_back(type == engine::DataType::kI8 ? static_cast<std::int8_t>(byte) : std::to_integer<int>(byte));
  }
  return out;
}

TEST(Presets, OfIntegerInputsTakePixelsAsTheyAre) {
  const std::vector<int> unsigned_bytes = bytes_of("tflite-uint8", engine::DataType::kU8);
  const std::vector<int> signed_bytes = bytes_of("tflite-int8", engine::DataType::kI8);
  for (int i = 0; i < 256; ++i) {
    EXPECT_EQ(unsigned_bytes[static_cast<std::size_t>(i)], i);
    EXPECT_EQ(signed_bytes[static_cast<std::size_t>(i)], i - 128);
  }
}

// What a library's resize makes of a picture of 400x300, and where it cuts its square.
struct Cut {
  const char* name;
  int size;     // of the input
  int resized;  // short side; 0: the whole picture to size x size
  Interpolation interpolation;
};

class PresetGeometry : public ::testing::TestWithParam<Cut> {};

TEST_P(PresetGeometry, LooksAtThePartThatItsLibraryLooksAt) {
  const Cut cut = GetParam();
  const Image picture = make_picture(400, 300);
  engine::Recipe recipe = preset(cut.name);
  recipe.color_order = engine::ColorOrder::kRgb;
  recipe.mean = {0, 0, 0};
  recipe.std = {1, 1, 1};
  const std::vector<float> got = prepared(recipe, picture.view(), cut.size);
  const int width = cut.resized > 0 ? cut.resized * 400 / 300 : cut.size;
  const int height = cut.resized > 0 ? cut.resized : cut.size;
  const Image whole = resize_like_pillow(picture.view(), {0, 0, 400, 300}, width, height, cut.interpolation).value();
  const int left = static_cast<int>(std::nearbyint((width - cut.size) / 2.0));
  const int top = static_cast<int>(std::nearbyint((height - cut.size) / 2.0));
  for (int y = 0; y < cut.size; ++y) {
    for (int i = 0; i < 3 * cut.size; ++i) {
      const auto from = static_cast<std::size_t>(3 * ((y + top) * width + left) + i);
      const auto to = static_cast<std::size_t>(3 * y * cut.size + i);
      ASSERT_EQ(got[to], static_cast<float>(std::to_integer<int>(whole.rgb[from]))) << cut.name << " row " << y;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Libraries, PresetGeometry,
                         ::testing::Values(Cut{"torchvision", 224, 256, Interpolation::kBilinear},     // Resize(256)
                                           Cut{"torchvision-v2", 224, 232, Interpolation::kBilinear},  // Resize(232)
                                           Cut{"timm", 224, 256, Interpolation::kBicubic},      // floor(224 / 0.875)
                                           Cut{"timm-vit", 224, 248, Interpolation::kBicubic},  // floor(224 / 0.9)
                                           Cut{"clip", 224, 224, Interpolation::kBicubic},      // Resize(224)
                                           Cut{"ultralytics", 224, 224, Interpolation::kBilinear},  // Resize(224)
                                           Cut{"caffe", 224, 256, Interpolation::kBilinear},
                                           Cut{"birder", 224, 0, Interpolation::kBicubic},
                                           Cut{"huggingface-vit", 224, 0, Interpolation::kBilinear},
                                           Cut{"tflite-float", 224, 0, Interpolation::kBilinear},
                                           Cut{"tflite-uint8", 224, 0, Interpolation::kBilinear}),
                         [](const auto& test) {
                           std::string name = test.param.name;
                           std::erase(name, '-');
                           return name;
                         });

// The picture in its proportions from the top left, as stretched to that size; the rest is padded.
TEST(Presets, OfYoloxKeepProportionsTopLeft) {
  const Image picture = make_picture(90, 60);
  const engine::Recipe recipe = preset("yolox");
  const std::vector<float> got = prepared(recipe, picture.view(), 32);
  engine::Recipe stretched = recipe;
  stretched.resize_mode = engine::ResizeMode::kStretch;
  std::vector<float> inside(std::size_t{3} * 32 * 21);  // int(60 * 32 / 90)
  Preprocessor preprocessor(stretched, 32, 21);
  ASSERT_TRUE(preprocessor.run(picture.view(), std::nullopt,
                               {.bytes = std::as_writable_bytes(std::span(inside)), .width = 32, .height = 21}));
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], i < inside.size() ? inside[i] : 114) << i;
}

// As [C,H,W], of a picture that is high.
TEST(Presets, OfYoloxPadToTheRightInEveryPlane) {
  const Image picture = make_picture(30, 60);
  std::vector<float> got(std::size_t{3} * 16 * 16);
  Preprocessor preprocessor(preset("yolox"), 16, 16);
  const auto used = preprocessor.run(picture.view(), std::nullopt,
                                     {.bytes = std::as_writable_bytes(std::span(got)),
                                      .width = 16,
                                      .height = 16,
                                      .layout = engine::TensorLayout::kNchw});
  ASSERT_TRUE(used) << describe(used.error());
  EXPECT_EQ(*used, (CropRect{0, 0, 30, 60}));
  const std::vector<float> rows = prepared(preset("yolox"), picture.view(), 16);
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t at = 0; at < 256; ++at) {
      ASSERT_EQ(got[c * 256 + at], rows[3 * at + c]) << c << " at " << at;
      ASSERT_TRUE(at % 16 < 8 || got[c * 256 + at] == 114.0F) << c << " at " << at;
    }
  }
}

// tf.image.resize, bilinear, antialias=False: between the two pixels around (x + 0.5) * scale - 0.5.
TEST(Presets, OfKerasResizeBetweenTwoPixels) {
  const Image picture = make_picture(90, 60);
  engine::Recipe recipe = preset("keras-efficientnet");
  const std::vector<float> got = prepared(recipe, picture.view(), 16);
  const auto pixel = [&](int x, int y, int c) {
    return std::to_integer<int>(picture.rgb[static_cast<std::size_t>(3 * (y * 90 + x) + c)]);
  };
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 16; ++x) {
      const double at_x = (x + 0.5) * 90 / 16 - 0.5;
      const double at_y = (y + 0.5) * 60 / 16 - 0.5;
      const int left = static_cast<int>(std::floor(at_x));
      const int top = static_cast<int>(std::floor(at_y));
      for (int c = 0; c < 3; ++c) {
        const double upper = std::lerp(pixel(left, top, c), pixel(left + 1, top, c), at_x - left);
        const double lower = std::lerp(pixel(left, top + 1, c), pixel(left + 1, top + 1, c), at_x - left);
        // Tensors of Keras hold fractions of a pixel, ours whole ones, rounded once an axis.
        EXPECT_NEAR(got[static_cast<std::size_t>(3 * (16 * y + x) + c)], std::lerp(upper, lower, at_y - top), 1.01);
      }
    }
  }
}

TEST(Presets, RefuseAResizeBelowTheInput) {
  const Image picture = make_picture(40, 30);
  Preprocessor preprocessor(preset("torchvision-v2"), 299, 299);
  std::vector<float> values(std::size_t{3} * 299 * 299);
  const auto used = preprocessor.run(picture.view(), std::nullopt,
                                     {.bytes = std::as_writable_bytes(std::span(values)), .width = 299, .height = 299});
  ASSERT_FALSE(used);
  EXPECT_EQ(used.error().message, "the recipe's resize_size 232 is less than the model's input 299x299");
}

}  // namespace
}  // namespace kinglet::camera
