// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/preprocess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/pictures.h"

namespace kinglet::camera {
namespace {

using engine::DataType;
using engine::Recipe;
using engine::TensorLayout;
using kinglet::testing::make_picture;

// A tensor with its memory.
struct Tensor {
  Tensor(int width, int height, DataType type = DataType::kF32, TensorLayout layout = TensorLayout::kNhwc)
      : memory(3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * engine::byte_size(type)),
        input{.bytes = memory, .type = type, .width = width, .height = height, .layout = layout} {}
  [[nodiscard]] std::vector<float> floats() const {
    std::vector<float> values(memory.size() / sizeof(float));
    std::memcpy(values.data(), memory.data(), memory.size());
    return values;
  }
  std::vector<std::byte> memory;
  engine::PictureInput input;
};

Image one_pixel(int red, int green, int blue) {
  return {1, 1, {static_cast<std::byte>(red), static_cast<std::byte>(green), static_cast<std::byte>(blue)}};
}

std::vector<float> run_floats(const Recipe& recipe, const FrameView& frame, int size, TensorLayout layout) {
  Tensor tensor(size, size, DataType::kF32, layout);
  Preprocessor preprocessor(recipe, size, size);
  EXPECT_TRUE(preprocessor.run(frame, std::nullopt, tensor.input));
  return tensor.floats();
}

TEST(Preprocessor, SubtractsTheMeanAndDividesByTheDeviationOfEachChannel) {
  Recipe recipe;
  recipe.mean = {10, 20, 30};
  recipe.std = {2, 4, 5};
  EXPECT_THAT(run_floats(recipe, one_pixel(20, 40, 80).view(), 1, TensorLayout::kNhwc),
              ::testing::ElementsAre(5, 5, 10));
}

TEST(Preprocessor, GivesBlueFirstWhenTheRecipeSaysBgrWithMeansInThatOrder) {
  Recipe recipe;
  recipe.color_order = engine::ColorOrder::kBgr;
  recipe.mean = {1, 2, 3};
  recipe.std = {1, 1, 1};
  EXPECT_THAT(run_floats(recipe, one_pixel(20, 40, 80).view(), 1, TensorLayout::kNhwc),
              ::testing::ElementsAre(79, 38, 17));
}

TEST(Preprocessor, GivesTheSameNumbersInBothLayouts) {
  const Image picture = make_picture(30, 20);
  const auto nhwc = run_floats(Recipe{}, picture.view(), 8, TensorLayout::kNhwc);
  const auto nchw = run_floats(Recipe{}, picture.view(), 8, TensorLayout::kNchw);
  for (std::size_t pixel = 0; pixel < 64; ++pixel) {
    for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(nhwc[3 * pixel + c], nchw[64 * c + pixel]);
  }
}

TEST(Preprocessor, QuantisesToUnsignedBytes) {
  Tensor tensor(1, 1, DataType::kU8);
  tensor.input.quantization = {0.5, 100};
  Recipe recipe;
  recipe.std = {1, 1, 1};
  recipe.mean = {0, 100, 0};
  Preprocessor preprocessor(recipe, 1, 1);
  ASSERT_TRUE(preprocessor.run(one_pixel(10, 0, 200).view(), std::nullopt, tensor.input));
  // 10 / 0.5 + 100; -100 / 0.5 + 100 is below 0; 200 / 0.5 + 100 is above 255.
  EXPECT_THAT(tensor.memory, ::testing::ElementsAre(std::byte{120}, std::byte{0}, std::byte{255}));
}

TEST(Preprocessor, QuantisesToSignedBytesWithHalvesToEven) {
  Tensor tensor(1, 1, DataType::kI8);
  tensor.input.quantization = {2, -128};
  Recipe recipe;
  recipe.std = {1, 1, 1};
  Preprocessor preprocessor(recipe, 1, 1);
  ASSERT_TRUE(preprocessor.run(one_pixel(5, 7, 255).view(), std::nullopt, tensor.input));
  EXPECT_EQ(static_cast<std::int8_t>(tensor.memory[0]), 2 - 128);
  EXPECT_EQ(static_cast<std::int8_t>(tensor.memory[1]), 4 - 128);
  EXPECT_EQ(static_cast<std::int8_t>(tensor.memory[2]), 128 - 128);
}

TEST(Preprocessor, TakesTheGivenCropAndSaysSo) {
  const Image picture = make_picture(60, 40);
  Tensor tensor(8, 8);
  Recipe recipe;
  recipe.std = {1, 1, 1};
  Preprocessor preprocessor(recipe, 8, 8);
  const CropRect crop{10, 5, 16, 24};
  const CropRect used = preprocessor.run(picture.view(), crop, tensor.input).value();
  EXPECT_EQ(used.x, 10);
  EXPECT_EQ(used.height, 24);
  const Image wanted = resize_like_pillow(picture.view(), crop, 8, 8, engine::Interpolation::kBilinear).value();
  const auto floats = tensor.floats();
  for (std::size_t i = 0; i < floats.size(); ++i)
    EXPECT_EQ(floats[i], static_cast<float>(std::to_integer<int>(wanted.rgb[i])));
}

TEST(Preprocessor, CutsTheMiddleOfTheResizedPictureForCenterCrop) {
  // torchvision: Resize(8) of 60x40 makes 12x8; CenterCrop(6) takes columns 3 to 8 and rows 1 to 6.
  const Image picture = make_picture(60, 40);
  Recipe recipe;
  recipe.resize_mode = engine::ResizeMode::kCenterCrop;
  recipe.crop_ratio = 0.75;
  recipe.std = {1, 1, 1};
  Tensor tensor(6, 6);
  Preprocessor preprocessor(recipe, 6, 6);
  const CropRect used = preprocessor.run(picture.view(), std::nullopt, tensor.input).value();
  EXPECT_EQ(used.x, 15);
  EXPECT_EQ(used.y, 5);
  EXPECT_EQ(used.width, 30);
  EXPECT_EQ(used.height, 30);
  const Image whole =
      resize_like_pillow(picture.view(), {0, 0, 60, 40}, 12, 8, engine::Interpolation::kBilinear).value();
  const auto floats = tensor.floats();
  for (std::size_t y = 0; y < 6; ++y) {
    for (std::size_t i = 0; i < 18; ++i) {
      EXPECT_EQ(floats[18 * y + i], static_cast<float>(std::to_integer<int>(whole.rgb[36 * (y + 1) + 9 + i])));
    }
  }
}

TEST(Preprocessor, FollowsAFrameThatChangesItsSizeOrCrop) {
  Recipe recipe;
  Preprocessor preprocessor(recipe, 8, 8);
  Tensor tensor(8, 8);
  const Image large = make_picture(60, 40);
  const Image small = make_picture(20, 30, 2);
  ASSERT_TRUE(preprocessor.run(large.view(), std::nullopt, tensor.input));
  ASSERT_TRUE(preprocessor.run(small.view(), std::nullopt, tensor.input));
  EXPECT_EQ(tensor.floats(), run_floats(recipe, small.view(), 8, TensorLayout::kNhwc));
  ASSERT_TRUE(preprocessor.run(small.view(), CropRect{1, 2, 3, 4}, tensor.input));
  ASSERT_TRUE(preprocessor.run(small.view(), std::nullopt, tensor.input));
  EXPECT_EQ(tensor.floats(), run_floats(recipe, small.view(), 8, TensorLayout::kNhwc));
}

TEST(Preprocessor, RefusesACropOutsideTheFrame) {
  const Image picture = make_picture(60, 40);
  Preprocessor preprocessor(Recipe{}, 8, 8);
  Tensor tensor(8, 8);
  for (const CropRect crop : {CropRect{}, {0, 0, 61, 40}, {-1, 0, 4, 4}, {59, 39, 2, 1}, {1 << 30, 0, 1 << 30, 1}}) {
    EXPECT_EQ(preprocessor.run(picture.view(), crop, tensor.input).error().code, ErrorCode::kBadData);
  }
}

TEST(Preprocessor, RefusesATensorOfAnotherSizeOrType) {
  const Image picture = make_picture(60, 40);
  Preprocessor preprocessor(Recipe{}, 8, 8);
  Tensor small(4, 8);
  EXPECT_FALSE(preprocessor.run(picture.view(), std::nullopt, small.input));
  Tensor short_memory(8, 8);
  short_memory.input.bytes = short_memory.input.bytes.first(8);
  EXPECT_FALSE(preprocessor.run(picture.view(), std::nullopt, short_memory.input));
  Tensor wrong_type(8, 8, DataType::kI64);
  EXPECT_FALSE(preprocessor.run(picture.view(), std::nullopt, wrong_type.input));
  Tensor no_scale(8, 8, DataType::kU8);
  no_scale.input.quantization.scale = 0;
  EXPECT_FALSE(preprocessor.run(picture.view(), std::nullopt, no_scale.input));
}

}  // namespace
}  // namespace kinglet::camera
