// SPDX-License-Identifier: Apache-2.0
#include "engine/quantize/uncalibrated.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/graph/float16.h"
#include "engine/onnx/save.h"
#include "engine/ops/op.h"
#include "engine/session/compare_graphs.h"
#include "engine/session/session.h"
#include "tests/support/graph_of.h"

namespace kinglet::engine {
namespace {

constexpr std::string_view kNetwork = R"(
%x = input f32[1,3,8,8]
%1 = Conv(%x, w:f32[4,3,3,3]#w, b:f32[4]#b) {pads=[1,1,1,1]}
%2 = Relu(%1)
%3 = Max(%2, c:f32[]{0.25})
%4 = GlobalAveragePool(%3)
%5 = Flatten(%4)
%6 = Gemm(%5, v:f32[4,5]#v)
output %6
)";

HalfModel halved(std::string_view text, const HalfOptions& options = {}) {
  auto made = to_half_model(graph_of(text), options);
  EXPECT_TRUE(made) << describe(made.error());
  return std::move(*made);
}

void expect_near(const Graph& before, const Graph& after, float tolerance) {
  const std::vector<Tensor> inputs = make_inputs(before, MadeInput::kNormal);
  const auto a = evaluate_graph(before, inputs);
  const auto b = evaluate_graph(after, inputs);
  ASSERT_TRUE(a && b) << (b ? "" : describe(b.error()));
  ASSERT_EQ(b->front().type(), DataType::kF32);
  for (std::size_t i = 0; i < a->front().data<float>().size(); ++i) {
    EXPECT_NEAR(a->front().data<float>()[i], b->front().data<float>()[i], tolerance);
  }
}

class Halves : public ::testing::TestWithParam<HalfForm> {};

TEST_P(Halves, AnswerLikeTheFloatGraph) {
  const HalfModel made = halved(kNetwork, {.form = GetParam()});
  expect_near(graph_of(kNetwork), made.graph, 5e-3F);
  EXPECT_TRUE(to_onnx_bytes(made.graph));
}

TEST_P(Halves, RunInXnnpackAsWhole) {
  HalfModel made = halved(kNetwork, {.form = GetParam()});
  const auto session = Session::create(std::move(made.graph), {});
  ASSERT_TRUE(session) << describe(session.error());
  EXPECT_TRUE(session->plan().fallback_nodes.empty()) << session->plan().fallback_nodes.front();
}

INSTANTIATE_TEST_SUITE_P(Forms, Halves, ::testing::Values(HalfForm::kWeights, HalfForm::kWhole),
                         [](const auto& of) { return of.param == HalfForm::kWeights ? "weights" : "whole"; });

TEST(Halves, KeepBlockedOperatorsInFloat) {
  const HalfModel made = halved(kNetwork, {.form = HalfForm::kWhole, .keep_float = {"Gemm"}});
  for (const NodeId id : made.graph.nodes()) {
    const Node& node = made.graph.node(id);
    if (node.op_type == "Max" || node.op_type == "Gemm") {
      EXPECT_EQ(made.graph.value(node.inputs[0]).type, DataType::kF32) << node.op_type;
    }
    if (node.op_type == "Conv") {
      EXPECT_EQ(made.graph.value(node.inputs[0]).type, DataType::kF16);
    }
  }
}

TEST(Halves, RaiseTinyAndLowerHugeNumbers) {
  const HalfModel made =
      halved("%x = input f32[1,8]\n%1 = Add(%x, c:f32[8]{1e-9,-1e-9,1e5,-1e5,0,0.5,1e-7,10000})\noutput %1");
  EXPECT_EQ(made.report.raised, 2U);
  EXPECT_EQ(made.report.lowered, 2U);
  for (const ValueId id : made.graph.values()) {
    const Tensor* constant = made.graph.constant(id);
    if (constant == nullptr) continue;
    const auto numbers = constant->data<Half>();
    EXPECT_NEAR(to_float(numbers[0]), 1e-7F, 3e-8F);
    EXPECT_EQ(to_float(numbers[2]), 10000);
    EXPECT_EQ(to_float(numbers[3]), -10000);
    EXPECT_EQ(to_float(numbers[4]), 0);
  }
}

TEST(Halves, RefuseAModelWithoutFloats) {
  EXPECT_FALSE(to_half_model(graph_of("%x = input f32[1,4]\n%1 = Relu(%x)\noutput %1"), {}));
}

}  // namespace
}  // namespace kinglet::engine
