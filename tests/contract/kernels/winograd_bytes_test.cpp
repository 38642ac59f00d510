// SPDX-License-Identifier: Apache-2.0
// Winograd's way in whole numbers gives the bits of the direct sums, rounded once, in every form and with any number of
// threads. Layers at random: shapes, paddings, borders, levels; and the largest sums there are.
//   KINGLET_KERNEL_SECONDS=N   for so long (float_layers.h)
#include "engine/backend/kernels/convolution_parts.h"
#include "engine/backend/xnnpack/processor.h"
#include "tests/contract/kernels/byte_layers.h"

namespace kinglet::engine::kernels {
namespace {

constexpr std::string_view kWinogradBytes = "winograd_s8";
constexpr xnn::Window kPaddedThree = square_window(3, 1, 1);

ByteLayer winograd_bytes_at_random(Random& random) {
  const auto pick = [&](std::size_t least, std::size_t most) { return pick_of(random, least, most); };
  const auto pad = [&] { return static_cast<std::uint32_t>(pick(0, 2)); };
  return finished(random, {.batch = pick(1, 2),
                           .input_height = pick(2, 19),
                           .input_width = pick(2, 19),
                           .input_channels = pick(1, 40),
                           .output_channels = pick(1, 40),
                           .window = {.kernel_height = 3,
                                      .kernel_width = 3,
                                      .pad_top = pad() + 1,
                                      .pad_left = pad() + 1,
                                      .pad_bottom = pad(),
                                      .pad_right = pad()}});
}

ByteLayer square_layer(Random& random, std::size_t side, std::size_t channels, std::size_t outputs) {
  return finished(random, {.input_height = side,
                           .input_width = side,
                           .input_channels = channels,
                           .output_channels = outputs,
                           .window = kPaddedThree});
}

TEST(WinogradBytes, AreTheConvolutionToTheBitInEveryFormAndWithAnyThreads) {
  for_layers_of<ByteLayer>(winograd_bytes_at_random, [](const ByteLayer& layer) {
    for (const int threads : {1, 2 + static_cast<int>(layer.shape.input_channels % 3)})
      expect_bits(kWinogradBytes, layer, threads);
  });
}

TEST(WinogradBytes, TakeAnyRemainderOfTilesChannelsAndOutputs) {
  Random random(7);
  for (std::size_t tiles = 1; tiles <= 17; ++tiles) {
    const std::size_t width = 4 * tiles - tiles % 4;
    expect_bits(kWinogradBytes,
                finished(random, {.input_height = 1 + tiles % 4,
                                  .input_width = width,
                                  .input_channels = tiles,
                                  .output_channels = 1 + tiles * 5 % 17,
                                  .window = kPaddedThree}),
                1 + static_cast<int>(tiles % 2));
  }
}

// Sums come through six bits fewer than there are: up to 227 channels of the largest numbers have room in the others.
TEST(WinogradBytes, HoldTheLargestSumsThereAre) {
  Random random(3);
  for (const std::size_t channels : {227, 228, 512}) {
    ByteLayer layer = square_layer(random, 4, channels, 9);
    layer.scales = {100.0F / (255.0F * 128 * 9 * static_cast<float>(channels))};
    layer.bias.clear();
    layer.to.zero_point = 0;
    layer.least = -128;
    layer.most = 127;
    for (const std::int8_t weight : {-128, 127}) {
      for (const std::int8_t level : {-128, 127}) {
        std::ranges::fill(layer.weights, weight);
        std::ranges::fill(layer.input.mutable_data<std::int8_t>(), level);
        layer.from.zero_point = level < 0 ? 127 : -128;
        EXPECT_GE(std::abs(answers_of(layer)[9 * 5]), 99);  // the second pixel of the second line: nothing is padding
        expect_bits(kWinogradBytes, layer, 1);
      }
    }
  }
}

TEST(WinogradBytes, HoldSignsThatAddUpInPointsOfATile) {
  Random random(5);
  ByteLayer layer = square_layer(random, 9, 24, 10);
  const auto pick_end = [&] { return static_cast<std::int8_t>(pick_of(random, 0, 1) == 0 ? -128 : 127); };
  std::ranges::generate(layer.weights, pick_end);
  std::ranges::generate(layer.input.mutable_data<std::int8_t>(), pick_end);
  expect_bits(kWinogradBytes, layer, 1);
}

TEST(WinogradBytes, HoldSumsThatAreFarFromAnyLevel) {
  Random random(4);
  expect_bits_far_from_any_level(kWinogradBytes, square_layer(random, 6, 21, 21));
}

// More tiles than a block holds, and weights of which no more than 455 channels are added up at once.
TEST(WinogradBytes, TakeLayersOfManyBlocksAndChannels) {
  Random random(6);
  expect_bits(kWinogradBytes, square_layer(random, 77, 64, 8), 2);
  expect_bits(kWinogradBytes, square_layer(random, 37, 40, 70), 3);
  for (const std::size_t channels : {440, 470, 1000})
    expect_bits(kWinogradBytes, square_layer(random, 5, channels, 11), 3);
}

TEST(WinogradBytes, AreOfThreeByThreeOfOneGroupAndAStepOfOneOnly) {
  Random random(1);
  const auto takes = [&](const xnn::Window& window, std::size_t groups) {
    const ByteLayer layer = finished(random, {.input_height = 7,
                                              .input_width = 7,
                                              .input_channels = 4,
                                              .output_channels = 4,
                                              .groups = groups,
                                              .window = window});
    return is_offered("winograd_s8__scalar", layer);
  };
  EXPECT_TRUE(takes(kPaddedThree, 1));
  EXPECT_FALSE(takes(kPaddedThree, 2));
  EXPECT_FALSE(takes(square_window(3, 2, 1), 1));
  EXPECT_FALSE(takes(square_window(3, 1, 1, 2), 1));
  EXPECT_FALSE(takes(square_window(5, 1, 1), 1));
}

TEST(WinogradBytes, AreOfferedOnArmWithoutProductsOfFourBytesAndWhereAvx512HasThem) {
  Random random(1);
  const ByteLayer layer = square_layer(random, 5, 8, 8);
  EXPECT_EQ(is_offered("winograd_s8__neon", layer), kHasNeon && !has_dot_products());
  EXPECT_EQ(is_offered("winograd_s8__avx512vnni", layer), has_byte_products());
}

// Where instructions do not wait for each other: of many pixels, not of many weights.
TEST(WinogradBytes, AreCheaperThanDirectProductsOfManyPixels) {
  Random random(1);
  const ByteLayer pixels = square_layer(random, 56, 64, 64);
  const ByteLayer weights = square_layer(random, 7, 512, 512);
  const auto cost = [](std::string_view row, const ByteLayer& layer) {
    return row_named(row).offer(layer.work())->cost;
  };
  if (!is_offered("winograd_s8__neon", pixels)) GTEST_SKIP() << "this processor has no form of it";
  if (xnn::runs_in_order()) {
    EXPECT_GE(cost("winograd_s8__neon", pixels), 1);
    return;
  }
  EXPECT_LT(cost("winograd_s8__neon", pixels), cost("products_s8__neon", pixels));
  EXPECT_GT(cost("winograd_s8__neon", weights), cost("products_s8__neon", weights));
}

// On x86-64 weights of 256 channels come too slowly for 14x14 pixels.
TEST(WinogradBytes, AreCheaperThanBytesOfAvx512OfManyPixels) {
  Random random(1);
  if (!has_byte_products()) GTEST_SKIP() << "this processor has no form of it";
  const auto cost = [&](std::size_t side, std::size_t channels) {
    return row_named("winograd_s8__avx512vnni").offer(square_layer(random, side, channels, channels).work())->cost;
  };
  for (const auto& [side, channels] : {std::pair{56, 64}, {28, 128}})
    EXPECT_EQ(cost(side, channels) < 1, !has_byte_tiles());
  for (const auto& [side, channels] : {std::pair{14, 256}, {7, 512}, {56, 8}}) EXPECT_GE(cost(side, channels), 1);
}

}  // namespace
}  // namespace kinglet::engine::kernels
