// SPDX-License-Identifier: Apache-2.0
// Winograd's way gives the convolution's numbers as far as its bound says, and the same bits in every form and with any
// number of threads. Layers at random: shapes, paddings, borders, what stands at the end.
//   KINGLET_KERNEL_SECONDS=N   for so long (float_layers.h)
#include <gtest/gtest.h>

#include <cmath>

#include "engine/backend/kernels/winograd/error.h"
#include "tests/contract/kernels/float_layers.h"

namespace kinglet::engine::kernels {
namespace {

constexpr xnn::Window kWindow = square_window(3, 1, 0);

Layer winograd_at_random(Random& random) {
  const auto pick = [&](std::size_t least, std::size_t most) { return pick_of(random, least, most); };
  const auto pad = [&] { return static_cast<std::uint32_t>(pick(0, 2)); };
  const ConvolutionShape shape{.batch = pick(1, 2),
                               .input_height = pick(2, 21),
                               .input_width = pick(2, 21),
                               .input_channels = pick(1, 40),
                               .output_channels = pick(1, 70),
                               .window = {.kernel_height = 3,
                                          .kernel_width = 3,
                                          .pad_top = pad() + 1,
                                          .pad_left = pad() + 1,
                                          .pad_bottom = pad(),
                                          .pad_right = pad()}};
  const xnn::Range range =
      pick(0, 1) == 0 ? xnn::Range{} : xnn::Range{.min = 0, .max = pick(0, 1) == 0 ? 6 : xnn::kNoMax};
  return finished(random, shape, pick(0, 3) > 0, pick(0, 1) == 0, range);
}

// The bound, in numbers of this layer; what stands at the end is rounded a few times more.
double bound_of(const Layer& layer, std::size_t size, double largest) {
  constexpr double kRounding = 1.2e-7;
  const double mean_square = std::sqrt(9.0 * static_cast<double>(layer.shape.input_channels));
  return winograd::relative_error(size, layer.shape.input_channels) * mean_square + 2 * kRounding * largest;
}

void expect_near(const std::vector<double>& sums, const KernelRow& row, const Layer& layer, std::size_t size) {
  const std::vector<float> found = run(row, layer);
  double largest = 0;
  double worst = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    double expected = sums[i];
    if (!layer.bias.empty()) expected += static_cast<double>(layer.bias[i % layer.shape.output_channels]);
    if (layer.adds) expected += static_cast<double>(layer.added.data<float>()[i]);
    largest = std::max(largest, std::abs(expected));
    expected = std::clamp(expected, static_cast<double>(layer.range.min), static_cast<double>(layer.range.max));
    worst = std::max(worst, std::abs(static_cast<double>(found[i]) - expected));
  }
  EXPECT_LE(worst, bound_of(layer, size, largest)) << row.name << ": " << layer.text();
}

std::size_t size_of(const KernelRow& row) { return row.name.starts_with("winograd4") ? 4 : 2; }

// Rows of this processor, twins apart.
std::vector<const KernelRow*> fast_rows(const Layer& layer) {
  std::vector<const KernelRow*> fast;
  for (const KernelRow* row : all_kernels()) {
    if (row->name.starts_with("winograd") && !row->name.ends_with("__scalar") && row->offer(layer.work()))
      fast.push_back(row);
  }
  return fast;
}

TEST(Winograd, IsTheConvolutionAsFarAsItsBoundSays) {
  for_layers(winograd_at_random, [](const Layer& layer) {
    const std::vector<double> sums = sums_of(layer);
    for (const std::size_t size : {2, 4})
      expect_near(sums, row_named(std::format("winograd{}_f32__scalar", size)), layer, size);
  });
}

TEST(Winograd, GivesTheBitsOfItsTwinInEveryFormAndWithAnyThreads) {
  for_layers(winograd_at_random, [](const Layer& layer) {
    const std::vector<float> twins[] = {run(row_named("winograd2_f32__scalar"), layer),
                                        run(row_named("winograd4_f32__scalar"), layer)};
    EXPECT_TRUE(same_bits(run(row_named("winograd4_f32__scalar"), layer, 3), twins[1])) << layer.text();
    for (const KernelRow* row : fast_rows(layer)) {
      for (const int threads : {1, 2 + static_cast<int>(layer.shape.input_channels % 3)})
        EXPECT_TRUE(same_bits(run(*row, layer, threads), twins[size_of(*row) / 4]))
            << row->name << ", " << threads << " threads: " << layer.text();
    }
  });
}

// More tiles than a block holds, more channels than one has memory for, and as many as real layers have.
TEST(Winograd, HoldsItsBoundInLayersOfManyBlocksAndChannels) {
  Random random(5);
  const xnn::Window padded = square_window(3, 1, 1);
  for (const ConvolutionShape& shape :
       {ConvolutionShape{
            .input_height = 57, .input_width = 50, .input_channels = 64, .output_channels = 8, .window = padded},
        ConvolutionShape{
            .input_height = 14, .input_width = 14, .input_channels = 512, .output_channels = 33, .window = padded},
        ConvolutionShape{
            .input_height = 7, .input_width = 7, .input_channels = 1000, .output_channels = 5, .window = padded}}) {
    const Layer layer = finished(random, shape, true, true, {.min = 0});
    const std::vector<double> sums = sums_of(layer);
    for (const std::size_t size : {2, 4}) {
      const KernelRow& twin = row_named(std::format("winograd{}_f32__scalar", size));
      expect_near(sums, twin, layer, size);
      const std::vector<float> expected = run(twin, layer);
      for (const KernelRow* row : fast_rows(layer)) {
        if (size_of(*row) != size) continue;
        EXPECT_TRUE(same_bits(run(*row, layer, 2), expected)) << row->name << ": " << layer.text();
      }
    }
  }
}

TEST(Winograd, DoesNotTakeLargeTilesWhereTheBoundSaysNo) {
  Random random(1);
  const auto takes = [&](std::size_t size, std::size_t channels) {
    const Layer layer = finished(
        random,
        {.input_height = 5, .input_width = 5, .input_channels = channels, .output_channels = 1, .window = kWindow},
        false, false, {});
    return row_named(std::format("winograd{}_f32__scalar", size)).offer(layer.work()).has_value();
  };
  EXPECT_TRUE(takes(4, 1000));
  EXPECT_FALSE(takes(4, 2048));
  EXPECT_TRUE(takes(2, 2048));
}

// Of what it costs, not of what it takes: forms of this processor or, where it has none, nothing.
TEST(Winograd, LeavesLayersOfFewPixelsAndManyWeightsToXnnpack) {
  Random random(1);
  const Layer layer = finished(
      random, {.input_height = 3, .input_width = 3, .input_channels = 256, .output_channels = 256, .window = kWindow},
      false, false, {});
  for (const KernelRow* row : fast_rows(layer)) EXPECT_GE(row->offer(layer.work())->cost, 1) << row->name;
}

}  // namespace
}  // namespace kinglet::engine::kernels
