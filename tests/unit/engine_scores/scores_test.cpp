// SPDX-License-Identifier: Apache-2.0
#include "engine/scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kinglet::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;

std::vector<float> probabilities(std::vector<float> outputs, std::string_view kind) {
  EXPECT_TRUE(to_probabilities(outputs, kind, outputs));
  return outputs;
}

TEST(ToProbabilities, SoftMaxOfLogitsAddsUpToOne) {
  EXPECT_THAT(probabilities({0, 1, 2}, "logits"),
              ElementsAre(FloatNear(0.09003F, 1e-5F), FloatNear(0.24473F, 1e-5F), FloatNear(0.66524F, 1e-5F)));
}

TEST(ToProbabilities, LargeLogitsDoNotOverflow) { EXPECT_THAT(probabilities({1000, 0}, "logits"), ElementsAre(1, 0)); }

TEST(ToProbabilities, AutoLeavesRoundedEightBitProbabilitiesAlone) {
  EXPECT_THAT(probabilities({0.5F, 0.375F, 0.0625F}, "auto"), ElementsAre(0.5F, 0.375F, 0.0625F));
}

TEST(ToProbabilities, AutoSeesLogitsByTheirSum) {
  EXPECT_THAT(probabilities({0.9F, 0.9F}, "auto"), ElementsAre(0.5F, 0.5F));
}

TEST(ToProbabilities, AutoSeesLogitsByTheirSign) {
  EXPECT_THAT(probabilities({1.5F, -0.5F}, "auto"), ElementsAre(FloatNear(0.8808F, 1e-4F), FloatNear(0.1192F, 1e-4F)));
}

TEST(ToProbabilities, TemperatureDoesTheSameToLogitsAndToProbabilities) {
  std::vector<float> logits{0, 1, 2};
  std::vector<float> plain = probabilities(logits, "logits");
  ASSERT_TRUE(to_probabilities(logits, "logits", logits, 2));
  EXPECT_THAT(logits, ElementsAre(FloatNear(0.18632F, 1e-5F), FloatNear(0.30720F, 1e-5F), FloatNear(0.50648F, 1e-5F)));
  ASSERT_TRUE(to_probabilities(plain, "probabilities", plain, 2));
  EXPECT_THAT(plain,
              ElementsAre(FloatNear(logits[0], 1e-6F), FloatNear(logits[1], 1e-6F), FloatNear(logits[2], 1e-6F)));
}

TEST(ToProbabilities, AnOutputThatIsNotANumberIsAnError) {
  std::vector<float> outputs{0.1F, std::numeric_limits<float>::quiet_NaN()};
  const Result<void> result = to_probabilities(outputs, "probabilities", outputs);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "the model's answer for class 1 is nan");
}

TEST(ReadOutputs, Takes8BitStepsWithTheirScaleAndZeroPoint) {
  const std::vector<std::byte> bytes{std::byte{0}, std::byte{130}, std::byte{255}};
  std::vector<float> outputs(3);
  read_outputs(bytes, DataType::kU8, Quantization{0.5, 130}, outputs);
  EXPECT_THAT(outputs, ElementsAre(-65, 0, 62.5F));
  read_outputs(bytes, DataType::kI8, Quantization{0.5, -1}, outputs);
  EXPECT_THAT(outputs, ElementsAre(0.5F, -62.5F, 0));
}

TEST(ReadOutputs, TakesStepsThatNobodyExplainsAsZeroToOne) {
  std::vector<float> outputs(2);
  read_outputs(std::vector{std::byte{0}, std::byte{255}}, DataType::kU8, std::nullopt, outputs);
  EXPECT_THAT(outputs, ElementsAre(0, 1));
  read_outputs(std::vector{std::byte{128}, std::byte{127}}, DataType::kI8, std::nullopt, outputs);
  EXPECT_THAT(outputs, ElementsAre(0, 1));
}

TEST(TopK, GivesTheBestInFallingOrder) {
  const std::vector<float> scores{0.1F, 0.5F, 0.2F, 0.9F};
  EXPECT_THAT(top_k(scores, 2), ElementsAre(Score{3, 0.9F}, Score{1, 0.5F}));
}

TEST(TopK, EqualScoresComeInOrderOfClass) {
  const std::vector<float> scores{0.5F, 0.5F, 0.5F};
  EXPECT_THAT(top_k(scores, 2), ElementsAre(Score{0, 0.5F}, Score{1, 0.5F}));
}

TEST(TopK, GivesNoMoreThanThereAre) {
  EXPECT_EQ(top_k(std::vector<float>{0.5F}, 5).size(), 1u);
  EXPECT_TRUE(top_k(std::vector<float>{0.5F}, 0).empty());
}

}  // namespace
}  // namespace kinglet::engine
