// SPDX-License-Identifier: Apache-2.0
#include "engine/quantize/judge.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kinglet::engine {
namespace {

const Answers kBefore{{0.6F, 0.4F}, {0.9F, 0.1F}};
const Answers kOneChanged{{0.45F, 0.55F}, {0.9F, 0.1F}};

TEST(Judge, ExpectsTheLossThatTheProbabilitiesBeforeSay) {
  const Judgement found = *judge(kBefore, kOneChanged, {}, "probabilities");
  EXPECT_NEAR(found.expected_drop_percent, 10, 1e-4);  // 20 points of one picture, none of the other
  EXPECT_NEAR(found.expected_drop_error_percent, 10 / std::sqrt(2), 1e-4);  // 10 is also their standard deviation
}

TEST(Judge, ExpectsNoLossWhereNoAnswerChanged) {
  const Judgement found = *judge(kBefore, kBefore, {}, "probabilities");
  EXPECT_EQ(found.expected_drop_percent, 0);
  EXPECT_EQ(found.expected_drop_error_percent, 0);
  EXPECT_EQ(found.judged_drop_percent(), 0);
}

TEST(Judge, AnAnswerThatIsRightByChanceDoesNotHideTheLoss) {
  const Judgement found = *judge(kBefore, kOneChanged, {1, 0}, "probabilities");
  EXPECT_EQ(found.drop_percent(), -50);
  EXPECT_NEAR(found.judged_drop_percent(), 10 + 10 / std::sqrt(2), 1e-4);
}

TEST(Judge, CountsChangedAnswersWhereLabelsAreNotKnown) {
  EXPECT_EQ(judge(kBefore, kOneChanged, {}, "probabilities")->judged_drop_percent(), 50);
}

}  // namespace
}  // namespace kinglet::engine
