// SPDX-License-Identifier: Apache-2.0
// The kernel of depthwise columns gives the bits of sums in whole numbers, rounded once, in every form and with any
// number of threads. Layers at random: shapes, windows, steps, paddings, borders, levels, the least weights there are.
//   KINGLET_KERNEL_SECONDS=N   for so long (float_layers.h)
#include "engine/backend/xnnpack/processor.h"
#include "tests/contract/kernels/byte_layers.h"

namespace kinglet::engine::kernels {
namespace {

constexpr std::string_view kColumns = "columns_s8";

ByteLayer depthwise(Random& random, ConvolutionShape shape) {
  shape.groups = shape.output_channels = shape.input_channels;
  return finished(random, shape);
}

ByteLayer columns_layer_at_random(Random& random) {
  const auto pick = [&](std::size_t least, std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(least, most)(random);
  };
  const auto small = [&](std::size_t least, std::size_t most) { return static_cast<std::uint32_t>(pick(least, most)); };
  const bool three = pick(0, 1) == 0;  // as most networks have them
  const xnn::Window window{.kernel_height = three ? 3 : small(1, 8),
                           .kernel_width = three ? 3 : small(1, 7),
                           .stride_height = small(1, 2),
                           .stride_width = small(1, 3),
                           .dilation_height = small(1, 2),
                           .dilation_width = small(1, 2),
                           .pad_top = small(0, 3),
                           .pad_left = small(0, 3),
                           .pad_bottom = small(0, 3),
                           .pad_right = small(0, 3)};
  return depthwise(random, {.batch = pick(1, 2),
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

constexpr xnn::Window kThree{.kernel_height = 3,
                             .kernel_width = 3,
                             .stride_height = 1,
                             .stride_width = 1,
                             .dilation_height = 1,
                             .dilation_width = 1,
                             .pad_top = 1,
                             .pad_left = 1,
                             .pad_bottom = 1,
                             .pad_right = 1};

// Two products of the least numbers are more than 16 bits hold.
TEST(Columns, HoldTheLeastNumbersThereAre) {
  Random random(3);
  ByteLayer layer = depthwise(random, {.input_height = 5, .input_width = 6, .input_channels = 21, .window = kThree});
  std::ranges::fill(layer.weights, std::int8_t{-128});
  std::ranges::fill(layer.input.mutable_data<std::int8_t>(), std::int8_t{-128});
  expect_bits(kColumns, layer, 1);
}

// Sums times their factors are more than 16 bits hold, and than 32.
TEST(Columns, HoldSumsThatAreFarFromAnyLevel) {
  Random random(4);
  for (const float times : {1e3F, 1e7F}) {
    ByteLayer layer = depthwise(random, {.input_height = 5, .input_width = 6, .input_channels = 21, .window = kThree});
    for (float& scale : layer.scales) scale *= times;
    expect_bits(kColumns, layer, 1);
  }
}

TEST(Columns, TakeAnyRemainderOfChannelsAndAnyWidth) {
  Random random(7);
  for (std::size_t channels = 2; channels <= 34; ++channels) {
    for (const std::size_t width : {1, 2, 3, 64, 65, 131})
      expect_bits(
          kColumns,
          depthwise(random, {.input_height = 3, .input_width = width, .input_channels = channels, .window = kThree}),
          1 + static_cast<int>(channels % 2));
  }
}

TEST(Columns, TakeNoMoreThanAThreadHasRoomFor) {
  Random random(1);
  const auto takes = [&](std::size_t width) {
    const ByteLayer layer =
        depthwise(random, {.input_height = 1, .input_width = width, .input_channels = 2, .window = kThree});
    return row_named("columns_s8__scalar").offer(layer.work()).has_value();
  };
  EXPECT_TRUE(takes(510));
  EXPECT_FALSE(takes(511));
}

TEST(Columns, AreOfferedWhereTheProcessorHasTheInstructions) {
  Random random(1);
  const ByteLayer layer =
      depthwise(random, {.input_height = 5, .input_width = 6, .input_channels = 21, .window = kThree});
  EXPECT_EQ(is_offered("columns_s8__neondot", layer), has_dot_products());
  EXPECT_EQ(is_offered("columns_s8__neon", layer), kHasNeon);
}

TEST(Columns, AreCheaperThanXnnpackWhereInstructionsDoNotWaitForEachOther) {
  Random random(1);
  const ByteLayer layer =
      depthwise(random, {.input_height = 14, .input_width = 14, .input_channels = 384, .window = kThree});
  const auto offer = row_named("columns_s8__neon").offer(layer.work());
  if (!offer) GTEST_SKIP() << "this processor has no form of it";
  EXPECT_EQ(offer->cost < 1, !xnn::runs_in_order());
}

}  // namespace
}  // namespace kinglet::engine::kernels
