// SPDX-License-Identifier: Apache-2.0
#include "engine/recipe/scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kinglet::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;

std::vector<float> scores(std::vector<float> outputs, Meaning meaning) {
  EXPECT_TRUE(to_scores(outputs, meaning, outputs));
  return outputs;
}

TEST(ToScores, SoftMaxOfLogitsAddsUpToOne) {
  EXPECT_THAT(scores({0, 1, 2}, Meaning::kLogits),
              ElementsAre(FloatNear(0.09003F, 1e-5F), FloatNear(0.24473F, 1e-5F), FloatNear(0.66524F, 1e-5F)));
}

TEST(ToScores, LargeLogitsDoNotOverflow) { EXPECT_THAT(scores({1000, 0}, Meaning::kLogits), ElementsAre(1, 0)); }

TEST(ToScores, ProbabilitiesAndIndependentScoresStayAsTheyAre) {
  for (const Meaning meaning : {Meaning::kProbabilities, Meaning::kIndependent, Meaning::kTopK}) {
    EXPECT_THAT(scores({0.9F, 0.8F}, meaning), ElementsAre(0.9F, 0.8F));
    EXPECT_THAT(scores({0.3F}, meaning), ElementsAre(0.3F));
  }
}

TEST(ToScores, LogitsThatLookLikeProbabilitiesAreLogits) {
  EXPECT_THAT(scores({0.5F, 0.5F, 0}, Meaning::kLogits),
              ElementsAre(FloatNear(0.38365F, 1e-5F), FloatNear(0.38365F, 1e-5F), FloatNear(0.23270F, 1e-5F)));
}

TEST(ToScores, EveryMeaningHasItsName) {
  for (const Meaning meaning : {Meaning::kProbabilities, Meaning::kLogits, Meaning::kIndependent, Meaning::kTopK}) {
    EXPECT_EQ(meaning_of(to_string(meaning)), meaning);
  }
  EXPECT_EQ(meaning_of("auto"), std::nullopt);
}

TEST(ToScores, TemperatureDoesTheSameToLogitsAndToProbabilities) {
  std::vector<float> logits{0, 1, 2};
  std::vector<float> plain = scores(logits, Meaning::kLogits);
  ASSERT_TRUE(to_scores(logits, Meaning::kLogits, logits, 2));
  EXPECT_THAT(logits, ElementsAre(FloatNear(0.18632F, 1e-5F), FloatNear(0.30720F, 1e-5F), FloatNear(0.50648F, 1e-5F)));
  ASSERT_TRUE(to_scores(plain, Meaning::kProbabilities, plain, 2));
  EXPECT_THAT(plain,
              ElementsAre(FloatNear(logits[0], 1e-6F), FloatNear(logits[1], 1e-6F), FloatNear(logits[2], 1e-6F)));
}

TEST(ToScores, AnOutputThatIsNotANumberIsAnError) {
  std::vector<float> outputs{0.1F, std::numeric_limits<float>::quiet_NaN()};
  const Result<void> result = to_scores(outputs, Meaning::kProbabilities, outputs);
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
