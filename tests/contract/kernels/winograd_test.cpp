// SPDX-License-Identifier: Apache-2.0
// Winograd's way gives the convolution's numbers as far as its bound says, and the same bits in every form and with any
// number of threads. Layers at random: shapes, paddings, borders, what stands at the end.
//   KINGLET_WINOGRAD_SECONDS=N   for so long, from a new seed, which a failure prints (otherwise 24 layers, always the
//   same)
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <format>
#include <functional>
#include <random>

#include "engine/backend/kernels/kernel.h"
#include "engine/backend/kernels/winograd/error.h"
#include "engine/graph/tensor.h"
#include "engine/session/thread_pool.h"

namespace kinglet::engine::kernels {
namespace {

struct Layer {
  ConvolutionShape shape;
  xnn::Range range;
  bool adds = false;
  std::vector<float> weights, bias;  // the bias may be empty
  Tensor input, added;               // with the memory behind them that kernels may read

  [[nodiscard]] Work work() const {
    return {ConvolutionF32{.shape = shape, .weights = weights, .bias = bias, .adds = adds, .range = range}};
  }
  [[nodiscard]] std::string text() const {
    return std::format("{}x{}x{}x{} to {} channels, paddings {} {} {} {}{}{}", shape.batch, shape.input_height,
                       shape.input_width, shape.input_channels, shape.output_channels, shape.window.pad_top,
                       shape.window.pad_left, shape.window.pad_bottom, shape.window.pad_right, adds ? ", adds" : "",
                       range.open() ? "" : ", clips");
  }
  [[nodiscard]] std::size_t outputs() const {
    return shape.batch * shape.output_height * shape.output_width * shape.output_channels;
  }
};

using Random = std::mt19937_64;

Tensor normal_tensor(Random& random, std::size_t count) {
  Tensor tensor(DataType::kF32, {static_cast<Dim>(count)});
  std::normal_distribution<float> normal;
  for (float& number : tensor.mutable_data<float>()) number = normal(random);
  return tensor;
}

std::vector<float> normal_numbers(Random& random, std::size_t count) {
  const Tensor tensor = normal_tensor(random, count);
  return {tensor.data<float>().begin(), tensor.data<float>().end()};
}

// Fills in what follows from the sizes.
Layer finished(Random& random, ConvolutionShape shape, bool has_bias, bool adds, xnn::Range range) {
  xnn::Window& window = shape.window;
  window.kernel_height = window.kernel_width = 3;
  shape.output_height = shape.input_height + window.pad_top + window.pad_bottom - 2;
  shape.output_width = shape.input_width + window.pad_left + window.pad_right - 2;
  Layer layer{.shape = shape, .range = range, .adds = adds, .weights = {}, .bias = {}, .input = {}, .added = {}};
  layer.weights = normal_numbers(random, 9 * shape.input_channels * shape.output_channels);
  if (has_bias) layer.bias = normal_numbers(random, shape.output_channels);
  layer.input = normal_tensor(random, shape.batch * shape.input_height * shape.input_width * shape.input_channels);
  if (adds) layer.added = normal_tensor(random, layer.outputs());
  return layer;
}

Layer layer_at_random(Random& random) {
  const auto pick = [&](std::size_t least, std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(least, most)(random);
  };
  const auto pad = [&] { return static_cast<std::uint32_t>(pick(0, 2)); };
  const ConvolutionShape shape{
      .batch = pick(1, 2),
      .input_height = pick(2, 21),
      .input_width = pick(2, 21),
      .input_channels = pick(1, 40),
      .output_channels = pick(1, 70),
      .window = {.pad_top = pad() + 1, .pad_left = pad() + 1, .pad_bottom = pad(), .pad_right = pad()}};
  const xnn::Range range =
      pick(0, 1) == 0 ? xnn::Range{} : xnn::Range{.min = 0, .max = pick(0, 1) == 0 ? 6 : xnn::kNoMax};
  return finished(random, shape, pick(0, 3) > 0, pick(0, 1) == 0, range);
}

std::span<const KernelRow* const> rows() { return all_kernels(); }

const KernelRow& row_named(std::string_view name) {
  const auto found = std::ranges::find(rows(), name, &KernelRow::name);
  if (found == rows().end()) throw std::runtime_error(std::format("no kernel {}", name));
  return **found;
}

std::vector<float> run(const KernelRow& row, const Layer& layer, int threads = 1) {
  const Work work = layer.work();
  const auto offer = row.offer(work);
  if (!offer) throw std::runtime_error(std::format("{} does not take {}", row.name, layer.text()));
  const auto kernel = row.make(work);
  const auto pool = ThreadPool::make(threads).value();
  TensorBuffer output(layer.outputs() * sizeof(float));
  TensorBuffer scratch(offer->scratch_bytes);
  std::ranges::fill(std::span(scratch.data(), scratch.size()), std::byte{0xFF});  // every one is no number
  std::vector<std::span<const std::byte>> inputs{layer.input.bytes()};
  if (layer.adds) inputs.push_back(layer.added.bytes());
  const std::array outputs{std::span(output.data(), output.size())};
  kernel->run(inputs, outputs, std::span(scratch.data(), scratch.size()), pool->get());
  const auto* numbers = reinterpret_cast<const float*>(output.data());
  return {numbers, numbers + layer.outputs()};
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

double sum_of(const Layer& layer, std::size_t image, std::size_t y, std::size_t x, std::size_t output) {
  const ConvolutionShape& shape = layer.shape;
  const float* weights = layer.weights.data() + output * shape.input_channels * 9;
  const float* pixels =
      layer.input.data<float>().data() + image * shape.input_height * shape.input_width * shape.input_channels;
  double sum = 0;
  for (std::size_t i = 0; i < 9; ++i) {
    const std::size_t from_y = y + i / 3 - shape.window.pad_top;  // wraps where it is above
    const std::size_t from_x = x + i % 3 - shape.window.pad_left;
    if (from_y >= shape.input_height || from_x >= shape.input_width) continue;
    const float* pixel = pixels + (from_y * shape.input_width + from_x) * shape.input_channels;
    for (std::size_t channel = 0; channel < shape.input_channels; ++channel)
      sum += static_cast<double>(pixel[channel]) * static_cast<double>(weights[channel * 9 + i]);
  }
  return sum;
}

// The convolution's sums in float64, without what stands at its end.
std::vector<double> sums_of(const Layer& layer) {
  const ConvolutionShape& shape = layer.shape;
  std::vector<double> sums;
  for (std::size_t i = 0; i < layer.outputs(); ++i) {
    const std::size_t pixel = i / shape.output_channels;
    sums.push_back(sum_of(layer, pixel / shape.output_width / shape.output_height,
                          pixel / shape.output_width % shape.output_height, pixel % shape.output_width,
                          i % shape.output_channels));
  }
  return sums;
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
  for (const KernelRow* row : rows()) {
    if (row->name.starts_with("winograd") && !row->name.ends_with("__scalar") && row->offer(layer.work()))
      fast.push_back(row);
  }
  return fast;
}

// Calls check(layer) for the layers that the environment asks for.
void for_layers(const std::function<void(const Layer&)>& check) {
  using Clock = std::chrono::steady_clock;
  const char* seconds = std::getenv("KINGLET_WINOGRAD_SECONDS");
  const std::uint64_t seed = seconds == nullptr ? 28 : std::random_device{}();
  SCOPED_TRACE(std::format("seed {}", seed));
  Random random(seed);
  const auto end = Clock::now() + std::chrono::seconds(seconds == nullptr ? 0 : std::atoi(seconds));
  for (int i = 0; i < 24 || Clock::now() < end; ++i) {
    check(layer_at_random(random));
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Winograd, IsTheConvolutionAsFarAsItsBoundSays) {
  for_layers([](const Layer& layer) {
    const std::vector<double> sums = sums_of(layer);
    for (const std::size_t size : {2, 4})
      expect_near(sums, row_named(std::format("winograd{}_f32__scalar", size)), layer, size);
  });
}

TEST(Winograd, GivesTheBitsOfItsTwinInEveryFormAndWithAnyThreads) {
  for_layers([](const Layer& layer) {
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
  const xnn::Window padded{.pad_top = 1, .pad_left = 1, .pad_bottom = 1, .pad_right = 1};
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
    const Layer layer =
        finished(random, {.input_height = 5, .input_width = 5, .input_channels = channels, .output_channels = 1}, false,
                 false, {});
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
      random, {.input_height = 3, .input_width = 3, .input_channels = 256, .output_channels = 256}, false, false, {});
  for (const KernelRow* row : fast_rows(layer)) EXPECT_GE(row->offer(layer.work())->cost, 1) << row->name;
}

}  // namespace
}  // namespace kinglet::engine::kernels
