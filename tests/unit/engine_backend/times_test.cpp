// SPDX-License-Identifier: Apache-2.0
// Times of XNNPACK's operators find the graph's nodes, also where XNNPACK fused or dropped some.
#include <gtest/gtest.h>

#include "engine/backend/xnnpack/runtime.h"
#include "engine/plan/plan.h"
#include "tests/support/graph_text.h"

namespace kinglet::engine::xnn {
namespace {

using Pairs = std::vector<std::pair<NodeId, double>>;

constexpr NodeId kFirst{0};
constexpr NodeId kSecond{1};
constexpr NodeId kThird{2};

TEST(TimesByNode, GoesOneByOneWhereNothingWasFused) {
  const std::vector<DefinedNode> nodes{{kFirst, "Convolution"}, {kSecond, "a name of another version"}};
  const std::vector<OperatorTime> times{{"Convolution (NHWC, F32) GEMM", 5}, {"Unary Elementwise (NC)", 2}};
  EXPECT_EQ(times_by_node(nodes, times), (Pairs{{kFirst, 5}, {kSecond, 2}}));
}

TEST(TimesByNode, SkipsNodesThatWereFused) {
  const std::vector<DefinedNode> nodes{
      {kFirst, "Constant Pad"}, {kSecond, "Convolution"}, {kThird, "Binary Elementwise"}};
  const std::vector<OperatorTime> times{{"Convolution (NHWC, F32) IGEMM", 5}, {"Binary Elementwise (ND)", 2}};
  EXPECT_EQ(times_by_node(nodes, times), (Pairs{{kSecond, 5}, {kThird, 2}}));
}

TEST(TimesByNode, AddsWhatFitsNowhereToTheLastNodeFound) {
  const std::vector<DefinedNode> nodes{{kFirst, "Convolution"}};
  const std::vector<OperatorTime> times{{"Convolution (NHWC, F32) GEMM", 5}, {"Something New", 2}};
  EXPECT_EQ(times_by_node(nodes, times), (Pairs{{kFirst, 7}}));
}

// The names that this XNNPACK gives its operators are those the builder notes.
TEST(TimesByNode, KnowsTheNamesOfThisXnnpack) {
  const Graph graph = parse_text(R"(
%x = input f32[1,4,8,8]
%1:f32[1,4,8,8] = Conv(%x, w:f32[4,4,3,3]#w) {pads=[1,1,1,1]}
%2:u8[1,4,8,8] = QuantizeLinear(%1, s:f32[]{0.01}, z:u8[]{100})
%3:f32[1,4,8,8] = DequantizeLinear(%2, s, z)
%4:f32[1,4,8,8] = Add(%1, %3)
%5:f32[1,4,8,8] = Sigmoid(%4)
%6:f32[1,8,8,8] = Concat(%5, %4) {axis=1}
%7:f32[1,8,4,4] = MaxPool(%6) {kernel_shape=[2,2], strides=[2,2]}
%8:f32[1,8,3,3] = AveragePool(%7) {kernel_shape=[2,2]}
%9:f32[1,8,1,1] = GlobalAveragePool(%8)
%10:f32[1,8] = Flatten(%9)
%11:f32[1,5] = MatMul(%10, m:f32[8,5]#m)
%12:f32[1,5] = Softmax(%11)
output %12
)")
                          .value()
                          .graph;
  const Plan plan = make_plan(graph, {}).value();
  ASSERT_EQ(plan.segments.steps.size(), 1U);
  const auto packed = packed_in_memory();
  auto runtime = Runtime::create(build_segment(graph, plan.layouts, plan.segments.steps[0]).value(), *packed, nullptr,
                                 {.time_nodes = true});
  ASSERT_TRUE(runtime) << describe(runtime.error());
  std::vector<TensorBuffer> memory;
  std::vector<void*> pointers;
  for (const ExternalValue& external : runtime->externals()) {
    std::size_t bytes = sizeof(float);
    for (const std::size_t dim : external.dims) bytes *= dim;
    pointers.push_back(memory.emplace_back(bytes).data());
  }
  ASSERT_TRUE(runtime->bind(pointers));
  ASSERT_TRUE(runtime->invoke());
  const auto times = runtime->profile();
  ASSERT_TRUE(times) << describe(times.error());
  ASSERT_EQ(times->size(), runtime->nodes().size());
  for (std::size_t i = 0; i < times->size(); ++i) {
    EXPECT_NE((*times)[i].name.find(runtime->nodes()[i].kind), std::string::npos)
        << (*times)[i].name << " for " << runtime->nodes()[i].kind;
  }
}

}  // namespace
}  // namespace kinglet::engine::xnn
