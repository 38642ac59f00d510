// SPDX-License-Identifier: Apache-2.0
// The kernel of 8-bit products gives the bits of sums in whole numbers, rounded once, in every form and with any number
// of threads. Layers at random: shapes, windows, steps, paddings, borders, levels, the least weights there are.
//   KINGLET_KERNEL_SECONDS=N   for so long (float_layers.h)
#include <array>

#include "engine/backend/xnnpack/processor.h"
#include "tests/contract/kernels/byte_layers.h"

namespace kinglet::engine::kernels {
namespace {

constexpr std::string_view kProducts = "products_s8";

ByteLayer products_layer_at_random(Random& random) {
  const auto pick = [&](std::size_t least, std::size_t most) { return pick_of(random, least, most); };
  const bool pixels = pick(0, 1) == 0;  // one tap, mostly
  const xnn::Window window = window_at_random(random, pixels ? square_window(1, 2, 0) : square_window(7, 2, 3, 2));
  return finished(random, {.batch = pick(1, 2),
                           .input_height = pick(pixels ? 1 : 13, 15),
                           .input_width = pick(pixels ? 1 : 13, 15),
                           .input_channels = pick(1, pixels ? 130 : 12),
                           .output_channels = pick(1, 60),
                           .window = window});
}

TEST(Products, AreTheConvolutionToTheBitInEveryFormAndWithAnyThreads) {
  for_layers_of<ByteLayer>(products_layer_at_random, [](const ByteLayer& layer) {
    for (const int threads : {1, 2 + static_cast<int>(layer.shape.input_channels % 3)})
      expect_bits(kProducts, layer, threads);
  });
}

// Few numbers for few outputs, and many for many, of which one form multiplies half as many.
std::array<ByteLayer, 2> products_layers(Random random) {
  return {finished(random, {.input_height = 2, .input_width = 3, .input_channels = 40, .output_channels = 21}),
          finished(random, {.input_height = 2, .input_width = 3, .input_channels = 301, .output_channels = 45})};
}

TEST(Products, HoldTheLeastNumbersThereAre) {
  for (const ByteLayer& layer : products_layers(Random(3))) expect_bits_of_least_numbers(kProducts, layer);
}

TEST(Products, HoldSumsThatAreFarFromAnyLevel) {
  for (const ByteLayer& layer : products_layers(Random(4))) expect_bits_far_from_any_level(kProducts, layer);
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

TEST(Products, TakeAnyRemainderOfManyNumbers) {
  Random random(8);
  for (std::size_t channels = 60; channels <= 97; ++channels)
    expect_bits(kProducts,
                finished(random, {.input_height = 1,
                                  .input_width = 1 + channels % 9,
                                  .input_channels = channels,
                                  .output_channels = 30 + channels * 3 % 36}),
                1 + static_cast<int>(channels % 2));
}

// No cache of a board holds the weights: all pixels take some of them, then the next ones.
TEST(Products, BringManyWeightsToAllPixelsPartByPart) {
  Random random(9);
  for (const auto& [channels, window] :
       {std::pair(901, square_window(1, 1, 0)), {1030, square_window(1, 2, 0)}, {105, square_window(3, 2, 1)}})
    expect_bits(kProducts,
                finished(random, {.input_height = 7,
                                  .input_width = 9,
                                  .input_channels = static_cast<std::size_t>(channels),
                                  .output_channels = 467,
                                  .window = window}),
                3);
}

// Some windows, brought together, before the next ones.
TEST(Products, BringManyWeightsToABatchOfWindows) {
  Random random(10);
  const ByteLayer layer = finished(random, {.input_height = 27,
                                            .input_width = 27,
                                            .input_channels = 300,
                                            .output_channels = 160,
                                            .window = square_window(3, 2, 1)});
  const auto offer = row_named("products_s8__scalar").offer(layer.work());
  constexpr std::size_t kPixels = 14 * 14;
  ASSERT_GT(offer.value().scratch_bytes, 0);
  ASSERT_LT(offer->scratch_bytes, kPixels * 9 * layer.shape.input_channels);
  expect_bits(kProducts, layer, 3);
}

TEST(Products, TakeNoMoreNumbersOfAWindowThanAThreadHasRoomFor) {
  Random random(1);
  const auto takes = [&](std::size_t channels) {
    const ByteLayer layer = finished(random, {.input_height = 3,
                                              .input_width = 3,
                                              .input_channels = channels,
                                              .output_channels = 1,
                                              .window = square_window(3, 1, 0)});
    return row_named("products_s8__scalar").offer(layer.work()).has_value();
  };
  EXPECT_TRUE(takes(512));
  EXPECT_FALSE(takes(513));
}

TEST(Products, AreOfferedWhereTheProcessorHasTheInstructions) {
  const ByteLayer layer = products_layers(Random(1))[0];
  EXPECT_EQ(is_offered("products_s8__neondot", layer), has_dot_products());
  EXPECT_EQ(is_offered("products_s8__neon", layer), kHasNeon && !has_dot_products());
  EXPECT_EQ(is_offered("products_s8__neoninorder", layer), kHasNeon && !has_dot_products());
}

TEST(Products, AreCheaperThanXnnpackByTheFormOfTheCoreAlone) {
  Random random(1);
  const ByteLayer layer =
      finished(random, {.input_height = 14, .input_width = 14, .input_channels = 96, .output_channels = 576});
  const auto dot = row_named("products_s8__neondot").offer(layer.work());
  const auto offer = dot ? dot : row_named("products_s8__neon").offer(layer.work());
  if (!offer) GTEST_SKIP() << "this processor has no form of it";
  EXPECT_EQ(offer->cost < 1, !xnn::runs_in_order());
  const auto in_order = row_named("products_s8__neoninorder").offer(layer.work());
  EXPECT_EQ(in_order && in_order->cost < 1, xnn::runs_in_order() && !has_dot_products());
}

}  // namespace
}  // namespace kinglet::engine::kernels
