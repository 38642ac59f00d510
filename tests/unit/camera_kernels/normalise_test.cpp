// SPDX-License-Identifier: Apache-2.0
// Why: a row of planes, which some processors look up many pixels at a time, becomes what the same pixels side by side
// become one by one.
#include "camera/preprocess/normalise.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace kinglet::camera {
namespace {

using engine::DataType;
using engine::TensorLayout;

std::vector<std::byte> written(std::size_t width, DataType type, TensorLayout layout, const auto& write) {
  std::vector<std::byte> bytes(3 * width * engine::byte_size(type));
  engine::PictureInput tensor{
      .bytes = bytes, .type = type, .width = static_cast<int>(width), .height = 1, .layout = layout};
  tensor.quantization = {.scale = 0.0187, .zero_point = type == DataType::kI8 ? -14 : 114};
  engine::Recipe recipe;
  recipe.mean = {123.675, 116.28, 103.53};
  recipe.std = {58.395, 57.12, 57.375};
  recipe.color_order = width % 2 == 0 ? engine::ColorOrder::kBgr : engine::ColorOrder::kRgb;
  write(Normalise(recipe, tensor), tensor);
  return bytes;
}

TEST(Normalise, PlanesBecomeWhatPixelsBecome) {
  std::mt19937 random(1);
  for (std::size_t width = 1; width < 230; ++width) {
    std::vector<std::uint8_t> pixels(3 * width);
    for (std::uint8_t& byte : pixels) byte = static_cast<std::uint8_t>(random());
    std::array<std::vector<std::uint8_t>, 3> planes;
    for (std::size_t i = 0; i < pixels.size(); ++i) planes[i % 3].push_back(pixels[i]);
    for (const DataType type : {DataType::kI8, DataType::kU8, DataType::kF32}) {
      for (const TensorLayout layout : {TensorLayout::kNhwc, TensorLayout::kNchw}) {
        const auto from_planes = [&](const Normalise& normalise, const engine::PictureInput& tensor) {
          normalise.write_row<1>({planes[0].data(), planes[1].data(), planes[2].data()}, 0, tensor);
        };
        const auto from_pixels = [&](const Normalise& normalise, const engine::PictureInput& tensor) {
          normalise.write_row<3>({pixels.data(), pixels.data() + 1, pixels.data() + 2}, 0, tensor);
        };
        ASSERT_EQ(written(width, type, layout, from_planes), written(width, type, layout, from_pixels)) << width;
      }
    }
  }
}

}  // namespace
}  // namespace kinglet::camera
