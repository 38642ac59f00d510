// SPDX-License-Identifier: Apache-2.0
// The kernel of depthwise layers gives the bits of sums that take one product after the other, column by column,
// in every form and with any number of threads. Layers at random: sizes, channels, steps, paddings, bounds, numbers of
// every kind.
//   KINGLET_KERNEL_SECONDS=N   for so long (float_layers.h)
#include <cmath>
#include <limits>

#include "engine/backend/xnnpack/processor.h"
#include "tests/contract/kernels/half_layers.h"
#include "tests/contract/kernels/networks.h"

namespace kinglet::engine::kernels {
namespace {

constexpr std::array kDepthwiseForms{"depthwise_f32__scalar", "depthwise_f32__avx512", "depthwise_f32__avx2",
                                     "depthwise_f32__neon"};
constexpr std::array kDepthwiseHalfForms{"depthwise_f16__scalar", "depthwise_f16__neon"};

ConvolutionShape depthwise_shape(std::size_t height, std::size_t width, std::size_t channels,
                                 const xnn::Window& window) {
  return {.input_height = height,
          .input_width = width,
          .input_channels = channels,
          .output_channels = channels,
          .groups = channels,
          .window = window};
}

// Of a depthwise layer each channel has one window's weights.
Layer depthwise_of(Random& random, const ConvolutionShape& shape, xnn::Range range) {
  Layer layer = finished(random, shape, pick_of(random, 0, 3) > 0, false, range);
  layer.weights.resize(shape.taps() * shape.output_channels);
  return layer;
}

Layer depthwise_at_random(Random& random) {
  const auto pick = [&](std::size_t least, std::size_t most) { return pick_of(random, least, most); };
  const std::uint32_t side = pick(0, 1) == 0 ? 3 : 5;
  const auto stride = static_cast<std::uint32_t>(pick(1, 2));
  xnn::Window window = square_window(side, stride, 0);
  for (std::uint32_t* padding : {&window.pad_top, &window.pad_left, &window.pad_bottom, &window.pad_right})
    *padding = static_cast<std::uint32_t>(pick(0, side - 1));
  const std::size_t least = pick(0, 2) == 0 ? 1 : side;
  if (least < side) window.pad_top = window.pad_left = window.pad_bottom = window.pad_right = side - 1;
  ConvolutionShape shape =
      depthwise_shape(pick(least, 9), pick(least, 30), pick(1, pick(0, 3) == 0 ? 150 : 40), window);
  shape.batch = pick(1, 2);
  const xnn::Range range =
      pick(0, 1) == 0 ? xnn::Range{} : xnn::Range{.min = 0, .max = pick(0, 1) == 0 ? 6 : xnn::kNoMax};
  return depthwise_of(random, shape, range);
}

// As kernels take what is too small for a float's full precision.
float flushed(float number) { return std::fpclassify(number) == FP_SUBNORMAL ? std::copysign(0.0F, number) : number; }

// As the processor's own instructions have it: of -0 and 0, ARM's take 0 for the larger.
float clipped(float sum, xnn::Range range) {
#ifdef __aarch64__
  if (sum == range.min) sum = range.min;
#endif
  return std::min(std::max(sum, range.min), range.max);
}

// Calls take(number, weight) column by column, with zeros in the padding.
void for_depthwise_terms(const Layer& layer, std::size_t index, const std::function<void(float, float)>& take) {
  const ConvolutionShape& shape = layer.shape;
  const std::size_t side = shape.window.kernel_width;
  const std::size_t channel = index % shape.output_channels;
  std::vector<float> numbers(side * side);  // zeros in the padding
  for_places(shape, index, [&](std::size_t number, std::size_t weight) {
    numbers[weight % (side * side)] = flushed(layer.input.data<float>()[number]);
  });
  for (std::size_t x = 0; x < side; ++x) {
    for (std::size_t y = 0; y < side; ++y)
      take(numbers[y * side + x], flushed(layer.weights[channel * side * side + y * side + x]));
  }
}

float depthwise_bias_of(const Layer& layer, std::size_t index) {
  return layer.bias.empty() ? 0 : flushed(layer.bias[index % layer.shape.output_channels]);
}

float depthwise_answer_of(const Layer& layer, std::size_t index) {
  float sum = depthwise_bias_of(layer, index);
  for_depthwise_terms(layer, index, [&](float number, float weight) { sum = flushed(std::fma(number, weight, sum)); });
  return clipped(sum, layer.range);
}

// Each sum rounded to float16.
float depthwise_half_of(const Layer& layer, std::size_t index) {
  double sum = without_small(double{depthwise_bias_of(layer, index)});
  for_depthwise_terms(layer, index, [&](float number, float weight) {
    sum = half_of(without_small(double{number}) * without_small(double{weight}) + sum);
  });
  if (std::isnan(sum)) return static_cast<float>(sum);
  return static_cast<float>(std::min(std::max(sum, double{layer.range.min}), double{layer.range.max}));
}

void expect_bits_of_depthwise_forms(const Layer& layer, int threads) {
  expect_bits_in_forms(kDepthwiseForms, layer, threads, answers_of(layer, depthwise_answer_of));
}

void expect_depthwise_halves(const Layer& layer, int threads) {
  expect_halves_in_forms(kDepthwiseHalfForms, layer, threads, depthwise_half_of);
}

TEST(Depthwise, IsTheConvolutionToTheBitInEveryFormAndWithAnyThreads) {
  for_layers(depthwise_at_random, [](const Layer& layer) {
    for (const int threads : {1, 2 + static_cast<int>(layer.shape.input_channels % 3)})
      expect_bits_of_depthwise_forms(layer, threads);
  });
}

TEST(DepthwiseHalf, IsTheConvolutionToTheBitInEveryFormAndWithAnyThreads) {
  for_layers(depthwise_at_random, [](const Layer& layer) {
    expect_depthwise_halves(layer, 1 + static_cast<int>(layer.shape.input_channels % 3));
  });
}

struct LargeLayer {
  std::size_t height, width, channels, batch;
  std::uint32_t side;
};

// More strips than one, more images than one, rows that the bands do not share out, images of fewer rows than a window.
constexpr std::array<LargeLayer, 5> kLargeLayers{{{.height = 57, .width = 61, .channels = 80, .batch = 1, .side = 3},
                                                  {.height = 61, .width = 50, .channels = 160, .batch = 1, .side = 5},
                                                  {.height = 19, .width = 100, .channels = 32, .batch = 6, .side = 3},
                                                  {.height = 2, .width = 26, .channels = 176, .batch = 32, .side = 5},
                                                  {.height = 1, .width = 50, .channels = 480, .batch = 13, .side = 3}}};

Layer layer_of(const LargeLayer& large, std::size_t times) {
  Random random(large.channels);
  ConvolutionShape shape =
      depthwise_shape(large.height, large.width * times, large.channels, square_window(large.side, 1, large.side / 2));
  shape.batch = large.batch;
  return depthwise_of(random, shape, {.min = -1, .max = 1});
}

TEST(Depthwise, OverItsInputIsWhatItIsBesideIt) {
  for (const LargeLayer& large : kLargeLayers) {
    const Layer layer = layer_of(large, 1);
    const std::vector<float> beside = run(row_named(kDepthwiseForms[0]), layer);
    for (const std::string_view form : kDepthwiseForms) {
      const bool is_twin = form == kDepthwiseForms[0];  // slow
      const auto offer = row_named(form).offer(layer.work());
      EXPECT_TRUE(!is_twin || offer->writes_over) << layer.text();
      if (!offer || !offer->writes_over) continue;
      for (const int threads : is_twin ? std::vector{3} : std::vector{1, 2, 5}) {
        EXPECT_TRUE(same_bits(run(row_named(form), layer, threads, Lies::kOver), beside))
            << form << ", " << threads << " threads: " << layer.text();
      }
    }
  }
}

TEST(Depthwise, LiesBesideItsInputWhereWhatIsKeptWouldTakeAsMuch) {
  const LargeLayer large{.height = 64, .width = 64, .channels = 64, .batch = 1, .side = 5};
  const auto offer = row_named(kDepthwiseForms[0]).offer(layer_of(large, 1).work());
  EXPECT_FALSE(offer->writes_over);
  EXPECT_EQ(offer->scratch_bytes, 0U);
}

TEST(DepthwiseHalf, OverItsInputIsWhatItIsBesideIt) {
  const Layer layer = in_halves(layer_of(kLargeLayers[0], 2));
  const KernelRow& twin = row_named(kDepthwiseHalfForms[0]);
  const std::vector<float> beside = run_in_halves(twin, layer, 1);
  EXPECT_TRUE(std::ranges::equal(run_in_halves(twin, layer, 3, Lies::kOver), beside, same_halves)) << layer.text();
}

TEST(DepthwiseHalf, TakesSpecialNumbersAsTheProcessorHasThem) {
  Random random(3);
  for (const std::uint32_t side : {3U, 5U}) {
    const Layer usual = depthwise_of(random, depthwise_shape(9, 12, 21, square_window(side, 1, side / 2)), {});
    for_special_halves(random, usual, [](const Layer& layer) { expect_depthwise_halves(layer, 2); });
  }
}

// Groups of any number of outputs, what is left of a vector of channels, long rows whose last groups overlap.
TEST(Depthwise, TakesAnyWidthAndAnyRemainderOfChannels) {
  Random random(7);
  for (const std::size_t width :
       std::initializer_list<std::size_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 64, 80, 113}) {
    for (const std::uint32_t side : {3U, 5U}) {
      for (const std::uint32_t step : {1U, 2U}) {
        const std::size_t channels = (width + side) % 4 < 2 ? 13 + width % 9 : 60 + width % 9;
        const ConvolutionShape shape = depthwise_shape(2, width, channels, square_window(side, step, side / 2));
        const Layer layer =
            depthwise_of(random, shape, width % 3 == 0 ? xnn::Range{} : xnn::Range{.min = -1, .max = 1});
        expect_bits_of_depthwise_forms(layer, 1 + static_cast<int>(width % 2));
        if (channels < 60) expect_depthwise_halves(layer, 1 + static_cast<int>(width % 2));
      }
    }
  }
}

TEST(Depthwise, TakesWindowsOf3And5ThatShareEnough) {
  Random random(1);
  const auto takes = [&](const ConvolutionShape& shape) {
    return row_named(kDepthwiseForms[0]).offer(finished(random, shape, true, false, {}).work()).has_value();
  };
  const ConvolutionShape good = depthwise_shape(12, 12, 8, square_window(5, 2, 1));
  EXPECT_TRUE(takes(good));
  for (const xnn::Window& window : {square_window(3, 3, 1), square_window(5, 3, 2), square_window(7, 1, 3),
                                    square_window(3, 1, 1, 2), xnn::Window{.kernel_height = 3, .kernel_width = 5},
                                    xnn::Window{.kernel_height = 3, .kernel_width = 3, .stride_height = 2}}) {
    ConvolutionShape bad = good;
    bad.window = window;
    EXPECT_FALSE(takes(bad)) << text_of(with_output(bad));
  }
  ConvolutionShape bad = good;
  bad.output_channels = 16;  // two filters a channel
  EXPECT_FALSE(takes(bad));
  bad = good;
  bad.groups = 4;
  EXPECT_FALSE(takes(bad));
  EXPECT_FALSE(row_named(kDepthwiseForms[0]).offer(finished(random, good, true, true, {}).work()))
      << "it ends with no addition";
}

// Of which an offer sees the sizes alone.
Work depthwise_work(const ConvolutionShape& shape) {
  return {ConvolutionF32{.shape = with_output(shape), .weights = {}, .bias = {}, .range = {}}};
}

// Of what it costs with AVX-512, not of what it takes: few numbers, and rows of one output, which share no columns.
TEST(Depthwise, LeavesFewNumbersAndRowsOfOneOutputToXnnpack) {
  for (const auto& [width, channels] : {std::pair<std::size_t, std::size_t>{4, 16}, {1, 4096}}) {
    const ConvolutionShape shape = depthwise_shape(64, width, channels, square_window(3, 1, 1));
    for (const std::string_view form : {"depthwise_f32__scalar", "depthwise_f32__avx512", "depthwise_f32__avx2"}) {
      const auto offer = row_named(form).offer(depthwise_work(shape));
      EXPECT_TRUE(!offer || offer->cost >= 1) << form << ": " << text_of(shape);
    }
  }
}

constexpr float kUnbounded = std::numeric_limits<float>::infinity();

// The one that a processor makes itself: which of two others comes back depends on how a product is written.
float no_number() {
  volatile float infinity = kUnbounded;
  return infinity - infinity;
}

// What every channel of a kind has here and there, one in so many of its numbers.
struct Kind {
  std::vector<float> numbers, weights, bias;
  std::size_t one_in = 1;
};

std::vector<Kind> special_kinds() {
  const std::vector<float> any{no_number(), kUnbounded, -kUnbounded, 0.0F, -0.0F, 1e-40F, -1e-40F, 3e38F, -3e38F};
  return {{.numbers = any, .weights = any, .bias = any, .one_in = 24},
          // Sums that stay -0, and such that do not.
          {.numbers = {0.0F}, .weights = {-1.0F}, .bias = {-0.0F}},
          {.numbers = {0.0F, -0.0F}, .weights = {1.0F, -2.0F}, .bias = {0.0F, -0.0F}},
          // Too small before, and too small products and sums.
          {.numbers = {1e-40F, -1e-40F}, .weights = {1e20F, -1.0F, 1e-40F}, .bias = {1e-40F, -1e-40F}},
          {.numbers = {1e-20F, -1e-20F}, .weights = {1e-19F, -1e-19F, 1e-18F}, .bias = {1.2e-38F, -0.0F}},
          // Sums without end, of both signs, and those two together.
          {.numbers = {3e38F, -3e38F, 1e20F}, .weights = {2.0F, -2.0F, 1e-20F}, .bias = {3e38F, kUnbounded}}};
}

Layer special_at_random(Random& random) {
  static const std::vector<Kind> kinds = special_kinds();
  constexpr std::array kRanges{xnn::Range{}, xnn::Range{.min = 0, .max = xnn::kNoMax},
                               xnn::Range{.min = xnn::kNoMin, .max = 6}, xnn::Range{.min = 0, .max = 6},
                               xnn::Range{.min = -1, .max = 0}};
  Layer layer = depthwise_at_random(random);
  layer.range = kRanges[pick_of(random, 0, kRanges.size() - 1)];
  const std::size_t channels = layer.shape.output_channels;
  const std::size_t first = pick_of(random, 0, kinds.size() - 1);
  const auto put = [&](float& number, std::size_t channel, std::vector<float> Kind::* which) {
    const Kind& kind = kinds[(first + channel) % kinds.size()];
    if (pick_of(random, 1, kind.one_in) == 1) number = (kind.*which)[pick_of(random, 0, (kind.*which).size() - 1)];
  };
  const auto numbers = layer.input.mutable_data<float>();
  for (std::size_t i = 0; i < numbers.size(); ++i) put(numbers[i], i % channels, &Kind::numbers);
  for (std::size_t i = 0; i < layer.weights.size(); ++i) put(layer.weights[i], i / layer.shape.taps(), &Kind::weights);
  for (std::size_t i = 0; i < layer.bias.size(); ++i) put(layer.bias[i], i, &Kind::bias);
  return layer;
}

TEST(Depthwise, KeepsTheBitsOfWhatIsNoNumberOfInfinitiesZerosAndTinyNumbersUnderEveryClip) {
  std::array<std::size_t, 4> met{};
  for_layers(special_at_random, [&](const Layer& layer) {
    for (const int threads : {1, 3}) expect_bits_of_depthwise_forms(layer, threads);
    for (const float number : run(row_named(kDepthwiseForms[0]), layer)) {
      met[0] += std::isnan(number) ? 1 : 0;
      met[1] += std::isinf(number) ? 1 : 0;
      met[2] += number == 0 && std::signbit(number) ? 1 : 0;
      met[3] += number == 0 && !std::signbit(number) ? 1 : 0;
    }
  });
  for (const std::size_t each : met) EXPECT_GT(each, 1000U);
}

// On ARM what counts are instructions, where they do not wait for each other.
TEST(Depthwise, IsCheaperThanXnnpackOnArmUnlessThereAreFewNumbers) {
  const auto cost = [](std::size_t size, std::size_t channels) -> std::optional<double> {
    const ConvolutionShape shape = depthwise_shape(size, size, channels, square_window(3, 1, 1));
    const auto offer = row_named("depthwise_f32__neon").offer(depthwise_work(shape));
    return offer ? std::optional(offer->cost) : std::nullopt;
  };
  if (!cost(56, 64)) GTEST_SKIP() << "this processor has no form of it";
  EXPECT_EQ(*cost(56, 64) < 1, !xnn::runs_in_order());
  EXPECT_GE(*cost(3, 8), 1);
}

// With AVX-512 two windows of 3x3 two columns apart share too little.
TEST(Depthwise, LeavesWindowsOf3x3WithAStepOf2ToXnnpackWithAvx512) {
  const Work work = depthwise_work(depthwise_shape(56, 56, 64, square_window(3, 2, 1)));
  const auto offer = row_named("depthwise_f32__avx512").offer(work);
  if (!offer) GTEST_SKIP() << "no AVX-512 here";
  EXPECT_GE(offer->cost, 1);
}

// Where XNNPACK has kernels whose order the own ones keep.
bool xnnpack_keeps_the_order(int side) {
#if defined(__x86_64__)
  return side > 0 && __builtin_cpu_supports("avx512f") != 0;
#else
  return side == 3;  // its 5x5 adds up in two sums
#endif
}

void expect_answer_of_depthwise_forms(const Graph& graph, std::ptrdiff_t layers, bool half = false) {
  const Work work = depthwise_work(depthwise_shape(9, 9, 8, square_window(3, 1, 1)));
  const std::vector<const char*> forms =
      half ? forms_here(kDepthwiseHalfForms, work.in_halves().value()) : forms_here(kDepthwiseForms, work);
  EXPECT_FALSE(forms.empty());
  expect_answer_of_xnnpack(input_of(graph), graph, forms, layers, half);
}

constexpr const char* kWindowsOf3x3 = R"(
%x = input f32[1,3,23,19]
%0 = Conv(%x, w:f32[28,3,1,1]#w)
%1 = Conv(%0, a:f32[28,1,3,3]#a, b:f32[28]#b) {group=28, pads=[1,1,1,1]}
%2 = Relu(%1)
%3 = Conv(%2, c:f32[28,1,3,3]#c) {group=28, pads=[0,0,1,1], strides=[2,2]}
%4 = Abs(%3)
%5 = Conv(%4, d:f32[28,1,3,3]#d, e:f32[28]#e) {group=28, pads=[1,1,1,1], strides=[2,2]}
%6 = Clip(%5, l:f32[]{0}, m:f32[]{6})
%7 = Conv(%6, y:f32[8,28,1,1]#y)
output %7
)";

TEST(Depthwise, GivesTheBitsOfXnnpackInANetworkOf3x3) {
  if (!xnnpack_keeps_the_order(3)) GTEST_SKIP() << "XNNPACK's forms may add up in another order here";
  expect_answer_of_depthwise_forms(graph_of(kWindowsOf3x3), 3);
}

TEST(DepthwiseHalf, GivesTheBitsOfXnnpackInANetworkOf3x3) {
  if (!Session::half_arithmetic()) GTEST_SKIP() << "no float16 arithmetic here";
  expect_answer_of_depthwise_forms(graph_of(kWindowsOf3x3), 3, true);
}

TEST(Depthwise, GivesTheBitsOfXnnpackInANetwork) {
  if (!xnnpack_keeps_the_order(5)) GTEST_SKIP() << "XNNPACK's forms may add up in another order here";
  expect_answer_of_depthwise_forms(graph_of(R"(
%x = input f32[1,3,23,19]
%0 = Conv(%x, w:f32[24,3,1,1]#w)
%1 = Conv(%0, a:f32[24,1,3,3]#a, b:f32[24]#b) {group=24, pads=[1,1,1,1]}
%2 = Relu(%1)
%3 = Conv(%2, c:f32[24,1,5,5]#c) {group=24, pads=[2,2,2,2]}
%4 = Abs(%3)
%5 = Conv(%4, d:f32[24,1,5,5]#d, e:f32[24]#e) {group=24, pads=[1,1,2,2], strides=[2,2]}
%6 = HardSwish(%5)
%7 = Conv(%6, f:f32[24,1,5,5]#f, g:f32[24]#g) {group=24, pads=[2,2,2,2], strides=[2,2]}
%8 = Clip(%7, l:f32[]{0}, m:f32[]{6})
%9 = Conv(%8, y:f32[8,24,1,1]#y)
output %9
)"),
                                   4);
}

// The layer's answer by XNNPACK's operator alone.
std::vector<float> answer_of_xnnpack(const Layer& layer) {
  const ConvolutionShape& shape = layer.shape;
  const xnn::Window& window = shape.window;
  const std::size_t channels = shape.output_channels;
  Graph graph = graph_of(
      std::format("%x = input f32[{},{},{},{}]\n"
                  "%0 = Transpose(%x) {{perm=[0,3,1,2]}}\n"
                  "%1 = Conv(%0, w:f32[{},1,{},{}]#w, b:f32[{}]#b) {{group={}, pads=[{},{},{},{}], strides=[{},{}]}}\n"
                  "%2 = Clip(%1, l:f32[]{{{}}}, m:f32[]{{{}}})\n"
                  "%3 = Transpose(%2) {{perm=[0,2,3,1]}}\n"
                  "output %3\n",
                  shape.batch, shape.input_height, shape.input_width, channels, channels, window.kernel_height,
                  window.kernel_width, channels, channels, window.pad_top, window.pad_left, window.pad_bottom,
                  window.pad_right, window.stride_height, window.stride_width, layer.range.min, layer.range.max));
  const auto give = [&](std::string_view name, const std::vector<float>& values) {
    const ValueId id = graph.find_value(name).value();
    graph.set_constant(id, Tensor::of<float>(*graph.value(id).shape, std::span(values)));
  };
  give("w", layer.weights);
  give("b", layer.bias.empty() ? std::vector<float>(channels) : layer.bias);
  auto session = Session::create(std::move(graph), {.own_kernels = false});
  if (!session) throw std::runtime_error(describe(session.error()));
  for (const StepInfo& step : session->plan().steps) EXPECT_EQ(step.backend, "xnnpack") << step.name;
  EXPECT_TRUE(session->set_input(0, Tensor::of<float>(session->inputs().front().shape, layer.input.data<float>())));
  EXPECT_TRUE(session->run());
  const auto numbers = session->get_output(0);
  return {numbers.data<float>().begin(), numbers.data<float>().end()};
}

TEST(Depthwise, GivesTheBitsOfXnnpackOfAllKindsOfNumbers) {
  if (!xnnpack_keeps_the_order(3)) GTEST_SKIP() << "XNNPACK's forms may add up in another order here";
  for_layers(special_at_random, [](const Layer& layer) {
    if (!xnnpack_keeps_the_order(static_cast<int>(layer.shape.window.kernel_width))) return;
    expect_bits_in_forms(kDepthwiseForms, layer, 2, answer_of_xnnpack(layer));
  });
}

}  // namespace
}  // namespace kinglet::engine::kernels
