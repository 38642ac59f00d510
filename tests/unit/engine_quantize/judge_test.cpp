// SPDX-License-Identifier: Apache-2.0
#include "engine/quantize/judge.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kinglet::engine {
namespace {

const Answers kBefore{{0.6F, 0.4F}, {0.9F, 0.1F}};
const Answers kOneChanged{{0.45F, 0.55F}, {0.9F, 0.1F}};

Judgement judged(const Answers& before, const Answers& after, const std::vector<std::optional<std::size_t>>& labels) {
  return *judge(before, Meaning::kProbabilities, after, Meaning::kProbabilities, labels);
}

TEST(Judge, ExpectsTheLossThatTheProbabilitiesBeforeSay) {
  const Judgement found = judged(kBefore, kOneChanged, {});
  EXPECT_NEAR(found.expected_drop_percent, 10, 1e-4);  // 20 points of one picture, none of the other
  EXPECT_NEAR(found.expected_drop_error_percent, 10 / std::sqrt(2), 1e-4);  // 10 is also their standard deviation
}

TEST(Judge, ExpectsNoLossWhereNoAnswerChanged) {
  const Judgement found = judged(kBefore, kBefore, {});
  EXPECT_EQ(found.expected_drop_percent, 0);
  EXPECT_EQ(found.expected_drop_error_percent, 0);
  EXPECT_EQ(found.judged_drop_percent(), 0);
}

TEST(Judge, AnAnswerThatIsRightByChanceDoesNotHideTheLoss) {
  const Judgement found = judged(kBefore, kOneChanged, {1, 0});
  EXPECT_EQ(found.drop_percent(), -50);
  EXPECT_NEAR(found.judged_drop_percent(), 10 + 10 / std::sqrt(2), 1e-4);
}

TEST(Judge, CountsChangedAnswersWhereLabelsAreNotKnown) {
  EXPECT_EQ(judged(kBefore, kOneChanged, {}).judged_drop_percent(), 50);
}

TEST(Judge, ComparesScoresWhateverTheOutputsOfEitherModelMean) {
  const Answers logits{{std::log(0.6F), std::log(0.4F)}, {std::log(0.9F), std::log(0.1F)}};
  const Judgement found = *judge(kBefore, Meaning::kProbabilities, logits, Meaning::kLogits, {});
  EXPECT_LT(found.max_score_error, 1e-6);
}

TEST(Judge, TakesIndependentScoresAsTheyAre) {
  const Judgement found = *judge({{0.9F, 0.8F}}, Meaning::kIndependent, {{0.5F, 0.8F}}, Meaning::kIndependent, {});
  EXPECT_NEAR(found.max_score_error, 0.4, 1e-6);
}

}  // namespace
}  // namespace kinglet::engine
