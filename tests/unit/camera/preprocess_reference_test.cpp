// SPDX-License-Identifier: Apache-2.0
// Why: photographs of the corpus become exactly the tensors that ONNX Runtime was given there.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "camera/decode/decode.h"
#include "camera/preprocess/preprocess.h"
#include "tests/support/corpus.h"
#include "tests/support/pillow_oracle.h"

namespace kinglet::camera {
namespace {

// The float32 payload of an .npy file of version 1 (NumPy format: 10 bytes, then a header of the length they say).
std::vector<float> read_npy(const std::filesystem::path& path) {
  const auto bytes = kinglet::testing::read_bytes(path);
  if (bytes.size() < 10) return {};
  const std::size_t start = 10 + std::to_integer<std::size_t>(bytes[8]) + 256 * std::to_integer<std::size_t>(bytes[9]);
  std::vector<float> values((bytes.size() - start) / sizeof(float));
  std::memcpy(values.data(), bytes.data() + start, values.size() * sizeof(float));
  return values;
}

std::vector<float> tensor_of(const std::filesystem::path& photo, const engine::Recipe& recipe, int size) {
  const auto decoded =
      decode_image(kinglet::testing::read_bytes(photo), DecodeLimits{200'000'000, 65'535}, Upright::kApplyExif);
  if (!decoded) return {};
  std::vector<float> values(3 * static_cast<std::size_t>(size) * static_cast<std::size_t>(size));
  Preprocessor preprocessor(recipe, size, size);
  const engine::PictureInput tensor{.bytes = std::as_writable_bytes(std::span(values)),
                                    .width = size,
                                    .height = size,
                                    .layout = engine::TensorLayout::kNchw};
  return preprocessor.run(decoded->image.view(), std::nullopt, tensor) ? values : std::vector<float>{};
}

float largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size() || a.empty()) return 1e9F;
  float largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

TEST(PreprocessReference, MakesEveryStoredTensorFromItsPhotograph) {
  KINGLET_NEEDS_CORPUS();
  const auto root = kinglet::testing::corpus();
  std::ifstream file(root / "corpus.json");
  int compared = 0;
  const auto manifest = nlohmann::json::parse(file);
  for (const auto& model : manifest.at("models")) {
    const auto& settings = model.at("preprocess");
    engine::Recipe recipe;
    recipe.mean = settings.at("mean").get<std::array<double, 3>>();
    recipe.std = settings.at("std").get<std::array<double, 3>>();
    const std::string name = std::filesystem::path(model.at("file").get<std::string>()).stem();
    for (const std::string& photo : model.value("reference_photos", std::vector<std::string>{})) {
      const auto stem = std::filesystem::path(photo).stem().string();
      const auto stored = read_npy(root / "reference" / name / (stem + ".input.npy"));
      const auto made = tensor_of(root / photo, recipe, settings.at("size"));
      EXPECT_LE(largest_difference(made, stored), 1e-6F) << name << " " << photo;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 15);
}

TEST(PreprocessReference, TellsAWrongRecipe) {
  KINGLET_NEEDS_CORPUS();
  const auto root = kinglet::testing::corpus();
  const auto stored = read_npy(root / "reference/bird_mobilenetv2_fp32/chickadee.input.npy");
  engine::Recipe right;
  right.mean = right.std = {128, 128, 128};
  engine::Recipe exchanged = right;
  exchanged.color_order = engine::ColorOrder::kBgr;
  engine::Recipe plain = right;
  plain.antialias = false;
  EXPECT_GT(largest_difference(tensor_of(root / "photos/chickadee.png", exchanged, 224), stored), 0.1F);
  EXPECT_GT(largest_difference(tensor_of(root / "photos/chickadee.png", plain, 224), stored), 0.1F);
}

}  // namespace
}  // namespace kinglet::camera
