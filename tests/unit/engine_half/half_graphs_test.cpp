// SPDX-License-Identifier: Apache-2.0
// Small whole networks in float16 against evaluate in float32. Operators alone are held at random
// (tests/contract/random_lowering).
#include <algorithm>
#include <cmath>

#include "engine/ops/op.h"
#include "tests/support/graph_of.h"
#include "tests/unit/engine_half/needs_half.h"

namespace kinglet::engine {
namespace {

// A residual block behind a stem, squeeze and excite, and a head: what classifiers are made of.
constexpr const char* kNetwork = R"(
%x = input f32[1,3,32,32]
%1 = Conv(%x, w1:f32[16,3,3,3]#w1, b1:f32[16]#b1) {pads=[1,1,1,1], strides=[2,2]}
%2 = Clip(%1, lo:f32[]{0}, hi:f32[]{6})
%3 = Conv(%2, w2:f32[16,1,3,3]#w2, b2:f32[16]#b2) {group=16, pads=[1,1,1,1]}
%4 = HardSwish(%3)
%5 = GlobalAveragePool(%4)
%6 = Conv(%5, w3:f32[8,16,1,1]#w3, b3:f32[8]#b3)
%7 = Relu(%6)
%8 = Conv(%7, w4:f32[16,8,1,1]#w4, b4:f32[16]#b4)
%9 = Sigmoid(%8)
%10 = Mul(%4, %9)
%11 = Conv(%10, w5:f32[16,16,1,1]#w5, b5:f32[16]#b5)
%12 = Add(%2, %11)
%13 = GlobalAveragePool(%12)
%14 = Flatten(%13) {axis=1}
%15 = Gemm(%14, w6:f32[10,16]#w6, b6:f32[10]#b6) {transB=1}
output %15
)";

double largest(const Tensor& tensor) {
  double out = 0;
  for (const float number : tensor.to_floats()) out = std::max(out, std::abs(double{number}));
  return out;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  const std::vector<float> left = a.to_floats(), right = b.to_floats();
  double out = 0;
  for (std::size_t i = 0; i < left.size(); ++i) out = std::max(out, std::abs(double{left[i]} - double{right[i]}));
  return out;
}

// In times of the largest number of the answer.
double error_of(const Graph& graph, const SessionOptions& options) {
  const Tensor input = seeded_tensor(DataType::kF32, *graph.value(graph.inputs()[0].value).shape, "picture");
  const std::vector<Tensor> expected = evaluate_graph(graph, std::array{input}).value();
  auto session = Session::create(Graph(graph), options);
  EXPECT_TRUE(session) << describe(session.error());
  EXPECT_TRUE(session->set_input(0, input));
  for (int times = 0; times < 2; ++times) EXPECT_TRUE(session->run());
  return largest_difference(session->get_output(0), expected[0]) / largest(expected[0]);
}

TEST(Half, IsRefusedWithTheReasonWhereTheProcessorCannot) {
  const auto session = Session::create(graph_of(kNetwork), {.half = true});
  if (Session::half_arithmetic()) {
    EXPECT_TRUE(session) << describe(session.error());
    return;
  }
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(session.error().message, "this processor has no float16 arithmetic");
}

TEST(Half, AnswersANetworkWithinItsRoundings) {
  KINGLET_NEEDS_HALF();
  const Graph graph = graph_of(kNetwork);
  for (const int threads : {1, 2}) {
    const double error = error_of(graph, {.threads = threads, .half = true});
    EXPECT_GT(error, 1e-6) << "as float32 does: nothing was computed in float16";
    EXPECT_LT(error, 0.01);
  }
}

TEST(Half, ComputesAllOfANetworkThatHasTheForms) {
  KINGLET_NEEDS_HALF();
  for (const bool own_kernels : {false, true}) {
    const auto session = Session::create(graph_of(kNetwork), {.own_kernels = own_kernels, .half = true});
    ASSERT_TRUE(session) << describe(session.error());
    EXPECT_EQ(session->plan().half_mac_ratio, 1);
    EXPECT_EQ(session->plan().segments, own_kernels ? 2U : 1U) << "around the depthwise layer";
    for (const StepInfo& step : session->plan().steps) EXPECT_TRUE(step.half) << step.name << " " << step.op_type;
  }
}

// Values that cross from one to the other in both directions, to several readers, and out.
TEST(Half, IsConvertedAroundWhatHasNoForm) {
  KINGLET_NEEDS_HALF();
  const Graph graph = graph_of(R"(
%x = input f32[1,8,12,12]
%1 = Conv(%x, w1:f32[8,8,1,1]#w1)
%2 = Exp(%1)
%3 = Conv(%2, w2:f32[8,8,1,1]#w2)
%4 = Add(%1, %3)
%5 = Exp(%1)
%6 = Add(%4, %5)
output %6, %1
)");
  auto session = Session::create(Graph(graph), {.half = true});
  ASSERT_TRUE(session) << describe(session.error());
  std::size_t halves = 0;
  for (const StepInfo& step : session->plan().steps) {
    halves += step.half ? 1 : 0;
    EXPECT_NE(step.half, step.op_type == "Exp") << step.op_type;
  }
  EXPECT_EQ(halves, 4U);
  EXPECT_LT(error_of(graph, {.half = true}), 0.01);
}

TEST(Half, IsConvertedAroundKernelsOfOurOwn) {
  KINGLET_NEEDS_HALF();
  const Graph graph = graph_of(R"(
%x = input f32[1,8,12,12]
%1 = Conv(%x, w1:f32[16,8,1,1]#w1)
%2 = Conv(%1, w2:f32[16,16,3,3]#w2) {pads=[1,1,1,1]}
%3 = Conv(%2, w3:f32[8,16,1,1]#w3)
output %3
)");
  const SessionOptions options{.own_kernels = false, .half = true, .forced_kernels = {"winograd4_f32__scalar"}};
  const auto session = Session::create(Graph(graph), options);
  ASSERT_TRUE(session) << describe(session.error());
  EXPECT_EQ(std::ranges::count(session->plan().steps, "kinglet", &StepInfo::backend), 1);
  EXPECT_LT(error_of(graph, options), 0.01);
}

// A weight that float16 has no number for: the layer stays what it was.
TEST(Half, LeavesALayerWhoseWeightsAreTooLarge) {
  KINGLET_NEEDS_HALF();
  const Graph graph = graph_of("%x = input f32[1,2,4,4]\n%1 = Conv(%x, w:f32[1,2,1,1]{1e5, -1e5})\noutput %1\n");
  const auto session = Session::create(Graph(graph), {.half = true});
  ASSERT_TRUE(session) << describe(session.error());
  EXPECT_EQ(session->plan().half_mac_ratio, 0);
  EXPECT_LT(error_of(graph, {.half = true}), 1e-5);
}

}  // namespace
}  // namespace kinglet::engine
