// SPDX-License-Identifier: Apache-2.0
// Small networks through the whole of engine/quantize: answers stay near those of the float graph, and the plan of the
// result is all integers.
#include "engine/quantize/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <format>
#include <random>

#include "engine/onnx/load.h"
#include "engine/onnx/save.h"
#include "engine/ops/op.h"
#include "engine/quantize/equalize.h"
#include "engine/quantize/qdq.h"
#include "engine/session/session.h"
#include "tests/support/graph_of.h"

namespace kinglet::engine {
namespace {

constexpr std::string_view kResidual = R"(
%x = input f32[1,3,16,16]
%1 = Conv(%x, w1:f32[8,3,3,3]#w1, b1:f32[8]#b1) {pads=[1,1,1,1], strides=[2,2]}
%2 = Relu(%1)
%3 = Conv(%2, w2:f32[8,1,3,3]#w2, b2:f32[8]#b2) {group=8, pads=[1,1,1,1]}
%4 = Relu(%3)
%5 = Conv(%4, w3:f32[8,8,1,1]#w3)
%6 = Add(%2, %5)
%7 = MaxPool(%6) {kernel_shape=[2,2], strides=[2,2]}
%8 = GlobalAveragePool(%7)
%9 = Flatten(%8)
%10 = Gemm(%9, w4:f32[5,8]#w4, b4:f32[5]#b4) {transB=1}
output %10
)";

// The block of MobileNetV3 (hard swish, squeeze and excite), and means.
constexpr std::string_view kSqueezed = R"(
%x = input f32[1,3,16,16]
%1 = Conv(%x, w1:f32[8,3,3,3]#w1, b1:f32[8]#b1) {pads=[1,1,1,1], strides=[2,2]}
%2 = HardSwish(%1)
%3 = GlobalAveragePool(%2)
%4 = Conv(%3, w2:f32[4,8,1,1]#w2, b2:f32[4]#b2)
%5 = Relu(%4)
%6 = Conv(%5, w3:f32[8,4,1,1]#w3, b3:f32[8]#b3)
%7 = HardSigmoid(%6) {alpha=0.16666667}
%8 = Mul(%2, %7)
%9 = Conv(%8, w4:f32[8,8,1,1]#w4, b4:f32[8]#b4)
%10 = Tanh(%9)
%11 = AveragePool(%10) {kernel_shape=[2,2], strides=[2,2]}
%12 = GlobalAveragePool(%11)
%13 = Flatten(%12)
%14 = Gemm(%13, w5:f32[5,8]#w5, b5:f32[5]#b5) {transB=1}
output %14
)";

// Functions that XNNPACK has no operator for.
constexpr std::string_view kBent = R"(
%x = input f32[1,3,16,16]
%1 = Conv(%x, w1:f32[8,3,3,3]#w1, b1:f32[8]#b1) {pads=[1,1,1,1], strides=[2,2]}
%2 = Mish(%1)
%3 = Conv(%2, w2:f32[8,8,1,1]#w2, b2:f32[8]#b2)
%4 = Celu(%3) {alpha=0.5}
%5 = GlobalAveragePool(%4)
%6 = Flatten(%5)
%7 = Gemm(%6, w3:f32[5,8]#w3, b3:f32[5]#b3) {transB=1}
output %7
)";

Samples made_samples(std::size_t count, const Shape& shape) {
  return {.count = count, .input = [shape](std::size_t i) -> Result<Tensor> {
            std::mt19937 random(static_cast<unsigned>(i + 1));
            std::normal_distribution<float> normal;
            Tensor tensor(DataType::kF32, shape);
            for (float& x : tensor.mutable_data<float>()) x = normal(random);
            return tensor;
          }};
}

const Progress kSilent = [](std::string_view, std::size_t, std::size_t) {};
const Shape kPicture{1, 3, 16, 16};

QuantizedModel quantized(std::string_view text, const QuantizeOptions& options = {}, const Shape& shape = kPicture) {
  auto made = quantize_model(graph_of(text), made_samples(24, shape), options, kSilent);
  EXPECT_TRUE(made) << describe(made.error());
  return std::move(*made);
}

TEST(QuantizeModel, AnswersLikeTheFloatGraph) {
  const QuantizedModel made = quantized(kResidual);
  EXPECT_EQ(made.report.layers, 4U);
  EXPECT_GT(made.report.judgement.signal_to_noise_db, 25);
  EXPECT_GE(made.report.judgement.same_top1, 22U);
  EXPECT_LT(made.report.bytes_after, made.report.bytes_before);
}

// Bounds stand behind what moves levels, and a slope is so small that XNNPACK cannot round by it.
TEST(QuantizeModel, TakesBoundsBehindAPoolAndAnySlope) {
  for (const std::string_view between :
       {"%3 = MaxPool(%2) {kernel_shape=[2,2]}\n%4 = Relu(%3)", "%3 = LeakyRelu(%2) {alpha=0.001}\n%4 = Relu(%3)",
        "%3 = LeakyRelu(%2) {alpha=0.001}\n%4 = MaxPool(%3) {kernel_shape=[2,2]}"}) {
    const QuantizedModel made =
        quantized(std::format("%x = input f32[1,3,16,16]\n%2 = Conv(%x, w:f32[8,3,3,3]#w)\n{}\n%5 = Conv(%4, "
                              "v:f32[5,8,3,3]#v)\n%6 = GlobalAveragePool(%5)\n%7 = Flatten(%6)\noutput %7",
                              between));
    EXPECT_GE(made.report.layers, 2U);
    EXPECT_GT(made.report.judgement.signal_to_noise_db, 5);
  }
}

TEST(QuantizeModel, GivesAGraphThatRunsInIntegersAlone) {
  for (const std::string_view text : {kResidual, kSqueezed, kBent}) {
    const Session session = std::move(*Session::create(quantized(text).graph, {.own_kernels = false}));
    EXPECT_EQ(session.plan().segments, 1U);
    EXPECT_TRUE(session.plan().fallback_nodes.empty());
    for (const StepInfo& step : session.plan().steps) {
      EXPECT_THAT(step.op_type, ::testing::AnyOf(::testing::StartsWith("QLinear"), ::testing::StartsWith("Quantize"),
                                                 ::testing::StartsWith("Dequantize"), "MatMulIntegerToFloat", "QGemm",
                                                 "Flatten", "MaxPool", "Reshape"))
          << step.name;
    }
  }
}

TEST(QuantizeModel, WritesTheSameBytesTwice) {
  EXPECT_EQ(*to_onnx_bytes(quantized(kResidual).graph), *to_onnx_bytes(quantized(kResidual).graph));
}

TEST(QuantizeModel, LeavesNamedLayersInFloat) {
  const Graph graph = graph_of(kResidual);
  const std::string first = graph.node(graph.nodes().front()).name;
  const QuantizeOptions all{.optimize_rounding = false};
  QuantizeOptions kept = all;
  kept.keep_float = {first};
  const QuantizedModel made = quantized(kResidual, kept);
  EXPECT_EQ(made.report.layers, 3U);
  EXPECT_GT(made.report.judgement.signal_to_noise_db, quantized(kResidual, all).report.judgement.signal_to_noise_db);
}

TEST(QuantizeModel, KeepsLayersInFloatUntilTheDropHolds) {
  const QuantizedModel made =
      quantized(kResidual, {.method = RangeMethod::kMinMax, .per_channel = false, .max_drop = 0});
  EXPECT_LE(made.report.judgement.drop_percent(), 0);
  if (!made.report.kept_float.empty()) {
    EXPECT_TRUE(std::ranges::is_sorted(made.report.sensitivity, {}, &LayerNoise::signal_to_noise_db));
  }
}

TEST(QuantizeModel, RefusesWhatHasNothingToQuantise) {
  const auto none = quantize_model(graph_of("%x = input f32[1,4]\n%1 = Softmax(%x)\noutput %1"),
                                   made_samples(2, {1, 4}), {}, kSilent);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, ::testing::HasSubstr("no convolution or matrix product"));
}

TEST(QuantizeModel, NamesTheValueThatIsNoNumber) {
  const auto made = quantize_model(
      graph_of(
          "%x = input f32[1,3,4,4]\n%1 = Conv(%x, w:f32[2,3,1,1]#w)\n%2 = Log(%1)\n%3 = Conv(%2, v:f32[2,2,1,1]#v)\n"
          "output %3"),
      made_samples(2, {1, 3, 4, 4}), {}, kSilent);
  ASSERT_FALSE(made);
}

TEST(QuantizeModel, LivesWithPicturesThatAreAllAlike) {
  Samples zeros = made_samples(3, kPicture);
  zeros.input = [](std::size_t) -> Result<Tensor> { return Tensor(DataType::kF32, kPicture); };
  const auto made = quantize_model(graph_of(kResidual), zeros, {}, kSilent);
  ASSERT_TRUE(made) << describe(made.error());
  EXPECT_EQ(made->report.judgement.agreement_percent(), 100);
}

// --- Cross-layer equalisation

// Every channel of each convolution made larger or smaller by a power of two, and the next one the other way.
Graph spread(Graph graph) {
  std::mt19937 random(11);
  std::uniform_int_distribution<int> power(-4, 4);
  std::vector<NodeId> convolutions;
  for (const NodeId id : graph.nodes()) {
    if (graph.node(id).op_type == "Conv") convolutions.push_back(id);
  }
  for (std::size_t i = 0; i + 1 < convolutions.size(); ++i) {
    const auto input = [&](std::size_t node, std::size_t at) { return graph.node(convolutions[node]).inputs[at]; };
    Tensor first = *graph.constant(input(i, 1));
    Tensor bias = *graph.constant(input(i, 2));
    Tensor second = *graph.constant(input(i + 1, 1));
    const auto channels = static_cast<std::size_t>(first.shape()[0]);
    const bool depthwise = second.shape()[1] == 1;
    for (std::size_t c = 0; c < channels; ++c) {
      const float factor = std::ldexp(1.0F, power(random));
      const std::size_t each = first.data<float>().size() / channels;
      for (std::size_t k = 0; k < each; ++k) first.mutable_data<float>()[c * each + k] *= factor;
      bias.mutable_data<float>()[c] *= factor;
      const auto numbers = second.mutable_data<float>();
      const std::size_t window = depthwise ? numbers.size() / channels : numbers.size() / (channels * channels);
      for (std::size_t k = 0; k < numbers.size(); ++k) {
        if (k / window % channels == c) numbers[k] /= factor;
      }
    }
    graph.set_constant(input(i, 1), first);
    graph.set_constant(input(i, 2), bias);
    graph.set_constant(input(i + 1, 1), second);
  }
  return graph;
}

constexpr std::string_view kChain = R"(
%x = input f32[1,3,16,16]
%1 = Conv(%x, w1:f32[16,3,3,3]#w1, b1:f32[16]#b1) {pads=[1,1,1,1], strides=[2,2]}
%2 = Relu(%1)
%3 = Conv(%2, w2:f32[16,1,3,3]#w2, b2:f32[16]#b2) {group=16, pads=[1,1,1,1]}
%4 = Relu(%3)
%5 = Conv(%4, w3:f32[16,16,1,1]#w3, b3:f32[16]#b3)
%6 = Relu(%5)
%7 = Conv(%6, w4:f32[16,16,1,1]#w4, b4:f32[16]#b4)
%8 = GlobalAveragePool(%7)
%9 = Flatten(%8)
output %9
)";

TEST(Equalize, KeepsTheAnswersAndRescuesUnevenChannels) {
  const Graph uneven = spread(graph_of(kChain));
  Graph even = uneven;
  EXPECT_EQ(equalize(even), 3);
  const Samples samples = made_samples(8, kPicture);
  Session before = std::move(*Session::create(Graph(uneven), {}));
  Session after = std::move(*Session::create(Graph(even), {}));
  const Answers a = *answers_of(before, first_output(before), samples, kSilent);
  const Answers b = *answers_of(after, first_output(after), samples, kSilent);
  EXPECT_GT(judge(a, Meaning::kLogits, b, Meaning::kLogits, {})->signal_to_noise_db, 100);

  const auto noise = [&](bool equalized, bool per_channel) {
    const auto made = quantize_model(uneven, samples, {.per_channel = per_channel, .equalize = equalized}, kSilent);
    EXPECT_TRUE(made) << describe(made.error());
    return made->report.judgement.signal_to_noise_db;
  };
  EXPECT_GT(noise(true, false), noise(false, false) + 10);
  EXPECT_GT(noise(true, true), noise(false, true));
}

TEST(Equalize, DoesNotCrossAClamp) {
  Graph graph = graph_of(
      "%x = input f32[1,3,4,4]\n%1 = Conv(%x, w:f32[4,3,1,1]#w)\n%2 = Clip(%1, a:f32[]{0}, b:f32[]{6})\n"
      "%3 = Conv(%2, v:f32[4,4,1,1]#v)\noutput %3");
  EXPECT_EQ(equalize(graph), 0);
}

// --- What values hold

TEST(Observe, CountsNothingThatHardSwishTakesForZero) {
  const Graph graph = graph_of(kSqueezed);
  const QuantizationScheme scheme = choose_scheme(graph, {});
  const Samples samples = {.count = 2, .input = [](std::size_t) -> Result<Tensor> {
                             return Tensor::of<float>(kPicture, std::vector<float>(3 * 16 * 16, 100));
                           }};
  const Observation found = *observe(graph, scheme.values, scheme.groups, samples, kSilent);
  const ValueId before = graph.node(graph.nodes()[0]).outputs[0];
  const ValueId behind = graph.node(graph.nodes()[1]).outputs[0];
  EXPECT_EQ(found.groups[scheme.values.at(before)].min, -3);
  EXPECT_FALSE(found.groups[scheme.values.at(behind)].behind_is_hard_swish);
}

// --- What gets levels

std::vector<std::string> names(const Graph& graph, const QuantizationScheme& scheme) {
  std::vector<std::string> out;
  for (const auto& [value, group] : scheme.values) out.push_back(graph.value(value).name + ":" + std::to_string(group));
  return out;
}

TEST(Scheme, TiesAPoolToWhatItReadsAndLeavesTheAnswerFloat) {
  const Graph graph = graph_of(kResidual);
  const QuantizationScheme scheme = choose_scheme(graph, {});
  EXPECT_EQ(scheme.layers.size(), 4U);
  // input, %2, %4, %5, %6 with its pool, %8 with its Flatten: not %1, %3 (clamped behind) and not %10.
  EXPECT_EQ(scheme.values.size(), 8U);
  EXPECT_EQ(scheme.groups, 6U) << ::testing::PrintToString(names(graph, scheme));
}

TEST(Scheme, LeavesOperatorsBehindTheLastLayerAlone) {
  const Graph graph = graph_of(
      "%x = input f32[1,3,4,4]\n%1 = Conv(%x, w:f32[4,3,1,1]#w)\n%2 = GlobalAveragePool(%1)\n%3 = Flatten(%2)\n"
      "%4 = Softmax(%3)\noutput %4");
  EXPECT_EQ(choose_scheme(graph, {}).values.size(), 2U);  // what the convolution reads and makes
}

}  // namespace
}  // namespace kinglet::engine
