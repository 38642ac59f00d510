// SPDX-License-Identifier: Apache-2.0
// Winograd's way gives the convolution's numbers as far as its bound says, and the same bits in every form and with any
// number of threads. Layers at random: shapes, paddings, borders, what stands at the end.
//   KINGLET_KERNEL_SECONDS=N   for so long (float_layers.h)
#include <gtest/gtest.h>

#include <cmath>

#include "engine/backend/kernels/convolution_parts.h"
#include "engine/backend/kernels/winograd/error.h"
#include "tests/contract/kernels/half_layers.h"

namespace kinglet::engine::kernels {
namespace {

constexpr xnn::Window kWindow = square_window(3, 1, 0);

using winograd::Scheme;

// Kernels by their tiles.
struct Tiles {
  std::string_view name;
  const Scheme* scheme;
};
constexpr Tiles kTwo{"winograd2", &winograd::kTwo};
constexpr Tiles kFour{"winograd4", &winograd::kFour};
constexpr Tiles kStridedTwo{"winograd2s2", &winograd::kStridedTwo};

std::vector<Tiles> tiles_for(const Layer& layer) {
  if (layer.shape.window.stride_height == 2) return {kStridedTwo};
  return {kTwo, kFour};
}

Layer winograd_at_random(Random& random) {
  const auto pick = [&](std::size_t least, std::size_t most) { return pick_of(random, least, most); };
  const auto pad = [&] { return static_cast<std::uint32_t>(pick(0, 2)); };
  const auto stride = static_cast<std::uint32_t>(pick(1, 2));
  const ConvolutionShape shape{.batch = pick(1, 2),
                               .input_height = pick(2, 21),
                               .input_width = pick(2, 21),
                               .input_channels = stride == 2 && pick(0, 3) > 0 ? 16 * pick(1, 3) : pick(1, 40),
                               .output_channels = pick(0, 1) == 0 ? 16 * pick(1, 4) : pick(1, 70),
                               .window = {.kernel_height = 3,
                                          .kernel_width = 3,
                                          .stride_height = stride,
                                          .stride_width = stride,
                                          .pad_top = pad() + 1,
                                          .pad_left = pad() + 1,
                                          .pad_bottom = pad(),
                                          .pad_right = pad()}};
  const xnn::Range range =
      pick(0, 1) == 0 ? xnn::Range{} : xnn::Range{.min = 0, .max = pick(0, 1) == 0 ? 6 : xnn::kNoMax};
  return finished(random, shape, pick(0, 3) > 0, pick(0, 1) == 0, range);
}

// What is the same with the numbers of either type.
struct TileNumbers {
  std::string_view name;  // in those of kernels
  double rounding;
  std::size_t most_channels;  // that tiles of 4x4 are for, roughly
  double (*error)(const Scheme& scheme, std::size_t channels);
  Layer (*layer)(Layer layer);  // that has such numbers
  Work (*work)(const Layer& layer);
  std::vector<float> (*run)(const KernelRow& row, const Layer& layer, int threads, Lies lies);
};

constexpr TileNumbers kFloatTiles{.name = "f32",
                                  .rounding = 0x1p-24,
                                  .most_channels = 1000,
                                  .error = winograd::relative_error<float>,
                                  .layer = [](Layer layer) { return layer; },
                                  .work = [](const Layer& layer) { return layer.work(); },
                                  .run = run};
constexpr TileNumbers kHalfTiles{.name = "f16",
                                 .rounding = 0x1p-11,
                                 .most_channels = 600,
                                 .error = winograd::relative_error<Half>,
                                 .layer = in_halves,
                                 .work = [](const Layer& layer) { return layer.work().in_halves().value(); },
                                 .run = run_in_halves};

const KernelRow& twin_of(const TileNumbers& numbers, const Tiles& tiles) {
  return row_named(std::format("{}_{}__scalar", tiles.name, numbers.name));
}

// Rows of this processor, twins apart, with such tiles.
std::vector<const KernelRow*> fast_rows(const TileNumbers& numbers, const Layer& layer, const Tiles& tiles) {
  std::vector<const KernelRow*> fast;
  for (const KernelRow* row : all_kernels()) {
    if (row->name.starts_with(std::format("{}_{}__", tiles.name, numbers.name)) && !row->name.ends_with("__scalar") &&
        row->offer(numbers.work(layer)))
      fast.push_back(row);
  }
  return fast;
}

// The bound, in numbers of this layer; what stands at the end is rounded a few times more.
double bound_of(const TileNumbers& numbers, const Layer& layer, const Tiles& tiles, double largest) {
  const double mean_square = std::sqrt(9.0 * static_cast<double>(layer.shape.input_channels));
  return numbers.error(*tiles.scheme, layer.shape.input_channels) * mean_square + 4 * numbers.rounding * largest;
}

void expect_near(const TileNumbers& numbers, const std::vector<double>& sums, const Layer& layer, const Tiles& tiles) {
  const std::vector<float> found = numbers.run(twin_of(numbers, tiles), layer, 1, Lies::kApart);
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
  EXPECT_LE(worst, bound_of(numbers, layer, tiles, largest))
      << numbers.name << ", " << tiles.name << ": " << layer.text();
}

void expect_near_at_random(const TileNumbers& numbers) {
  for_layers(winograd_at_random, [&](const Layer& rough) {
    const Layer layer = numbers.layer(rough);
    const std::vector<double> sums = sums_of(layer);
    for (const Tiles& tiles : tiles_for(layer)) expect_near(numbers, sums, layer, tiles);
  });
}

void expect_bits_at_random(const TileNumbers& numbers) {
  for_layers(winograd_at_random, [&](const Layer& rough) {
    const Layer layer = numbers.layer(rough);
    for (const Tiles& tiles : tiles_for(layer)) {
      const KernelRow& twin = twin_of(numbers, tiles);
      const std::vector<float> expected = numbers.run(twin, layer, 1, Lies::kApart);
      EXPECT_TRUE(same_bits(numbers.run(twin, layer, 3, Lies::kApart), expected)) << twin.name << ": " << layer.text();
      for (const KernelRow* row : fast_rows(numbers, layer, tiles)) {
        for (const int threads : {1, 2 + static_cast<int>(layer.shape.input_channels % 3)}) {
          for (const Lies lies : lies_of(*row, numbers.work(layer)))
            EXPECT_TRUE(same_bits(numbers.run(*row, layer, threads, lies), expected))
                << row->name << ", " << threads << " threads" << text_of(lies) << layer.text();
        }
      }
    }
  });
}

// More tiles than a block holds, more channels than one has memory for, and as many as real layers have.
void expect_near_in_large_layers(const TileNumbers& numbers) {
  Random random(5);
  const xnn::Window padded = square_window(3, 1, 1);
  const xnn::Window strided = square_window(3, 2, 1);
  for (const ConvolutionShape& shape :
       {ConvolutionShape{
            .input_height = 57, .input_width = 50, .input_channels = 64, .output_channels = 8, .window = padded},
        ConvolutionShape{
            .input_height = 14, .input_width = 14, .input_channels = 512, .output_channels = 33, .window = padded},
        ConvolutionShape{.input_height = 7,
                         .input_width = 7,
                         .input_channels = numbers.most_channels,
                         .output_channels = 5,
                         .window = padded},
        ConvolutionShape{
            .input_height = 57, .input_width = 56, .input_channels = 128, .output_channels = 24, .window = strided},
        ConvolutionShape{
            .input_height = 14, .input_width = 13, .input_channels = 1024, .output_channels = 33, .window = strided}}) {
    const Layer layer = numbers.layer(finished(random, shape, true, true, {.min = 0}));
    const std::vector<double> sums = sums_of(layer);
    for (const Tiles& tiles : tiles_for(layer)) {
      expect_near(numbers, sums, layer, tiles);
      const std::vector<float> expected = numbers.run(twin_of(numbers, tiles), layer, 1, Lies::kApart);
      for (const KernelRow* row : fast_rows(numbers, layer, tiles))
        EXPECT_TRUE(same_bits(numbers.run(*row, layer, 2, Lies::kApart), expected))
            << row->name << ": " << layer.text();
    }
  }
}

void expect_large_tiles_where_the_bound_allows(const TileNumbers& numbers) {
  Random random(1);
  const auto takes = [&](const Tiles& tiles, std::size_t channels) {
    const Layer layer = finished(
        random,
        {.input_height = 5, .input_width = 5, .input_channels = channels, .output_channels = 1, .window = kWindow},
        false, false, {});
    return twin_of(numbers, tiles).offer(numbers.work(layer)).has_value();
  };
  EXPECT_TRUE(takes(kFour, numbers.most_channels));
  EXPECT_FALSE(takes(kFour, 2048));
  EXPECT_TRUE(takes(kTwo, 2048));
}

TEST(Winograd, IsTheConvolutionAsFarAsItsBoundSays) { expect_near_at_random(kFloatTiles); }
TEST(Winograd, GivesTheBitsOfItsTwinInEveryFormAndWithAnyThreads) { expect_bits_at_random(kFloatTiles); }
TEST(Winograd, HoldsItsBoundInLayersOfManyBlocksAndChannels) { expect_near_in_large_layers(kFloatTiles); }
TEST(Winograd, DoesNotTakeLargeTilesWhereTheBoundSaysNo) { expect_large_tiles_where_the_bound_allows(kFloatTiles); }

TEST(WinogradHalf, IsTheConvolutionAsFarAsItsBoundSays) { expect_near_at_random(kHalfTiles); }
TEST(WinogradHalf, GivesTheBitsOfItsTwinInEveryFormAndWithAnyThreads) { expect_bits_at_random(kHalfTiles); }
TEST(WinogradHalf, HoldsItsBoundInLayersOfManyBlocksAndChannels) { expect_near_in_large_layers(kHalfTiles); }
TEST(WinogradHalf, DoesNotTakeLargeTilesWhereTheBoundSaysNo) { expect_large_tiles_where_the_bound_allows(kHalfTiles); }

// Root of the mean of squares.
double root_error_of(const KernelRow& row, const Layer& layer, const std::vector<double>& sums) {
  const std::vector<float> found = run_in_halves(row, layer, 1);
  double squares = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) squares += std::pow(static_cast<double>(found[i]) - sums[i], 2);
  return std::sqrt(squares / static_cast<double>(sums.size()));
}

// XNNPACK adds up all products of an output one after the other, and so do woven rows.
TEST(WinogradHalf, IsAboutAsExactAsSumsOfAllProducts) {
  struct Layers {
    std::size_t channels;
    double most_of_two, most_of_four, most_of_strided;  // in times of what those sums are off
  };
  Random random(9);
  const auto error_of = [&](const Tiles& tiles, std::size_t channels) {
    const ConvolutionShape shape{.input_height = 12 * tiles.scheme->step,
                                 .input_width = 12 * tiles.scheme->step,
                                 .input_channels = channels,
                                 .output_channels = 16,
                                 .window = square_window(3, static_cast<std::uint32_t>(tiles.scheme->step), 1)};
    const Layer layer = in_halves(finished(random, shape, false, false, {}));
    const std::vector<double> sums = sums_of(layer);
    const double direct = root_error_of(row_named("woven_f16__scalar"), layer, sums);
    const double error = root_error_of(twin_of(kHalfTiles, tiles), layer, sums) / direct;
    std::printf("%zu channels: %s %.2f\n", channels, std::string(tiles.name).c_str(), error);
    return error;
  };
  for (const auto& [channels, most_of_two, most_of_four, most_of_strided] :
       {Layers{16, 1.2, 2.5, 1.2}, {64, 0.8, 1.6, 0.8}, {256, 0.5, 0.9, 0.5}}) {
    EXPECT_LE(error_of(kTwo, channels), most_of_two) << channels;
    EXPECT_LE(error_of(kFour, channels), most_of_four) << channels;
    EXPECT_LE(error_of(kStridedTwo, channels), most_of_strided) << channels;
  }
}

// Of what it costs, not of what it takes: forms of this processor or, where it has none, nothing. With AVX2 alone
// XNNPACK's products are no match.
TEST(Winograd, LeavesLayersOfFewPixelsAndManyWeightsToOthers) {
  const double other = has_avx2() && !has_avx512() ? kAvx2Product : 1;
  Random random(1);
  const Layer layer = finished(
      random, {.input_height = 3, .input_width = 3, .input_channels = 256, .output_channels = 256, .window = kWindow},
      false, false, {});
  for (const Tiles& tiles : tiles_for(layer)) {
    for (const KernelRow* row : fast_rows(kFloatTiles, layer, tiles))
      EXPECT_GE(row->offer(kFloatTiles.work(layer))->cost, other) << row->name;
    for (const KernelRow* row : fast_rows(kHalfTiles, layer, tiles))
      EXPECT_GE(row->offer(kHalfTiles.work(layer))->cost, kCostOfHalves) << row->name;
  }
}

// Of a ResNet: 512 channels at 7x7 were 75 MB of weights by tiles of 4x4 with AVX2 where a processor has AVX-512.
TEST(Winograd, IsNotCheaperThanXnnpackOrItselfByShorterVectors) {
  if (!has_avx512()) GTEST_SKIP() << "no AVX-512 here";
  for (const std::size_t channels : {64, 128, 256, 512}) {
    const std::size_t side = 3584 / channels;
    const ConvolutionShape shape = with_output({.input_height = side,
                                                .input_width = side,
                                                .input_channels = channels,
                                                .output_channels = channels,
                                                .window = square_window(3, 1, 1)});
    const Work work{ConvolutionF32{.shape = shape, .weights = {}, .bias = {}, .range = {}}};
    for (const char* const size : {"2", "4"}) {
      const auto cost = [&](const char* form) {
        return row_named(std::format("winograd{}_f32__{}", size, form)).offer(work)->cost;
      };
      EXPECT_GT(cost("avx2"), std::min(1.0, cost("avx512"))) << channels << " channels, tiles of " << size;
    }
  }
}

}  // namespace
}  // namespace kinglet::engine::kernels
