// SPDX-License-Identifier: Apache-2.0
// The kernel of woven rows gives the bits of sums that take one product after the other, as XNNPACK's do, in every form
// and with any number of threads. Layers at random: shapes, windows, paddings, borders, what stands at the end.
//   KINGLET_KERNEL_SECONDS=N   for so long (float_layers.h)
#include "engine/backend/kernels/convolution_parts.h"
#include "engine/backend/xnnpack/processor.h"
#include "engine/session/session.h"
#include "tests/contract/kernels/half_layers.h"
#include "tests/contract/kernels/networks.h"

namespace kinglet::engine::kernels {
namespace {

Layer woven_at_random(Random& random) {
  const auto pick = [&](std::size_t least, std::size_t most) { return pick_of(random, least, most); };
  const bool pixels = pick(0, 1) == 0;  // one tap, mostly
  const xnn::Window window = window_at_random(random, pixels ? square_window(1, 2, 0) : square_window(5, 2, 2, 2));
  const std::size_t groups = pick(0, 3) == 0 ? pick(2, 4) : 1;
  const ConvolutionShape shape{.batch = pick(1, 2),
                               .input_height = pick(pixels ? 1 : 9, 14),
                               .input_width = pick(pixels ? 1 : 9, 14),
                               .input_channels = groups == 1 ? pick(1, pixels ? 70 : 20) : groups * 8 * pick(1, 2),
                               .output_channels = groups * pick(1, 60 / groups),
                               .groups = groups,
                               .window = window};
  const xnn::Range range =
      pick(0, 1) == 0 ? xnn::Range{} : xnn::Range{.min = 0, .max = pick(0, 1) == 0 ? 6 : xnn::kNoMax};
  return finished(random, shape, pick(0, 3) > 0, pick(0, 1) == 0, range);
}

constexpr std::array kFloatForms{"woven_f32__scalar", "woven_f32__avx2", "woven_f32__avx512", "woven_f32__neon"};

void expect_bits(const Layer& layer, int threads) {
  expect_bits_in_forms(kFloatForms, layer, threads, answers_of(layer, answer_in_order));
}

// The numbers of one type: how many are in a vector, and what asks of a layer that every form gives its bits.
struct Numbers {
  std::size_t lanes;
  void (*expect)(const Layer& layer, int threads);
};

void expect_at_random(const Numbers& numbers) {
  for_layers(woven_at_random, [&](const Layer& layer) {
    for (const int threads : {1, 2 + static_cast<int>(layer.shape.input_channels % 3)}) numbers.expect(layer, threads);
  });
}

// Panels of any number of rows and more, blocks of any width (in thirds of a vector), and what is left of both.
void expect_remainders(const Numbers& numbers) {
  Random random(7);
  for (std::size_t pixels = 1; pixels <= 30; ++pixels) {
    for (const std::size_t thirds : {1, 2, 3, 4, 6, 9, 10, 12, 15, 18, 21, 22, 24, 27, 30}) {
      const std::size_t outputs = std::max<std::size_t>(thirds * numbers.lanes / 3, 1);
      const std::size_t channels = numbers.lanes * (pixels % 5) + 1 + outputs % 8;
      const Layer layer = finished(
          random, {.input_height = 1, .input_width = pixels, .input_channels = channels, .output_channels = outputs},
          true, pixels % 2 == 0, {.min = -1, .max = outputs % 3 == 0 ? 1 : xnn::kNoMax});
      numbers.expect(layer, 1 + static_cast<int>(pixels % 2));
    }
  }
}

// Lines longer than any panel, in the middle of which windows lie in the input as a whole; two images of them.
void expect_long_lines(const Numbers& numbers) {
  Random random(5);
  for (const std::size_t groups : {1, 3}) {
    for (const auto& [stride, dilation, pad] : {std::array{1U, 1U, 1U}, {2U, 1U, 1U}, {1U, 2U, 2U}, {2U, 1U, 0U}}) {
      const xnn::Window window = square_window(3, stride, pad, dilation);
      const Layer layer = finished(random,
                                   {.batch = 2,
                                    .input_height = 7,
                                    .input_width = 41,
                                    .input_channels = groups == 1 ? 5 : groups * numbers.lanes,
                                    .output_channels = groups * (numbers.lanes + 3),
                                    .groups = groups,
                                    .window = window},
                                   true, stride == 1, {.min = 0});
      numbers.expect(layer, static_cast<int>(stride));
    }
  }
}

// Panels of any number of rows, channels of one vector and more, outputs of one and of blocks; borders are everywhere.
void expect_groups(const Numbers& numbers) {
  Random random(9);
  for (std::size_t width = 1; width <= 7; ++width) {
    for (const std::size_t vectors : {1, 2, 3}) {
      for (const std::size_t outputs : {std::size_t{1}, numbers.lanes, 2 * numbers.lanes + 4, 4 * numbers.lanes}) {
        const Layer layer = finished(random,
                                     {.input_height = 1 + width % 3,
                                      .input_width = width,
                                      .input_channels = 3 * vectors * numbers.lanes,
                                      .output_channels = 3 * outputs,
                                      .groups = 3,
                                      .window = square_window(3, 1, 1)},
                                     true, outputs == numbers.lanes, {.min = 0});
        for (const int threads : {1, 3}) numbers.expect(layer, threads);
      }
    }
  }
}

// Weights that no cache holds: batches of panels, the last of fewer, and all weights past each of them.
void expect_batches(const Numbers& numbers) {
  Random random(9);
  const std::size_t channels = 64 * numbers.lanes;
  const xnn::Window wide = square_window(3, 1, 1);
  for (const ConvolutionShape& shape : {ConvolutionShape{.input_height = 7, .input_width = 7, .window = wide},
                                        {.input_height = 13, .input_width = 14, .window = square_window(3, 2, 1)},
                                        {.input_height = 1, .input_width = 50, .window = {}}}) {
    ConvolutionShape sizes = shape;
    sizes.input_channels = shape.window.kernel_height == 1 ? 9 * channels - 1 : channels;
    sizes.output_channels = 47;
    numbers.expect(finished(random, sizes, true, shape.input_height == 7, {.min = 0}), 3);
  }
}

constexpr Numbers kFloats{.lanes = 4, .expect = expect_bits};

TEST(Woven, IsTheConvolutionToTheBitInEveryFormAndWithAnyThreads) { expect_at_random(kFloats); }
TEST(Woven, TakesAnyRemainderOfPixelsChannelsAndOutputs) { expect_remainders(kFloats); }

TEST(Woven, ReadsWindowsOfLongLines) { expect_long_lines(kFloats); }

TEST(Woven, BringsManyWeightsToABatchOfPanels) { expect_batches(kFloats); }
TEST(Woven, ReadsGroupsOfWholeVectorsWhereTheyLie) { expect_groups(kFloats); }

// Of parts of vectors only where rows are not woven.
TEST(Woven, BringsOtherGroupsTogetherWithAvx) {
  Random random(9);
  const Layer layer = finished(random,
                               {.batch = 2,
                                .input_height = 7,
                                .input_width = 41,
                                .input_channels = 3 * 5,
                                .output_channels = 3 * 7,
                                .groups = 3,
                                .window = square_window(3, 1, 1)},
                               true, true, {.min = 0});
  EXPECT_FALSE(row_named("woven_f32__scalar").offer(layer.work()));
  EXPECT_FALSE(row_named("woven_f32__neon").offer(layer.work()));
  for (const char* const form : forms_here(kFloatForms, layer.work()))
    EXPECT_TRUE(same_bits(run(row_named(form), layer, 3), answers_of(layer, answer_in_order))) << form;
}

TEST(Woven, WeavesFirstWhereWeightsAreMany) {
  Random random(1);
  const auto scratch = [&](std::size_t outputs) {
    const Layer layer =
        finished(random, {.input_height = 7, .input_width = 7, .input_channels = 1024, .output_channels = outputs},
                 false, false, {});
    return row_named(kFloatForms[0]).offer(layer.work()).value().scratch_bytes;
  };
  EXPECT_EQ(scratch(96), 0);
  EXPECT_EQ(scratch(97), std::size_t{7 * 7 * 1024} * sizeof(float));
  EXPECT_EQ(scratch(4096), std::size_t{7 * 7 * 1024} * sizeof(float));
}

TEST(Woven, TakesNoMoreNumbersOfARowThanAPanelHasRoomFor) {
  Random random(1);
  const auto takes = [&](std::size_t channels) {
    const Layer layer =
        finished(random, {.input_height = 2, .input_width = 2, .input_channels = channels, .output_channels = 1}, false,
                 false, {});
    return row_named(kFloatForms[0]).offer(layer.work()).has_value();
  };
  EXPECT_TRUE(takes(4608));
  EXPECT_FALSE(takes(4609));
}

// --- Float16 ---------------------------------------------------------------------------------------------------------

constexpr std::array kHalfForms{"woven_f16__scalar", "woven_f16__neon"};

// One sum after the other, each rounded.
float half_answer_of(const Layer& layer, std::size_t index) {
  double sum = layer.bias.empty() ? 0 : without_small(double{layer.bias[index % layer.shape.output_channels]});
  for_terms(layer, index, [&](float number, float weight) {
    sum = half_of(without_small(double{number}) * without_small(double{weight}) + sum);
  });
  if (layer.adds) sum = half_of(sum + without_small(double{layer.added.data<float>()[index]}));
  if (std::isnan(sum)) return static_cast<float>(sum);
  return static_cast<float>(std::min(std::max(sum, double{layer.range.min}), double{layer.range.max}));
}

void expect_halves(const Layer& layer, int threads) {
  EXPECT_FALSE(row_named(kHalfForms[0]).offer(layer.work())) << "of floats";
  expect_halves_in_forms(kHalfForms, layer, threads, half_answer_of);
}

constexpr Numbers kHalves{.lanes = 8, .expect = expect_halves};

TEST(WovenHalf, IsTheConvolutionToTheBitInEveryFormAndWithAnyThreads) { expect_at_random(kHalves); }
TEST(WovenHalf, TakesAnyRemainderOfPixelsChannelsAndOutputs) { expect_remainders(kHalves); }
TEST(WovenHalf, ReadsWindowsOfLongLines) { expect_long_lines(kHalves); }
TEST(WovenHalf, BringsManyWeightsToABatchOfPanels) { expect_batches(kHalves); }
TEST(WovenHalf, ReadsGroupsOfWholeVectorsWhereTheyLie) { expect_groups(kHalves); }

// Of a first layer: the caller gives floats.
TEST(WovenHalf, RoundsFloatsThatItReadsBeforeAnythingElse) {
  for_layers(woven_at_random, [](const Layer& layer) {
    const std::optional<Work> work = layer.work().in_halves()->from_floats();
    EXPECT_EQ(work.has_value(), !layer.adds);
    if (!work) return;
    const std::vector<float> expected = answers_of(in_halves(layer), half_answer_of);
    EXPECT_TRUE(row_named(kHalfForms[0]).offer(*work)) << layer.text();
    for (const char* const form : forms_here(kHalfForms, *work)) {
      for (const int threads : {1, 3}) {
        const auto found = run_to_halves(row_named(form), *work, {layer.input.bytes()}, layer.outputs(), threads);
        EXPECT_TRUE(std::ranges::equal(found, expected, same_halves))
            << form << ", " << threads << ": " << layer.text();
      }
    }
  });
}

// Sums of -0, as of the numbers that were too small.
TEST(WovenHalf, EndsWithTheZeroThatTheProcessorHasOfTwo) {
  Random random(1);
  for (const auto& [range, is_negative] :
       {std::pair(xnn::Range{.max = 0}, true), {xnn::Range{.min = 0}, false}, {xnn::Range{}, true}}) {
    Layer layer = finished(random, {.input_height = 3, .input_width = 3, .input_channels = 8, .output_channels = 9},
                           true, false, range);
    std::ranges::fill(layer.input.mutable_data<float>(), -0.0F);
    std::ranges::fill(layer.weights, 1.0F);
    std::ranges::fill(layer.bias, -0.0F);
    for (const std::string_view form : kHalfForms) {
      if (!row_named(form).offer(layer.work().in_halves().value())) continue;
      for (const float number : run_in_halves(row_named(form), layer, 1)) {
        EXPECT_EQ(number, 0) << form;
        EXPECT_EQ(std::signbit(number), is_negative) << form << ", at least " << range.min << ", at most " << range.max;
      }
    }
  }
}

// A first layer, pixels, and an addition at the end.
constexpr std::string_view kThreeLayers = R"(
%x = input f32[1,3,21,19]
%1 = Conv(%x, w1:f32[20,3,3,3]#w1, b1:f32[20]#b1) {pads=[1,1,1,1], strides=[2,2]}
%2 = Relu(%1)
%3 = Conv(%2, w2:f32[44,20,1,1]#w2, b2:f32[44]#b2)
%4 = Clip(%3, l:f32[]{0}, m:f32[]{6})
%5 = Conv(%4, w3:f32[20,44,1,1]#w3, b3:f32[20]#b3)
%6 = Add(%5, %2)
)";

TEST(WovenHalf, TakesSpecialNumbersAsTheProcessorHasThem) {
  Random random(3);
  const Layer usual = finished(
      random, {.input_height = 7, .input_width = 5, .input_channels = 16, .output_channels = 32}, true, true, {});
  for_special_halves(random, usual, [&](Layer& layer) {
    std::ranges::generate(layer.added.mutable_data<float>(), [&] { return special_half(random); });
    std::ranges::generate(layer.bias, [&] { return special_half(random); });
    expect_halves(layer, 2);
  });
}

// Beside XNNPACK, which has the value behind in float16, and converts the answer.
TEST(WovenHalf, GivesTheBitsOfXnnpackInANetwork) {
  if (!Session::half_arithmetic()) GTEST_SKIP() << "no float16 arithmetic here";
  const Graph graph = graph_of(std::string(kThreeLayers) + R"(%7 = Conv(%6, w4:f32[48,20,3,3]#w4) {strides=[2,2]}
%8 = HardSwish(%7)
%9 = Exp(%8)
output %9
)");
  constexpr std::ptrdiff_t kOwn = 5;  // four layers and an addition
  expect_answer_of_xnnpack(input_of(graph), graph, kHalfForms, kOwn, true);
}

// --- What it costs ---------------------------------------------------------------------------------------------------

// Of 224x224 in three channels: to join a row's numbers pays where many outputs are made of them.
TEST(WovenHalf, TakesAFirstLayerOfManyTapsAndLeavesOneOfFewToXnnpack) {
  if (!Session::half_arithmetic()) GTEST_SKIP() << "no float16 arithmetic here";
  const auto cost = [](std::uint32_t side, std::size_t outputs) {
    Random random(1);
    const ConvolutionShape shape{.input_height = 224,
                                 .input_width = 224,
                                 .input_channels = 3,
                                 .output_channels = outputs,
                                 .window = square_window(side, 2, side / 2)};
    const Layer layer = finished(random, shape, true, false, {});
    return row_named(kHalfForms[1]).offer(layer.work().in_halves()->from_floats().value())->cost;
  };
  EXPECT_LT(cost(7, 64), kCostOfHalves);
  EXPECT_GE(cost(3, 32), kCostOfHalves);
}

// What a fast form asks for, where this processor has it.
std::optional<double> cost_of(std::string_view form, const ConvolutionShape& shape, bool has_bias) {
  Random random(1);
  const Layer layer = finished(random, shape, has_bias, false, {});
  const auto offer = row_named(form).offer(layer.work());
  return offer ? std::optional<double>(offer->cost) : std::nullopt;
}

constexpr ConvolutionShape kOneRow{
    .input_height = 1, .input_width = 1, .input_channels = 240, .output_channels = 10, .window = {}};
constexpr ConvolutionShape kManyPixels{
    .input_height = 14, .input_width = 14, .input_channels = 96, .output_channels = 576, .window = {}};

TEST(Woven, LeavesAProductOfOneRowToXnnpack) {
  for (const std::string_view form : Forms(kFloatForms).subspan(1))
    EXPECT_GE(cost_of(form, kOneRow, false).value_or(1), 1) << form;
}

TEST(Woven, IsCheaperThanXnnpackWhereInstructionsDoNotWaitForEachOther) {
  const auto cost = cost_of("woven_f32__neon", kManyPixels, true);
  if (!cost) GTEST_SKIP() << "this processor has no form of it";
  EXPECT_EQ(*cost < 1, !xnn::runs_in_order());
}

TEST(Woven, IsCheaperThanXnnpackWithAvx2UnlessThereIsMore) {
  const auto cost = cost_of("woven_f32__avx2", kManyPixels, true);
  if (!cost) GTEST_SKIP() << "this processor has no form of it";
  EXPECT_EQ(*cost < 1, !has_avx512());
}

// Of XNNPACK's 32 outputs side by side, 16 and 48 leave half and a quarter empty, 576 none.
TEST(Woven, IsCheaperThanXnnpackWithAvx512WhereXnnpacksTileStaysEmpty) {
  ConvolutionShape shape = kManyPixels;
  for (const auto& [outputs, is_cheaper] : {std::pair(8, true), {16, true}, {31, false}, {48, true}, {576, false}}) {
    shape.output_channels = outputs;
    const auto cost = cost_of("woven_f32__avx512", shape, true);
    if (!cost) GTEST_SKIP() << "this processor has no form of it";
    EXPECT_EQ(*cost < 1, is_cheaper) << outputs;
  }
}

TEST(Woven, GivesTheBitsOfXnnpack) {
  if (!xnnpack_fuses()) GTEST_SKIP() << "XNNPACK rounds products and sums apart here";
  const Graph graph = graph_of(std::string(kThreeLayers) + R"(%7 = Conv(%6, w4:f32[9,20,1,1]#w4) {strides=[2,2]}
output %7
)");
  expect_answer_of_xnnpack(input_of(graph), graph, Forms(kFloatForms).first(1), 4);
}

// Products of matrices in each of their spellings. Of fewer outputs XNNPACK has sums in another order, with AVX-512.
TEST(Woven, GivesTheBitsOfXnnpackInProductsOfMatrices) {
  if (!xnnpack_fuses()) GTEST_SKIP() << "XNNPACK rounds products and sums apart here";
  const Graph graph = graph_of(R"(
%x = input f32[1,5,7,30]
%1 = MatMul(%x, w1:f32[30,50]#w1)
%2 = Add(%1, b1:f32[50]#b1)
%3 = Relu(%2)
%4 = Reshape(%3, s:i64[2]{35,50})
%5 = Gemm(%4, w2:f32[37,50]#w2, b2:f32[37]#b2) {transB=1}
%6 = Sigmoid(%5)
%7 = Gemm(%6, w3:f32[37,33]#w3)
output %7
)");
  for (const char* const form : forms_here(kFloatForms, Work{ProductF32{.rows = 5, .numbers = 4, .outputs = 3}}))
    expect_answer_of_xnnpack(input_of(graph), graph, {&form, 1}, 3);
}

}  // namespace
}  // namespace kinglet::engine::kernels
