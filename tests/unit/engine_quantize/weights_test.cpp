// SPDX-License-Identifier: Apache-2.0
#include "engine/quantize/weights/weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kinglet::engine {
namespace {

constexpr WeightView kTwoChannels{.axis = 0, .channels = 2, .inner = 3};

TEST(QuantizeWeights, GivesEachChannelItsScale) {
  const std::vector<float> weights{1, -2, 0.5F, 0.011F, -0.02F, 0.005F};
  const std::vector<float> bias{3, -1};
  const auto found = quantize_weights(weights, bias, kTwoChannels, {.input_scale = 0.1, .output_scale = 0.2});
  ASSERT_TRUE(found) << describe(found.error());
  EXPECT_EQ(found->levels, (std::vector<std::int8_t>{64, -127, 32, 70, -127, 32}));
  EXPECT_FLOAT_EQ(found->scales[0], 2.0F / 127);
  EXPECT_FLOAT_EQ(found->scales[1], 0.02F / 127);
  EXPECT_EQ(found->bias[0], std::lround(3 / (0.1 * found->scales[0])));
}

TEST(QuantizeWeights, SharesOneScalePerTensor) {
  const std::vector<float> weights{1, -2, 0.5F, 0.011F, -0.02F, 0.005F};
  const auto found = quantize_weights(weights, std::vector<float>{0, 0}, kTwoChannels, {.per_channel = false});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->scales[0], found->scales[1]);
  EXPECT_EQ(found->levels[4], -1);
}

TEST(QuantizeWeights, KeepsTheBiasOfADeadChannel) {
  const std::vector<float> weights{0, 0, 0, 1e-30F, 0, 0};
  const std::vector<float> bias{-1.5F, 1000};
  const WeightOptions options{.input_scale = 0.02, .output_scale = 0.05};
  const auto found = quantize_weights(weights, bias, kTwoChannels, options);
  ASSERT_TRUE(found) << describe(found.error());
  for (std::size_t c = 0; c < 2; ++c) {
    EXPECT_NEAR(found->bias[c] * options.input_scale * found->scales[c], bias[c], 1e-6 * std::abs(bias[c]));
    EXPECT_GE(options.input_scale * found->scales[c] / options.output_scale, 0x1p-32) << "what XNNPACK rounds by";
  }
}

TEST(QuantizeWeights, RefusesWhatIsNoNumber) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const std::vector<float> weights{1, bad, 0, 0, 0, 0};
    EXPECT_FALSE(quantize_weights(weights, std::vector<float>{0, 0}, kTwoChannels, {}));
  }
}

}  // namespace
}  // namespace kinglet::engine
