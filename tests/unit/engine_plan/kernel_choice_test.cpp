// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/kernel_choice.h"

#include <gtest/gtest.h>

#include <array>

namespace kinglet::engine {
namespace {

// A depthwise 3x3 of 64 channels over 8x8.
class KernelChoice : public ::testing::Test {
 protected:
  static constexpr std::size_t kChannels = 64;
  std::array<std::int8_t, kChannels * 9> weights_{};
  std::array<float, 1> scales_{0.01F};
  kernels::Work work_{kernels::ConvolutionS8{
      .shape =
          {.input_height = 8,
           .input_width = 8,
           .input_channels = kChannels,
           .output_height = 8,
           .output_width = 8,
           .output_channels = kChannels,
           .groups = kChannels,
           .window =
               {.kernel_height = 3, .kernel_width = 3, .pad_top = 1, .pad_left = 1, .pad_bottom = 1, .pad_right = 1}},
      .numbers = {.weights = weights_, .bias = {}, .scales = scales_, .input = {}, .output = {}}}};
};

TEST_F(KernelChoice, IsNeverOneThatCostsMoreThanXnnpack) {
  const auto chosen = choose_kernel(work_, {});
  EXPECT_LT(chosen ? chosen->offer.cost : 0, 1);
  const auto twin = choose_kernel(work_, {.own = false, .forced = {"depthwise_s8__scalar"}});
  ASSERT_TRUE(twin);
  EXPECT_GT(twin->offer.cost, 1);  // so that it was there to be chosen
}

TEST_F(KernelChoice, IsTheForcedOneWhateverIsQuicker) {
  const auto chosen = choose_kernel(work_, {.forced = {"depthwise_s8__scalar"}});
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->row->name, "depthwise_s8__scalar");
}

TEST_F(KernelChoice, IsXnnpackWhereTheForcedOneIsForOtherWork) {
  EXPECT_FALSE(choose_kernel(work_, {.own = false, .forced = {"few_channels_s8__scalar"}}));
}

TEST_F(KernelChoice, IsXnnpackWhereOwnOnesAreNotWished) { EXPECT_FALSE(choose_kernel(work_, {.own = false})); }

// Packing would read weights that are not there.
TEST_F(KernelChoice, IsMadeWithoutLookingAtWeights) {
  std::get<kernels::ConvolutionS8>(work_.kind).numbers.weights = {};
  const auto chosen = choose_kernel(work_, {.own = false, .forced = {"depthwise_s8__scalar"}});
  ASSERT_TRUE(chosen);
  EXPECT_GE(chosen->offer.packed_bytes, weights_.size());
}

}  // namespace
}  // namespace kinglet::engine
