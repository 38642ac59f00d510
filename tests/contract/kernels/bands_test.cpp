// SPDX-License-Identifier: Apache-2.0
// A layer of single pixels and the depthwise one behind it give the same bits in bands of rows as one after the other,
// in every form, for any number of bands and threads. Layers at random (float_layers.h).
#include "tests/contract/kernels/half_layers.h"
#include "tests/contract/kernels/networks.h"

namespace kinglet::engine::kernels {
namespace {

struct LayerPair {
  Layer pixels, windows;
};

// Rows begin at multiples of 64 bytes.
LayerPair pair_at_random(Random& random) {
  const auto pick = [&](std::size_t least, std::size_t most) { return pick_of(random, least, most); };
  const std::size_t wide = pick(1, 40);
  const auto stride = static_cast<std::uint32_t>(pick(1, 2));
  const auto side = static_cast<std::uint32_t>(pick(1, 2) * 2 + 1);
  const auto padding = static_cast<std::uint32_t>(pick(0, side / 2));
  const xnn::Range range = pick(0, 1) == 0 ? xnn::Range{} : xnn::Range{.min = 0, .max = 6};
  LayerPair pair{.pixels = finished(random,
                                    {.input_height = pick(side, 24),
                                     .input_width = 32,
                                     .input_channels = pick(1, 20),
                                     .output_channels = wide,
                                     .window = {}},
                                    true, false, range),
                 .windows = {}};
  xnn::Window window = square_window(side, stride, padding);
  window.pad_right = side - 1 - padding;  // outputs as many as the inputs, or half
  pair.windows = finished(random,
                          {.input_height = pair.pixels.shape.input_height,
                           .input_width = 32,
                           .input_channels = wide,
                           .output_channels = wide,
                           .groups = wide,
                           .window = window},
                          true, false, range);
  return pair;
}

constexpr std::array kPixelForms{"woven_f32__scalar", "woven_f32__avx2", "woven_f32__neon"};
constexpr std::array kWindowForms{"depthwise_f32__scalar", "depthwise_f32__avx2", "depthwise_f32__avx512",
                                  "depthwise_f32__neon"};

constexpr std::array kHalfPixelForms{"woven_f16__scalar", "woven_f16__neon"};
constexpr std::array kHalfWindowForms{"depthwise_f16__scalar", "depthwise_f16__neon"};

// Both layers of one kind of numbers, and what the first reads.
struct WorkPair {
  Work pixels, windows;
  Tensor input;
  std::size_t between_bytes, output_bytes, outputs;  // the last: rows
};

using Bytes = std::vector<std::byte>;
Bytes bytes_of(const TensorBuffer& buffer, std::size_t count) { return {buffer.data(), buffer.data() + count}; }

// Nothing: it has no offer for so many.
std::optional<Bytes> run_in_bands(const WorkPair& pair, const Layered& pixels, const Layered& windows,
                                  std::size_t count, int threads) {
  const auto offer = offer_in_bands(pixels, windows, count);
  if (!offer) return std::nullopt;
  const auto make = [&](PackedWeights& weights) { return make_in_bands(pixels, windows, count, weights); };
  return bytes_of(run_made("bands", *offer, make, {pair.input.bytes()}, pair.output_bytes, threads), pair.output_bytes);
}

Bytes one_after_the_other(const WorkPair& pair, const Layered& pixels, const Layered& windows) {
  const TensorBuffer between = run_kernel(*pixels.row, pixels.work, {pair.input.bytes()}, pair.between_bytes, 1);
  const std::span<const std::byte> read(between.data(), pair.between_bytes);
  return bytes_of(run_kernel(*windows.row, windows.work, {read}, pair.output_bytes, 1), pair.output_bytes);
}

// How many were compared.
std::size_t expect_bits_in_bands(const WorkPair& pair, Forms pixel_forms, Forms window_forms) {
  std::size_t compared = 0;
  for (const char* const first : forms_here(pixel_forms, pair.pixels)) {
    for (const char* const second : forms_here(window_forms, pair.windows)) {
      const Layered pixels{&row_named(first), pair.pixels};
      const Layered windows{&row_named(second), pair.windows};
      const Bytes expected = one_after_the_other(pair, pixels, windows);
      for (std::size_t count = 1; count <= std::min<std::size_t>(pair.outputs, 5); ++count) {
        const auto found = run_in_bands(pair, pixels, windows, count, static_cast<int>(count % 3) + 1);
        if (!found) continue;
        ++compared;
        EXPECT_TRUE(*found == expected) << count << " bands by " << first << " and " << second;
      }
    }
  }
  return compared;
}

WorkPair in_floats(const LayerPair& pair) {
  return {.pixels = pair.pixels.work(),
          .windows = pair.windows.work(),
          .input = pair.pixels.input,
          .between_bytes = pair.pixels.outputs() * sizeof(float),
          .output_bytes = pair.windows.outputs() * sizeof(float),
          .outputs = pair.windows.shape.output_height};
}

TEST(Bands, GiveTheBitsOfBothKernelsInAnyNumberAndWithAnyThreads) {
  std::size_t compared = 0;
  for_layers_of<LayerPair>(pair_at_random, [&](const LayerPair& pair) {
    SCOPED_TRACE(pair.pixels.text() + " and " + pair.windows.text());
    compared += expect_bits_in_bands(in_floats(pair), kPixelForms, kWindowForms);
  });
  EXPECT_GT(compared, 20U);
}

TEST(Bands, GiveTheBitsOfBothKernelsInFloat16) {
  std::size_t compared = 0;
  for_layers_of<LayerPair>(pair_at_random, [&](const LayerPair& pair) {
    SCOPED_TRACE(pair.pixels.text() + " and " + pair.windows.text());
    WorkPair halves = in_floats(pair);
    halves.pixels = halves.pixels.in_halves().value();
    halves.windows = halves.windows.in_halves().value();
    halves.input = tensor_of_halves(pair.pixels.input);
    halves.between_bytes /= 2;
    halves.output_bytes /= 2;
    compared += expect_bits_in_bands(halves, kHalfPixelForms, kHalfWindowForms);
  });
  EXPECT_GT(compared, 20U);
}

// Of a MobileNetV2's second block, whose value between takes 4.8 MB: bands take a quarter of that.
constexpr ConvolutionShape kWide{.input_height = 112,
                                 .input_width = 112,
                                 .input_channels = 16,
                                 .output_height = 112,
                                 .output_width = 112,
                                 .output_channels = 96,
                                 .window = {}};
ConvolutionShape windows_behind(const ConvolutionShape& pixels) {
  return with_output({.input_height = pixels.output_height,
                      .input_width = pixels.output_width,
                      .input_channels = pixels.output_channels,
                      .output_channels = pixels.output_channels,
                      .groups = pixels.output_channels,
                      .window = square_window(3, 2, 1)});
}

std::optional<Offer> banded(const ConvolutionShape& pixels, const ConvolutionShape& windows) {
  return offer_in_bands(
      {&row_named(kPixelForms[0]), Work{ConvolutionF32{.shape = pixels, .weights = {}, .bias = {}, .range = {}}}},
      {&row_named(kWindowForms[0]), Work{ConvolutionF32{.shape = windows, .weights = {}, .bias = {}, .range = {}}}});
}

TEST(Bands, TakeAQuarterOfAWideValue) {
  const auto offer = banded(kWide, windows_behind(kWide));
  ASSERT_TRUE(offer);
  EXPECT_LT(offer->scratch_bytes, kWide.outputs() * sizeof(float) / 3);
}

TEST(Bands, LeaveWhatIsNotWorthThem) {
  ConvolutionShape small = kWide;
  small.input_height = small.output_height = 40;
  EXPECT_FALSE(banded(small, windows_behind(small))) << "less than two MiB between";
  ConvolutionShape padded = kWide;
  padded.window = square_window(1, 1, 0);
  padded.window.stride_width = 2;
  EXPECT_FALSE(banded(padded, windows_behind(kWide))) << "not of all pixels";
  ConvolutionShape two = windows_behind(kWide);
  two.batch = 2;
  EXPECT_FALSE(banded(kWide, two)) << "two images";
  EXPECT_FALSE(banded(kWide, kWide)) << "not depthwise";
}

TEST(Bands, AreAStepOfANetworkWithXnnpacksAnswer) {
  const Graph graph = graph_of(R"(
%x = input f32[1,3,112,112]
%1 = Conv(%x, w1:f32[16,3,1,1]#w1)
%2 = Conv(%1, w2:f32[96,16,1,1]#w2, b2:f32[96]#b2)
%3 = Clip(%2, l:f32[]{0}, m:f32[]{6})
%4 = Conv(%3, w3:f32[96,1,3,3]#w3, b3:f32[96]#b3) {group=96, pads=[1,1,1,1], strides=[2,2]}
%5 = Relu(%4)
%6 = GlobalAveragePool(%5)
output %6
)");
  const Tensor input = input_of(graph);
  const NetworkAnswer expected = answer_to(input, graph, {.own_kernels = false});
  for (const int threads : {1, 3}) {
    const NetworkAnswer found = answer_to(
        input, graph, {.threads = threads, .own_kernels = false, .forced_kernels = {kPixelForms[0], kWindowForms[0]}});
    EXPECT_EQ(found.own, 3);
    EXPECT_EQ(found.steps, 3U) << "a layer, two in bands, the mean";
    const auto numbers = found.numbers.data<float>();
    ASSERT_EQ(numbers.size(), expected.numbers.data<float>().size());
    for (std::size_t i = 0; i < numbers.size(); ++i)
      ASSERT_NEAR(numbers[i], expected.numbers.data<float>()[i], 1e-4F) << i;
  }
}

double least_cost(Forms forms, const ConvolutionShape& shape) {
  const Work work{ConvolutionF32{.shape = shape, .weights = {}, .bias = {}, .range = {}}};
  double least = std::numeric_limits<double>::infinity();
  for (const char* const form : forms_here(forms, work)) least = std::min(least, row_named(form).offer(work)->cost);
  return least;
}

// How many layers are ours of one and such a pair.
std::ptrdiff_t own_layers(int channels) {
  const Graph graph = graph_of(std::format(R"(
%x = input f32[1,3,112,112]
%1 = Conv(%x, w1:f32[16,3,1,1]#w1)
%2 = Conv(%1, w2:f32[{0},16,1,1]#w2, b2:f32[{0}]#b2)
%3 = Conv(%2, w3:f32[{0},1,3,3]#w3, b3:f32[{0}]#b3) {{group={0}, pads=[1,1,1,1], strides=[2,2]}}
%4 = GlobalAveragePool(%3)
output %4
)",
                                           channels));
  return answer_to(input_of(graph), graph, {}).own;
}

TEST(Bands, TakeADepthwiseKernelThatIsALittleDearerThanXnnpacksForALargeValueAlone) {
  const double windows = least_cost(kWindowForms, windows_behind(kWide));
  if (least_cost(kPixelForms, kWide) >= 1 || windows < 1 || windows > 1.25)
    GTEST_SKIP() << "no such kernels are of this processor";
  EXPECT_EQ(own_layers(96), 3) << "4.8 MB";
  EXPECT_EQ(own_layers(64), 2) << "3.2 MB, a MobileNetV3-L's";
}

}  // namespace
}  // namespace kinglet::engine::kernels
