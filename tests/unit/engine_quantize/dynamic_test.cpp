// SPDX-License-Identifier: Apache-2.0
#include "engine/quantize/uncalibrated.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/onnx/save.h"
#include "engine/ops/op.h"
#include "engine/session/compare_graphs.h"
#include "engine/session/session.h"
#include "tests/support/graph_of.h"

namespace kinglet::engine {
namespace {

constexpr std::string_view kTwoProducts = R"(
%x = input f32[3,16]
%1 = Gemm(%x, w:f32[8,16]#w, b:f32[8]#b) {transB=1}
%2 = Relu(%1)
%3 = MatMul(%2, v:f32[8,5]#v)
%4 = MatMul(%2, u:f32[8,5]#u)
%5 = Add(%3, %4)
output %5
)";

TEST(DynamicModel, AnswersNearTheFloatGraphAndRoundsASharedInputOnce) {
  const Graph before = graph_of(kTwoProducts);
  const auto made = to_dynamic_model(before, {});
  ASSERT_TRUE(made) << describe(made.error());
  EXPECT_EQ(made->layers, 3U);
  const auto roundings = std::ranges::count_if(
      made->graph.nodes(), [&](NodeId id) { return made->graph.node(id).op_type == "DynamicQuantizeLinear"; });
  EXPECT_EQ(roundings, 2);
  const std::vector<Tensor> inputs = make_inputs(before, MadeInput::kNormal);
  const auto a = evaluate_graph(before, inputs);
  const auto b = evaluate_graph(made->graph, inputs);
  ASSERT_TRUE(a && b);
  float largest = 0;
  for (const float x : a->front().data<float>()) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < a->front().data<float>().size(); ++i) {
    EXPECT_NEAR(a->front().data<float>()[i], b->front().data<float>()[i], 0.03F * largest);
  }
}

TEST(DynamicModel, RunsItsProductsInXnnpack) {
  auto made = to_dynamic_model(graph_of(kTwoProducts), {});
  ASSERT_TRUE(made);
  const auto session = Session::create(std::move(made->graph), {});
  ASSERT_TRUE(session) << describe(session.error());
  EXPECT_TRUE(session->plan().fallback_nodes.empty()) << session->plan().fallback_nodes.front();
  EXPECT_EQ(session->plan().segments, 1U);
}

TEST(DynamicModel, LeavesConvolutionsAndNamedLayersAlone) {
  const Graph convolution = graph_of("%x = input f32[1,3,4,4]\n%1 = Conv(%x, w:f32[2,3,1,1]#w)\noutput %1");
  EXPECT_FALSE(to_dynamic_model(convolution, {}));
  const Graph graph = graph_of(kTwoProducts);
  const auto made = to_dynamic_model(graph, {graph.node(graph.nodes().front()).name});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->layers, 2U);
}

}  // namespace
}  // namespace kinglet::engine
