// SPDX-License-Identifier: Apache-2.0
#include "daemon/predict.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace kinglet::daemon {
namespace {

const engine::Labels& labels() {
  static const engine::Labels kLabels =
      engine::Labels::parse("Parus major (Great Tit)\nErithacus rubecula (European Robin)\nbackground\n", "test")
          .value();
  return kLabels;
}

Answer answer(std::vector<float> scores, std::size_t top_k = 3) {
  return predict(scores, labels(), DecideRule{}, top_k);
}

TEST(Predict, AcceptsAClearBest) {
  const Answer result = answer({0.9F, 0.08F, 0.02F});
  EXPECT_EQ(result.outcome, Outcome::kAccepted);
  ASSERT_EQ(result.count, 3U);
  EXPECT_EQ(result.top()[0].index, 0U);
  EXPECT_FLOAT_EQ(result.top()[1].score, 0.08F);
}

TEST(Predict, AbstainsBelowTheThreshold) { EXPECT_EQ(answer({0.59F, 0.21F, 0.2F}).outcome, Outcome::kBelowThreshold); }

TEST(Predict, AbstainsWhenTwoAreNearEachOther) {
  const Answer result = predict(std::vector<float>{0.50F, 0.40F, 0.10F}, labels(), {.min_score = 0.4}, 3);
  EXPECT_EQ(result.outcome, Outcome::kAmbiguous);
}

TEST(Predict, LooksAtTheSecondAlsoWhenOnlyOneIsWanted) {
  const Answer result = predict(std::vector<float>{0.50F, 0.40F, 0.10F}, labels(), {.min_score = 0.4}, 1);
  EXPECT_EQ(result.outcome, Outcome::kAmbiguous);
  EXPECT_EQ(result.count, 1U);
}

TEST(Predict, CallsTheBackgroundBackgroundWhateverItsScore) {
  EXPECT_EQ(answer({0.3F, 0.3F, 0.4F}).outcome, Outcome::kBackground);
}

TEST(Predict, GivesNoNamesForNumbersThatAreNone) {
  const Answer result = answer({0.9F, std::numeric_limits<float>::quiet_NaN(), 0.0F});
  EXPECT_EQ(result.outcome, Outcome::kNonFinite);
  EXPECT_EQ(result.count, 0U);
}

}  // namespace
}  // namespace kinglet::daemon
