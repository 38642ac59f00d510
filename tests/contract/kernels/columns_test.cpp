// SPDX-License-Identifier: Apache-2.0
// The kernel of depthwise columns gives the bits of sums in whole numbers, rounded once, in every form and with any
// number of threads. Layers at random: shapes, windows, steps, paddings, borders, levels, the least weights there are.
//   KINGLET_KERNEL_SECONDS=N   for so long (float_layers.h)
#include "engine/backend/xnnpack/processor.h"
#include "tests/contract/kernels/byte_layers.h"

namespace kinglet::engine::kernels {
namespace {

constexpr std::string_view kColumns = "columns_s8";

ByteLayer columns_layer_at_random(Random& random) {
  const auto pick = [&](std::size_t least, std::size_t most) { return pick_of(random, least, most); };
  const bool three = pick(0, 1) == 0;  // as most networks have them
  xnn::Window most = square_window(8, 3, 3, 2);
  most.kernel_width = 7;
  xnn::Window window = window_at_random(random, most);
  if (three) window.kernel_height = window.kernel_width = 3;
  return depthwise_bytes(random, {.batch = pick(1, 2),
                                  .input_height = pick(15, 20),
                                  .input_width = pick(13, 90),
                                  .input_channels = pick(2, 50),
                                  .window = window});
}

TEST(Columns, AreTheConvolutionToTheBitInEveryFormAndWithAnyThreads) {
  for_layers_of<ByteLayer>(columns_layer_at_random, [](const ByteLayer& layer) {
    for (const int threads : {1, 2 + static_cast<int>(layer.shape.input_channels % 3)})
      expect_bits(kColumns, layer, threads);
  });
}

constexpr xnn::Window kThree = square_window(3, 1, 1);

ByteLayer columns_layer(Random random) {
  return depthwise_bytes(random, {.input_height = 5, .input_width = 6, .input_channels = 21, .window = kThree});
}

TEST(Columns, HoldTheLeastNumbersThereAre) { expect_bits_of_least_numbers(kColumns, columns_layer(Random(3))); }

TEST(Columns, HoldSumsThatAreFarFromAnyLevel) { expect_bits_far_from_any_level(kColumns, columns_layer(Random(4))); }

TEST(Columns, TakeAnyRemainderOfChannelsAndAnyWidth) {
  Random random(7);
  for (std::size_t channels = 2; channels <= 34; ++channels) {
    for (const std::size_t width : {1, 2, 3, 64, 65, 131})
      expect_bits(kColumns,
                  depthwise_bytes(
                      random, {.input_height = 3, .input_width = width, .input_channels = channels, .window = kThree}),
                  1 + static_cast<int>(channels % 2));
  }
}

TEST(Columns, TakeNoMoreThanAThreadHasRoomFor) {
  Random random(1);
  const auto takes = [&](std::size_t width) {
    const ByteLayer layer =
        depthwise_bytes(random, {.input_height = 1, .input_width = width, .input_channels = 2, .window = kThree});
    return row_named("columns_s8__scalar").offer(layer.work()).has_value();
  };
  EXPECT_TRUE(takes(510));
  EXPECT_FALSE(takes(511));
}

TEST(Columns, AreOfferedWhereTheProcessorHasTheInstructions) {
  const ByteLayer layer = columns_layer(Random(1));
  EXPECT_EQ(is_offered("columns_s8__neondot", layer), has_dot_products());
  EXPECT_EQ(is_offered("columns_s8__neon", layer), kHasNeon);
  EXPECT_EQ(is_offered("columns_s8__neoninorder", layer), kHasNeon && !has_dot_products());
}

TEST(Columns, OfOutputsFarApartAreNotTheFormsThatReadAhead) {
  Random random(1);
  for (const std::uint32_t step : {1, 2, 3}) {
    xnn::Window window = kThree;
    window.stride_width = step;
    const ByteLayer layer =
        depthwise_bytes(random, {.input_height = 5, .input_width = 9, .input_channels = 16, .window = window});
    EXPECT_EQ(is_offered("columns_s8__neoninorder", layer), kHasNeon && !has_dot_products() && step < 3);
  }
}

TEST(Columns, AreCheaperThanXnnpackByTheFormOfTheCoreAlone) {
  Random random(1);
  const ByteLayer layer =
      depthwise_bytes(random, {.input_height = 14, .input_width = 14, .input_channels = 384, .window = kThree});
  const auto offer = row_named("columns_s8__neon").offer(layer.work());
  if (!offer) GTEST_SKIP() << "this processor has no form of it";
  EXPECT_EQ(offer->cost < 1, !xnn::runs_in_order());
  const auto in_order = row_named("columns_s8__neoninorder").offer(layer.work());
  EXPECT_EQ(in_order && in_order->cost < 1, xnn::runs_in_order() && !has_dot_products());
}

}  // namespace
}  // namespace kinglet::engine::kernels
