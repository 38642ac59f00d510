// SPDX-License-Identifier: Apache-2.0
// The kernel of woven rows gives the bits of sums that take one product after the other, as XNNPACK's do, in every form
// and with any number of threads. Layers at random: shapes, windows, paddings, borders, what stands at the end.
//   KINGLET_KERNEL_SECONDS=N   for so long (float_layers.h)
#include <cmath>

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
  const ConvolutionShape shape{.batch = pick(1, 2),
                               .input_height = pick(pixels ? 1 : 9, 14),
                               .input_width = pick(pixels ? 1 : 9, 14),
                               .input_channels = pick(1, pixels ? 70 : 20),
                               .output_channels = pick(1, 60),
                               .window = window};
  const xnn::Range range =
      pick(0, 1) == 0 ? xnn::Range{} : xnn::Range{.min = 0, .max = pick(0, 1) == 0 ? 6 : xnn::kNoMax};
  return finished(random, shape, pick(0, 3) > 0, pick(0, 1) == 0, range);
}

// One sum after the other, in the order that XNNPACK has: taps, and the channels of each.
float answer_of(const Layer& layer, std::size_t index) {
  const ConvolutionShape& shape = layer.shape;
  const std::size_t output = index % shape.output_channels;
  float sum = layer.bias.empty() ? 0 : layer.bias[output];
  for_terms(layer, index, [&](float number, float weight) { sum = std::fma(number, weight, sum); });
  if (layer.adds) sum += layer.added.data<float>()[index];
  return std::min(std::max(sum, layer.range.min), layer.range.max);
}

std::vector<float> answers_of(const Layer& layer) {
  std::vector<float> answers;
  for (std::size_t i = 0; i < layer.outputs(); ++i) answers.push_back(answer_of(layer, i));
  return answers;
}

const KernelRow& twin() { return row_named("woven_f32__scalar"); }

// Where this processor has none: nothing.
const KernelRow* fast(const Layer& layer) {
  const KernelRow& row = row_named("woven_f32__neon");
  return row.offer(layer.work()) ? &row : nullptr;
}

