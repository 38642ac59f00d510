// SPDX-License-Identifier: Apache-2.0
// Weights that go up or down for their sum: what a person can work out by hand, and that no sum gets worse.
#include "engine/quantize/weights/rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace kinglet::engine {
namespace {

double cost(std::span<const float> weights, const QuantizedWeights& rounded, const std::vector<float>& covariance) {
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    for (std::size_t j = 0; j < weights.size(); ++j) {
      const auto error = [&](std::size_t k) { return rounded.levels[k] * double{rounded.scales[0]} - weights[k]; };
      sum += error(i) * covariance[i * weights.size() + j] * error(j);
    }
  }
  return sum;
}

TEST(ImproveRounding, OfTwoEqualInputsOneWeightTakesBackWhatTheOtherAdds) {
  // Both are 0.4 above a level: two roundings down lose 0.8 of a step, one up and one down add 0.2.
  const std::vector<float> weights{1.4F, 2.4F};
  QuantizedWeights rounded{.scales = {1}, .levels = {1, 2}, .bias = {0}};
  const Moments alike{{1, 1, 1, 1}};
  EXPECT_EQ(improve_rounding(weights, {.axis = 0, .channels = 1, .inner = 2}, alike, rounded), 1U);
  EXPECT_EQ(rounded.levels[0] + rounded.levels[1], 4);
}

TEST(ImproveRounding, LeavesInputsAloneThatHaveNothingToDoWithEachOther) {
  const std::vector<float> weights{1.4F, 2.4F};
  QuantizedWeights rounded{.scales = {1}, .levels = {1, 2}, .bias = {0}};
  const Moments apart{{1, 0, 0, 1}};
  EXPECT_EQ(improve_rounding(weights, {.axis = 0, .channels = 1, .inner = 2}, apart, rounded), 0U);
}

TEST(ImproveRounding, NeverGoesBeyondTheLargestLevel) {
  const std::vector<float> weights{126.6F, 126.6F};
  QuantizedWeights rounded{.scales = {1}, .levels = {127, 127}, .bias = {0}};
  const Moments alike{{1, 1, 1, 1}};
  (void)improve_rounding(weights, {.axis = 0, .channels = 1, .inner = 2}, alike, rounded);
  for (const std::int8_t level : rounded.levels) EXPECT_TRUE(level == 126 || level == 127);
}

TEST(ImproveRounding, MakesTheErrorOfSumsSmallerAndLevelsStayAroundTheirWeights) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  constexpr std::size_t kSize = 24;
  std::vector<float> covariance(kSize * kSize, 0.0F);
  for (int sample = 0; sample < 100; ++sample) {  // of numbers that share a cause
    std::vector<float> x(kSize);
    const float cause = normal(random);
    for (float& number : x) number = cause + 0.3F * normal(random);
    for (std::size_t i = 0; i < kSize * kSize; ++i) covariance[i] += x[i / kSize] * x[i % kSize] / 100;
  }
  std::vector<float> weights(kSize);
  for (float& weight : weights) weight = 20 * normal(random);
  QuantizedWeights rounded{.scales = {1}, .levels = std::vector<std::int8_t>(kSize), .bias = {0}};
  for (std::size_t i = 0; i < kSize; ++i) rounded.levels[i] = static_cast<std::int8_t>(std::nearbyint(weights[i]));
  const double before = cost(weights, rounded, covariance);
  EXPECT_GT(improve_rounding(weights, {.axis = 0, .channels = 1, .inner = kSize}, {covariance}, rounded), 0U);
  EXPECT_LT(cost(weights, rounded, covariance), before / 2);
  for (std::size_t i = 0; i < kSize; ++i) EXPECT_LT(std::abs(rounded.levels[i] - weights[i]), 1);
}

}  // namespace
}  // namespace kinglet::engine
