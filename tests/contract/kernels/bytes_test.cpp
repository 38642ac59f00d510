// SPDX-License-Identifier: Apache-2.0
// The 8-bit kernels of x86-64, of depthwise layers and of few channels, give the bits of sums in whole numbers, rounded
// once, in every form and with any number of threads. Layers at random: shapes, windows, steps, paddings, borders,
// levels, the least weights there are.
//   KINGLET_KERNEL_SECONDS=N   for so long (float_layers.h)
#include "tests/contract/kernels/byte_layers.h"

namespace kinglet::engine::kernels {
namespace {

constexpr std::string_view kDepthwiseBytes = "depthwise_s8";
constexpr std::string_view kFewChannels = "few_channels_s8";

// Channels of whole blocks of 64, of parts that one, two or four pixels share, and of both.
ByteLayer depthwise_bytes_at_random(Random& random) {
  const auto pick = [&](std::size_t least, std::size_t most) { return pick_of(random, least, most); };
  const xnn::Window window = window_at_random(random, square_window(8, 3, 4, 2));
  const auto least = [](std::size_t side, std::size_t dilation) { return (side - 1) * dilation + 1; };
  return depthwise_bytes(random,
                         {.batch = pick(1, 2),
                          .input_height = least(window.kernel_height, window.dilation_height) + pick(0, 6),
                          .input_width = least(window.kernel_width, window.dilation_width) + pick(0, 12),
                          .input_channels = pick(0, 2) == 0 ? pick(2, 16) : pick(17, pick(0, 1) == 0 ? 64 : 200),
                          .window = window});
}

TEST(DepthwiseBytes, AreTheConvolutionToTheBitInEveryFormAndWithAnyThreads) {
  for_layers_of<ByteLayer>(depthwise_bytes_at_random, [](const ByteLayer& layer) {
    for (const int threads : {1, 2 + static_cast<int>(layer.shape.input_channels % 3)})
      expect_bits(kDepthwiseBytes, layer, threads);
  });
}

// Up to 32 bytes in a row of the window, each of whole words of four, and up to 2304 weights: with more XNNPACK is as
// quick.
constexpr std::size_t kMostOfFilter = 2304 / 16;  // that 16 outputs have

ByteLayer few_channels_at_random(Random& random) {
  const auto pick = [&](std::size_t least, std::size_t most) { return pick_of(random, least, most); };
  const bool pixels = pick(0, 3) == 0;
  xnn::Window window = window_at_random(random, pixels ? square_window(1, 2, 1) : square_window(7, 3, 4, 2));
  window.dilation_width = 1;
  const std::size_t most_of_row = std::min<std::size_t>(32, kMostOfFilter / window.kernel_height / 4 * 4);
  const std::size_t channels = pick(1, std::min<std::size_t>(pixels ? 32 : 6, most_of_row / window.kernel_width));
  const std::size_t filter = (window.kernel_width * channels + 3) / 4 * 4 * window.kernel_height;
  return finished(random, {.batch = pick(1, 2),
                           .input_height = (window.kernel_height - 1) * window.dilation_height + 1 + pick(0, 7),
                           .input_width = window.kernel_width + pick(0, 20),
                           .input_channels = channels,
                           .output_channels = 16 * pick(1, std::min<std::size_t>(kMostOfFilter / filter, 6)),
                           .window = window});
}

TEST(FewChannels, AreTheConvolutionToTheBitInEveryFormAndWithAnyThreads) {
  for_layers_of<ByteLayer>(few_channels_at_random, [](const ByteLayer& layer) {
    for (const int threads : {1, 2 + static_cast<int>(layer.shape.input_width % 3)})
      expect_bits(kFewChannels, layer, threads);
  });
}

constexpr xnn::Window kThreeByThree = square_window(3, 1, 1);

ByteLayer small_depthwise(Random random) {
  return depthwise_bytes(random, {.input_height = 5, .input_width = 6, .input_channels = 85, .window = kThreeByThree});
}
ByteLayer small_stem(Random random) {
  return finished(
      random,
      {.input_height = 6, .input_width = 11, .input_channels = 3, .output_channels = 32, .window = kThreeByThree});
}

TEST(DepthwiseBytes, HoldTheLeastNumbersThereAre) {
  expect_bits_of_least_numbers(kDepthwiseBytes, small_depthwise(Random(3)));
}

TEST(FewChannels, HoldTheLeastNumbersThereAre) { expect_bits_of_least_numbers(kFewChannels, small_stem(Random(3))); }

TEST(DepthwiseBytes, HoldSumsThatAreFarFromAnyLevel) {
  expect_bits_far_from_any_level(kDepthwiseBytes, small_depthwise(Random(4)));
}

TEST(FewChannels, HoldSumsThatAreFarFromAnyLevel) {
  expect_bits_far_from_any_level(kFewChannels, small_stem(Random(4)));
}

}  // namespace
}  // namespace kinglet::engine::kernels
