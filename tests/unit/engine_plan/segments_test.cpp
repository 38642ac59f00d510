// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/plan.h"

#include "tests/unit/engine_plan/plan_of.h"

namespace kinglet::engine {
namespace {

Segments cut(const Graph& graph, const PlanOptions& options = {}) {
  return cut_segments(graph, assign_layouts(graph), options);
}

std::vector<std::string> operators(const Graph& graph, const Step& step) {
  std::vector<std::string> out;
  for (const NodeId id : step.nodes) out.push_back(graph.node(id).op_type);
  return out;
}

constexpr const char* kChain = R"(
%x = input f32[1,3,8,8]
%1 = Conv(%x, w:f32[4,3,3,3]#w)
%2 = Sigmoid(%1)
%3 = Mul(%1, %2)
%4 = GlobalAveragePool(%3)
output %4
)";

TEST(Segments, AreOneWhereEverythingLowers) {
  const Graph graph = inferred(kChain);
  const Segments segments = cut(graph);
  ASSERT_EQ(segments.steps.size(), 1U);
  EXPECT_TRUE(segments.steps[0].lowered);
  EXPECT_EQ(segments.steps[0].inputs, std::vector<ValueId>{graph.inputs()[0].value});
  EXPECT_EQ(segments.steps[0].outputs, std::vector<ValueId>{graph.outputs()[0]});
  EXPECT_TRUE(segments.fallbacks.empty());
}

TEST(Segments, AreCutAroundASwitchedOffOperator) {
  const Graph graph = inferred(kChain);
  const Segments segments = cut(graph, {.disabled_lowerings = {"Sigmoid"}, .refused = {}});
  ASSERT_EQ(segments.steps.size(), 3U);
  EXPECT_EQ(operators(graph, segments.steps[0]), std::vector<std::string>{"Conv"});
  EXPECT_EQ(operators(graph, segments.steps[1]), std::vector<std::string>{"Sigmoid"});
  EXPECT_FALSE(segments.steps[1].lowered);
  EXPECT_EQ(operators(graph, segments.steps[2]), (std::vector<std::string>{"Mul", "GlobalAveragePool"}));
  // The product reads the convolution from two steps back.
  EXPECT_EQ(segments.steps[2].inputs.size(), 2U);
  ASSERT_EQ(segments.fallbacks.size(), 1U);
  EXPECT_EQ(segments.fallbacks[0].reason, "switched off");
}

TEST(Segments, LeaveOutANodeThatTheBackendTurnedDown) {
  const Graph graph = inferred(kChain);
  const NodeId refused = graph.nodes()[1];
  const Segments segments = cut(graph, {.disabled_lowerings = {}, .refused = {refused}});
  ASSERT_EQ(segments.fallbacks.size(), 1U);
  EXPECT_EQ(segments.fallbacks[0].node, refused);
}

TEST(Segments, SayWhyANodeRunsByEvaluate) {
  const Graph graph = inferred("%x = input f32[4]\n%1 = Erf(%x)\n%2 = Relu(%1)\noutput %2");
  const Segments segments = cut(graph);
  ASSERT_EQ(segments.steps.size(), 2U);
  ASSERT_EQ(segments.fallbacks.size(), 1U);
  EXPECT_EQ(segments.fallbacks[0].reason, "no XNNPACK form of this operator");
}

// Two branches that both leave XNNPACK: what follows is one segment again, and nothing is read before it is made.
TEST(Segments, JoinBranchesAgain) {
  const Graph graph = inferred(R"(
%x = input f32[1,3,8,8]
%1 = Relu(%x)
%2 = Erf(%1)
%3 = Sin(%1)
%4 = Tanh(%2)
%5 = Sigmoid(%3)
%6 = Add(%4, %5)
output %6
)");
  const Segments segments = cut(graph);
  std::vector<std::size_t> lowered;
  std::set<ValueId> made{graph.inputs()[0].value};
  for (const Step& step : segments.steps) {
    for (const ValueId input : step.inputs) EXPECT_TRUE(made.contains(input));
    made.insert(step.outputs.begin(), step.outputs.end());
    if (step.lowered) lowered.push_back(step.nodes.size());
  }
  EXPECT_EQ(lowered, (std::vector<std::size_t>{1, 3}));
}

TEST(Segments, KeepAResultThatNobodyReads) {
  const Graph graph = inferred(R"(
%x = input f32[1,6,2,2]
%1, %2 = Split(%x, s:i64[2]{3,3}) {axis=1}
output %1
)");
  const Segments segments = cut(graph);
  ASSERT_EQ(segments.steps.size(), 1U);
  EXPECT_EQ(segments.steps[0].outputs.size(), 2U);
}

}  // namespace
}  // namespace kinglet::engine
