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

std::vector<float> floats_of(const TensorBuffer& buffer, std::size_t count) {
  const auto* numbers = reinterpret_cast<const float*>(buffer.data());
  return {numbers, numbers + count};
}

// Nothing: it has no offer for so many.
std::optional<std::vector<float>> run_in_bands(const Layered& pixels, const Layered& windows, const LayerPair& pair,
                                               std::size_t count, int threads) {
  const auto offer = offer_in_bands(pixels, windows, count);
  if (!offer) return std::nullopt;
  const auto make = [&](PackedWeights& weights) { return make_in_bands(pixels, windows, count, weights); };
  const std::size_t outputs = pair.windows.outputs();
  return floats_of(run_made("bands", *offer, make, {pair.pixels.input.bytes()}, outputs * sizeof(float), threads),
                   outputs);
}

std::vector<float> one_after_the_other(const Layered& pixels, const Layered& windows, const LayerPair& pair) {
  const TensorBuffer between =
      run_kernel(*pixels.row, pixels.work, {pair.pixels.input.bytes()}, pair.pixels.outputs() * sizeof(float), 1);
  const std::span<const std::byte> read(between.data(), between.size());
  const std::size_t outputs = pair.windows.outputs();
  return floats_of(run_kernel(*windows.row, windows.work, {read}, outputs * sizeof(float), 1), outputs);
}

TEST(Bands, GiveTheBitsOfBothKernelsInAnyNumberAndWithAnyThreads) {
  std::size_t compared = 0;
  for_layers_of<LayerPair>(pair_at_random, [&](const LayerPair& pair) {
    for (const char* const first : forms_here(kPixelForms, pair.pixels.work())) {
      for (const char* const second : forms_here(kWindowForms, pair.windows.work())) {
        const Layered pixels{&row_named(first), pair.pixels.work()};
        const Layered windows{&row_named(second), pair.windows.work()};
        const std::vector<float> expected = one_after_the_other(pixels, windows, pair);
        for (std::size_t count = 1; count <= std::min<std::size_t>(pair.windows.shape.output_height, 5); ++count) {
          const auto found = run_in_bands(pixels, windows, pair, count, static_cast<int>(count % 3) + 1);
          if (!found) continue;
          ++compared;
          EXPECT_TRUE(same_bits(*found, expected)) << count << " bands of " << pair.pixels.text() << " and "
                                                   << pair.windows.text() << " by " << first << " and " << second;
        }
      }
    }
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

// The layer in front is a step of its own, the two in bands another one.
TEST(Bands, AreAStepOfANetworkWithXnnpacksAnswer) {
  const Graph graph = graph_of(R"(
%x = input f32[1,3,112,112]
%1 = Conv(%x, w1:f32[16,3,1,1]#w1)
%2 = Conv(%1, w2:f32[96,16,1,1]#w2, b2:f32[96]#b2)
%3 = Clip(%2, l:f32[]{0}, m:f32[]{6})
%4 = Conv(%3, w3:f32[96,1,3,3]#w3, b3:f32[96]#b3) {group=96, pads=[1,1,1,1], strides=[2,2]}
%5 = Relu(%4)
output %5
)");
  const Tensor input = input_of(graph);
  const NetworkAnswer expected = answer_to(input, graph, {.own_kernels = false});
  for (const int threads : {1, 3}) {
    const NetworkAnswer found = answer_to(
        input, graph, {.threads = threads, .own_kernels = false, .forced_kernels = {kPixelForms[0], kWindowForms[0]}});
    EXPECT_EQ(found.own, 2);
    const auto numbers = found.numbers.data<float>();
    ASSERT_EQ(numbers.size(), expected.numbers.data<float>().size());
    for (std::size_t i = 0; i < numbers.size(); ++i)
      ASSERT_NEAR(numbers[i], expected.numbers.data<float>()[i], 1e-4F) << i;
  }
}

}  // namespace
}  // namespace kinglet::engine::kernels
