// SPDX-License-Identifier: Apache-2.0
// The corpus' trained classifiers through evaluate, before and after the passes, against what ONNX Runtime stored.
// One picture each: evaluate is slow on purpose. Limits are those of the corpus' own README.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/ops/op.h"
#include "engine/session/model.h"
#include "engine/session/optimize.h"
#include "tests/support/corpus.h"
#include "tests/support/npy.h"

namespace kinglet::engine {
namespace {

struct CorpusCase {
  const char* model;
  const char* inputs_of;  // whose stored input tensors it takes
  const char* picture;
  float limit;  // absolute, on probabilities
  bool input_is_its_own = true;
};

constexpr float kFloatLimit = 1e-4F;
constexpr float kQuantisedLimit = 0.1F;
constexpr CorpusCase kCases[] = {
    {"bird_mobilenetv2_fp32", "bird_mobilenetv2_fp32", "chickadee", kFloatLimit},
    {"bird_mobilenetv2_u8_qdq", "bird_mobilenetv2_fp32", "chickadee", kQuantisedLimit},
    {"imagenet_mobilenetv1_050_160_fp32", "imagenet_mobilenetv1_050_160_fp32", "chickadee", kFloatLimit},
    {"imagenet_mobilenetv2_s8_qdq", "bird_mobilenetv2_fp32", "chickadee", kQuantisedLimit, false},
    {"flowers_mobilenetv2_035_128_fp32_bn", "flowers_mobilenetv2_035_128_fp32_bn", "sunflower", kFloatLimit},
};

// Empty, with a failure, when there is no such file.
Tensor stored(const std::string& model, const std::string& name) {
  auto tensor = kinglet::testing::read_npy(kinglet::testing::corpus() / "reference" / model / (name + ".npy"));
  EXPECT_TRUE(tensor) << model << "/" << name;
  return tensor.value_or(Tensor(DataType::kF32, {0}));
}

// The int8 ImageNet model stores no inputs: its own recipe (127, 127.5) from the tensor of the bird model (128, 128).
Tensor input_of(const CorpusCase& given) {
  Tensor input = stored(given.inputs_of, std::string(given.picture) + ".input");
  if (!given.input_is_its_own) {
    for (float& x : input.mutable_data<float>()) x = (x * 128.0F + 1.0F) / 127.5F;
  }
  return input;
}

float second_largest(std::vector<float> values) {
  std::ranges::nth_element(values, values.begin() + 1, std::ranges::greater());
  return values.at(1);
}

void expect_close(const Tensor& got, const std::vector<float>& expected, float limit) {
  const std::vector<float> numbers = got.to_floats();
  ASSERT_EQ(numbers.size(), expected.size());
  float worst = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) worst = std::max(worst, std::abs(numbers[i] - expected[i]));
  EXPECT_LE(worst, limit);
  const float top = *std::ranges::max_element(expected);
  if (top - second_largest(expected) < 0.2F) return;
  EXPECT_EQ(std::ranges::max_element(numbers) - numbers.begin(), std::ranges::max_element(expected) - expected.begin());
}

class CorpusModels : public ::testing::TestWithParam<CorpusCase> {};

TEST_P(CorpusModels, AgreeWithTheStoredAnswersBeforeAndAfterThePasses) {
  KINGLET_NEEDS_CORPUS();
  const CorpusCase& given = GetParam();
  const auto folder = kinglet::testing::corpus();
  const auto file = open_model(folder / "models" / (std::string(given.model) + ".onnx"));
  ASSERT_TRUE(file) << describe(file.error());
  const std::vector<Tensor> inputs{input_of(given)};
  const std::vector<float> expected = stored(given.model, std::string(given.picture) + ".output").to_floats();

  const auto plain = evaluate_graph(file->graph, inputs);
  ASSERT_TRUE(plain) << describe(plain.error());
  expect_close(plain->at(0), expected, given.limit);

  const auto optimised = optimize_model(file->graph, {.prove = false});
  ASSERT_TRUE(optimised) << describe(optimised.error());
  const auto after = evaluate_graph(optimised->graph, inputs);
  ASSERT_TRUE(after) << describe(after.error());
  expect_close(after->at(0), expected, given.limit);
}

INSTANTIATE_TEST_SUITE_P(, CorpusModels, ::testing::ValuesIn(kCases),
                         [](const auto& chosen) { return std::string(chosen.param.model); });

}  // namespace
}  // namespace kinglet::engine