// In every form of this processor, the twin among them.
void expect_bits(const Layer& layer, int threads) {
  const std::vector<float> expected = answers_of(layer);
  EXPECT_TRUE(same_bits(run(twin(), layer, threads), expected)) << "twin, " << threads << " threads: " << layer.text();
  const KernelRow* row = fast(layer);
  if (row == nullptr) return;
  EXPECT_TRUE(same_bits(run(*row, layer, threads), expected))
      << row->name << ", " << threads << " threads: " << layer.text();
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

// Panels of any number of rows, blocks of any width (in thirds of a vector), and what is left of both.
void expect_remainders(const Numbers& numbers) {
  Random random(7);
  for (std::size_t pixels = 1; pixels <= 16; ++pixels) {
    for (const std::size_t thirds : {1, 2, 3, 4, 6, 9, 10, 12, 15, 18, 21, 22, 27}) {
      const std::size_t outputs = std::max<std::size_t>(thirds * numbers.lanes / 3, 1);
      const std::size_t channels = numbers.lanes * (pixels % 5) + 1 + outputs % 8;
      const Layer layer = finished(
          random, {.input_height = 1, .input_width = pixels, .input_channels = channels, .output_channels = outputs},
          true, pixels % 2 == 0, {.min = -1, .max = outputs % 3 == 0 ? 1 : xnn::kNoMax});
      numbers.expect(layer, 1 + static_cast<int>(pixels % 2));
    }
  }
}

constexpr Numbers kFloats{.lanes = 4, .expect = expect_bits};

TEST(Woven, IsTheConvolutionToTheBitInEveryFormAndWithAnyThreads) { expect_at_random(kFloats); }
TEST(Woven, TakesAnyRemainderOfPixelsChannelsAndOutputs) { expect_remainders(kFloats); }

TEST(Woven, TakesNoMoreNumbersOfARowThanAPanelHasRoomFor) {
  Random random(1);
  const auto takes = [&](std::size_t channels) {
    const Layer layer =
        finished(random, {.input_height = 2, .input_width = 2, .input_channels = channels, .output_channels = 1}, false,
                 false, {});
    return twin().offer(layer.work()).has_value();
  };
  EXPECT_TRUE(takes(2304));
  EXPECT_FALSE(takes(2305));
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

// In every form that this processor has; the twin is one of them.
void expect_halves(const Layer& rough, int threads) {
  const Layer layer = in_halves(rough);
  std::vector<float> expected;
  for (std::size_t i = 0; i < layer.outputs(); ++i) expected.push_back(half_answer_of(layer, i));
  EXPECT_FALSE(row_named(kHalfForms[0]).offer(layer.work())) << "of floats";
  for (const std::string_view form : kHalfForms) {
    const Work work = layer.work().in_halves().value();
    if (form != kHalfForms[0] && !row_named(form).offer(work)) continue;
    EXPECT_TRUE(std::ranges::equal(run_in_halves(row_named(form), layer, threads), expected, same_halves))
        << form << ", " << threads << " threads: " << layer.text();
  }
}

constexpr Numbers kHalves{.lanes = 8, .expect = expect_halves};

TEST(WovenHalf, IsTheConvolutionToTheBitInEveryFormAndWithAnyThreads) { expect_at_random(kHalves); }
TEST(WovenHalf, TakesAnyRemainderOfPixelsChannelsAndOutputs) { expect_remainders(kHalves); }

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

// Beyond the range of float16, below its full precision, none, and no numbers.
TEST(WovenHalf, TakesSpecialNumbersAsTheProcessorHasThem) {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN(), kAll = std::numeric_limits<float>::infinity();
  constexpr std::array kSpecial{0.0F, -0.0F, 6e-8F, -5e-5F, 6.1e-5F, 1e-3F, 0.7F, -3.0F, 250.0F, 65504.0F, -6e4F};
  Random random(3);
  for (const float rare : {0.5F, kNone, kAll, -kAll}) {
    Layer layer = finished(random, {.input_height = 7, .input_width = 5, .input_channels = 16, .output_channels = 32},
                           true, true, {});
    const auto special = [&] { return kSpecial[pick_of(random, 0, kSpecial.size() - 1)]; };
    std::ranges::generate(layer.input.mutable_data<float>(),
                          [&] { return pick_of(random, 0, 99) == 0 ? rare : special(); });
    std::ranges::generate(layer.added.mutable_data<float>(), special);
    for (float& weight : layer.weights) weight = pick_of(random, 0, 3) == 0 ? special() / 64 : weight;
    std::ranges::generate(layer.bias, special);
    expect_halves(layer, 2);
  }
}

// Beside XNNPACK, which has the values before and behind in float16, and converts the picture and the answer.
TEST(WovenHalf, GivesTheBitsOfXnnpackInANetwork) {
  if (!Session::half_arithmetic()) GTEST_SKIP() << "no float16 arithmetic here";
  const Graph graph = graph_of(std::string(kThreeLayers) + R"(%7 = Conv(%6, w4:f32[48,20,3,3]#w4) {strides=[2,2]}
%8 = HardSwish(%7)
%9 = Exp(%8)
output %9
)");
  const NetworkAnswer expected = answer_with(graph, {.own_kernels = false, .half = true});
  EXPECT_EQ(expected.own, 0);
  for (const std::string_view form : kHalfForms) {
    for (const int threads : {1, 2, 4}) {
      const NetworkAnswer found = answer_with(
          graph, {.threads = threads, .own_kernels = false, .half = true, .forced_kernels = {std::string(form)}});
      EXPECT_EQ(found.own, 4) << form << ": three layers and an addition";
      EXPECT_TRUE(std::ranges::equal(found.numbers.bytes(), expected.numbers.bytes()))
          << form << ", " << threads << " threads";
    }
  }
}

// --- What it costs ---------------------------------------------------------------------------------------------------

// What the fast form asks for, where this processor has it.
std::optional<double> cost_of(const ConvolutionShape& shape, bool has_bias) {
  Random random(1);
  const Layer layer = finished(random, shape, has_bias, false, {});
  const KernelRow* row = fast(layer);
  return row == nullptr ? std::nullopt : std::optional<double>(row->offer(layer.work())->cost);
}

TEST(Woven, LeavesAProductOfOneRowToXnnpack) {
  const auto cost = cost_of({.input_height = 1, .input_width = 1, .input_channels = 240, .output_channels = 10}, false);
  if (!cost) GTEST_SKIP() << "this processor has no form of it";
  EXPECT_GE(*cost, 1);
}

TEST(Woven, IsCheaperThanXnnpackWhereInstructionsDoNotWaitForEachOther) {
  const auto cost =
      cost_of({.input_height = 14, .input_width = 14, .input_channels = 96, .output_channels = 576}, true);
  if (!cost) GTEST_SKIP() << "this processor has no form of it";
  EXPECT_EQ(*cost < 1, !xnn::runs_in_order());
}

Tensor answer(const Graph& graph, const SessionOptions& options) {
  auto session = Session::create(Graph(graph), options);
  if (!session) throw std::runtime_error(describe(session.error()));
  EXPECT_TRUE(session->set_input(0, seeded_tensor(DataType::kF32, session->inputs().front().shape, "x")));
  EXPECT_TRUE(session->run());
  const auto own = std::ranges::count(session->plan().steps, "kinglet", &StepInfo::backend);
  EXPECT_EQ(own, options.forced_kernels.empty() ? 0 : 4);
  return session->get_output(0);
}

TEST(Woven, GivesTheBitsOfXnnpack) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("fma") == 0) GTEST_SKIP() << "XNNPACK rounds products and sums apart here";
#endif
  const Graph graph = graph_of(std::string(kThreeLayers) + R"(%7 = Conv(%6, w4:f32[9,20,1,1]#w4) {strides=[2,2]}
output %7
)");
  const Tensor expected = answer(graph, {.own_kernels = false});
  for (const int threads : {1, 2, 4}) {
    const Tensor found =
        answer(graph, {.threads = threads, .own_kernels = false, .forced_kernels = {"woven_f32__scalar"}});
    EXPECT_TRUE(std::ranges::equal(found.bytes(), expected.bytes())) << threads << " threads";
  }
}

}  // namespace
}  // namespace kinglet::engine::kernels
