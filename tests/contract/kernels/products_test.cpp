// SPDX-License-Identifier: Apache-2.0
// The kernel of 8-bit products gives the bits of sums in whole numbers, rounded once, in every form and with any number
// of threads. Layers at random: shapes, windows, steps, paddings, borders, levels, the least weights there are.
//   KINGLET_KERNEL_SECONDS=N   for so long (float_layers.h)
#include "engine/backend/xnnpack/processor.h"
#include "tests/contract/kernels/byte_layers.h"

namespace kinglet::engine::kernels {
namespace {

constexpr std::string_view kProducts = "products_s8";

ByteLayer products_layer_at_random(Random& random) {
  const auto pick = [&](std::size_t least, std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(least, most)(random);
  };
  const auto small = [&](std::size_t least, std::size_t most) { return static_cast<std::uint32_t>(pick(least, most)); };
  const bool pixels = pick(0, 1) == 0;  // one tap, mostly
  const std::uint32_t side = pixels ? 1 : 7;
  const std::uint32_t padding = pixels ? 0 : 3;
  const xnn::Window window{.kernel_height = small(1, side),
                           .kernel_width = small(1, side),
                           .stride_height = small(1, 2),
                           .stride_width = small(1, 2),
                           .dilation_height = small(1, pixels ? 1 : 2),
                           .dilation_width = small(1, pixels ? 1 : 2),
                           .pad_top = small(0, padding),
                           .pad_left = small(0, padding),
                           .pad_bottom = small(0, padding),
                           .pad_right = small(0, padding)};
  return finished(random, {.batch = pick(1, 2),
                           .input_height = pick(pixels ? 1 : 13, 15),
                           .input_width = pick(pixels ? 1 : 13, 15),
                           .input_channels = pick(1, pixels ? 70 : 12),
                           .output_channels = pick(1, 40),
                           .window = window});
}

TEST(Products, AreTheConvolutionToTheBitInEveryFormAndWithAnyThreads) {
  for_layers_of<ByteLayer>(products_layer_at_random, [](const ByteLayer& layer) {
    for (const int threads : {1, 2 + static_cast<int>(layer.shape.input_channels % 3)})
      expect_bits(kProducts, layer, threads);
  });
}

// Two products of the least numbers are more than 16 bits hold.
TEST(Products, HoldTheLeastNumbersThereAre) {
  Random random(3);
  ByteLayer layer =
      finished(random, {.input_height = 2, .input_width = 3, .input_channels = 40, .output_channels = 21});
  std::ranges::fill(layer.weights, std::int8_t{-128});
  std::ranges::fill(layer.input.mutable_data<std::int8_t>(), std::int8_t{-128});
  expect_bits(kProducts, layer, 1);
}

// Sums times their factors are more than 16 bits hold, and than 32.
TEST(Products, HoldSumsThatAreFarFromAnyLevel) {
  Random random(4);
  for (const float times : {1e3F, 1e7F}) {
    ByteLayer layer =
        finished(random, {.input_height = 2, .input_width = 3, .input_channels = 40, .output_channels = 21});
    for (float& scale : layer.scales) scale *= times;
    expect_bits(kProducts, layer, 1);
  }
}

TEST(Products, TakeAnyRemainderOfPixelsChannelsAndOutputs) {
  Random random(7);
  for (std::size_t pixels = 1; pixels <= 9; ++pixels) {
    for (std::size_t channels = 1; channels <= 33; ++channels)
      expect_bits(kProducts,
                  finished(random, {.input_height = 1,
                                    .input_width = pixels,
                                    .input_channels = channels,
                                    .output_channels = 1 + (pixels * 5 + channels * 3) % 36}),
                  1 + static_cast<int>(pixels % 2));
  }
}

TEST(Products, TakeNoMoreNumbersOfAWindowThanAThreadHasRoomFor) {
  Random random(1);
  const auto takes = [&](std::size_t channels) {
    const xnn::Window three{.kernel_height = 3, .kernel_width = 3};
    const ByteLayer layer = finished(
        random,
        {.input_height = 3, .input_width = 3, .input_channels = channels, .output_channels = 1, .window = three});
    return row_named("products_s8__scalar").offer(layer.work()).has_value();
  };
  EXPECT_TRUE(takes(512));
  EXPECT_FALSE(takes(513));
}

TEST(Products, AreOfferedWhereTheProcessorHasTheInstructions) {
  Random random(1);
  const ByteLayer layer =
      finished(random, {.input_height = 2, .input_width = 3, .input_channels = 40, .output_channels = 21});
  EXPECT_EQ(is_offered("products_s8__neondot", layer), has_dot_products());
  EXPECT_EQ(is_offered("products_s8__neon", layer), kHasNeon && !has_dot_products());
}

TEST(Products, AreCheaperThanXnnpackOfAPictureWhereInstructionsDoNotWaitForEachOther) {
  Random random(1);
  const xnn::Window first{.kernel_height = 3,
                          .kernel_width = 3,
                          .stride_height = 2,
                          .stride_width = 2,
                          .pad_top = 1,
                          .pad_left = 1,
                          .pad_bottom = 1,
                          .pad_right = 1};
  const ByteLayer layer = finished(
      random, {.input_height = 112, .input_width = 112, .input_channels = 3, .output_channels = 32, .window = first});
  const auto dot = row_named("products_s8__neondot").offer(layer.work());
  const auto offer = dot ? dot : row_named("products_s8__neon").offer(layer.work());
  if (!offer) GTEST_SKIP() << "this processor has no form of it";
  EXPECT_EQ(offer->cost < 1, !xnn::runs_in_order());
}

}  // namespace
}  // namespace kinglet::engine::kernels
