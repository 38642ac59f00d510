// SPDX-License-Identifier: Apache-2.0
#include "visits/calibrate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kinglet::visits {
namespace {

Taxa three_taxa() { return Taxa::make(engine::Labels::parse("a\nb\nc (male)\nc (female)\n", "l.txt").value()).value(); }

// 80 of 100 are right where the model says `score`.
void add_hundred(Calibration& calibration, float score) {
  const float rest = (1 - score) / 3;
  for (std::uint32_t i = 0; i < 100; ++i) {
    calibration.add(std::vector<float>{score, rest, rest, rest}, i < 80 ? 0 : 1 + i % 2);
  }
}

TEST(Calibration, FindsTheTemperatureThatMakesScoresTrue) {
  const Taxa kinds = three_taxa();
  for (const double score : {0.98, 0.55}) {
    Calibration calibration(kinds);
    add_hundred(calibration, static_cast<float>(score));
    const double temperature = calibration.best_temperature();
    const Calibration::Judgement before = calibration.judge(1, 0.6);
    const Calibration::Judgement after = calibration.judge(temperature, 0.6);
    EXPECT_EQ(temperature > 1, score > 0.8);
    EXPECT_LT(after.surprise, before.surprise);
    EXPECT_LT(after.calibration_error, 0.03);
    EXPECT_GT(before.calibration_error, 0.15);
    EXPECT_DOUBLE_EQ(after.right_ratio, 0.8) << "a temperature changes no order";
  }
}

TEST(Calibration, OfTwoClassesHasTheTemperatureOfTheFormula) {
  const Taxa two = Taxa::make(engine::Labels::parse("a\nb\n", "l.txt").value()).value();
  Calibration calibration(two);
  for (std::uint32_t i = 0; i < 100; ++i) calibration.add(std::vector<float>{0.98F, 0.02F}, i < 80 ? 0 : 1);
  EXPECT_NEAR(calibration.best_temperature(), std::log(0.98 / 0.02) / std::log(0.8 / 0.2), 1e-3);
}

TEST(Calibration, SumsTheClassesOfOneSpecies) {
  const Taxa kinds = three_taxa();
  Calibration calibration(kinds);
  calibration.add(std::vector<float>{0.4F, 0, 0.3F, 0.3F}, *kinds.find("c"));
  const Calibration::Judgement judgement = calibration.judge(1, 0.59);
  EXPECT_EQ(judgement.right_ratio, 1);
  EXPECT_EQ(judgement.answered_ratio, 1);
  EXPECT_NEAR(judgement.surprise, -std::log(0.6), 1e-5);
}

TEST(Calibration, ScoresOfZeroAreNoEndlessSurprise) {
  const Taxa kinds = three_taxa();
  Calibration calibration(kinds);
  calibration.add(std::vector<float>{1, 0, 0, 0}, 1);
  EXPECT_TRUE(std::isfinite(calibration.judge(1, 0.6).surprise));
  EXPECT_TRUE(std::isfinite(calibration.best_temperature()));
}

}  // namespace
}  // namespace kinglet::visits
