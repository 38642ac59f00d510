// SPDX-License-Identifier: Apache-2.0
// Conditions of passes that the text form of graphs cannot say: initializers that are inputs, operators kinglet does
// not know, bounds left by fuse_activation, NaN, half floats.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/graph/float16.h"
#include "engine/ops/op.h"
#include "engine/passes/runner.h"
#include "tests/support/graph_text.h"

namespace kinglet::engine {
namespace {

ValueId add_op(Graph& graph, std::string op_type, std::vector<ValueId> inputs, DataType type = DataType::kF32) {
  const ValueId output = graph.add_value("y", type, std::nullopt);
  Node node;
  node.op_type = std::move(op_type);
  node.inputs = std::move(inputs);
  node.outputs = {output};
  graph.add_node(std::move(node));
  return output;
}

// An initializer that callers may override: listed as a graph input, with numbers.
ValueId add_overridable(Graph& graph, std::string name, Tensor tensor) {
  const ValueId id = graph.add_input(std::move(name), tensor.type(), tensor.shape(), {});
  graph.set_constant(id, std::move(tensor));
  return id;
}

// No file that is loaded has one; who makes a graph may.
TEST(NodePass, LooksAtNoNodeWhoseOperatorHasNoName) {
  static constexpr NodePass kRelus({"Relu"}, [](Graph&, NodeId) { return true; });
  Graph graph;
  const ValueId x = graph.add_input("x", DataType::kF32, Shape{2}, {});
  graph.add_output(add_op(graph, "", {add_op(graph, "Relu", {x})}));
  PassBudget budget;
  const auto rewrites = kRelus(graph, budget);
  ASSERT_TRUE(rewrites) << describe(rewrites.error());
  EXPECT_EQ(*rewrites, 1);
}

TEST(FoldConstants, DeclinesWhenTheInitializerIsAnInput) {
  Graph graph;
  const ValueId weight = add_overridable(graph, "w", Tensor::of<float>({2}, {1, 2}));
  const ValueId negative = add_op(graph, "Neg", {weight});
  graph.add_output(add_op(graph, "Relu", {negative}));
  ASSERT_TRUE(infer_shapes(graph));
  const auto report = run_passes(graph);
  ASSERT_TRUE(report) << describe(report.error());
  EXPECT_EQ(report->rewrite_count(), 0);
}

TEST(FoldConstants, LeavesWhatTheLimitHasNoBytesFor) {
  for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{1} << 20}) {
    Graph graph;
    const ValueId small = graph.add_constant("c", Tensor::of<float>({1}, {1}));
    const ValueId shape = graph.add_constant("s", Tensor::of<std::int64_t>({1}, {1000}));
    const ValueId x = graph.add_input("x", DataType::kF32, Shape{1000}, {});
    graph.add_output(add_op(graph, "Mul", {x, add_op(graph, "Expand", {small, shape})}));
    ASSERT_TRUE(infer_shapes(graph));
    PassOptions options{.only = {"fold_constants"}};
    options.fold_memory = bytes;
    ASSERT_TRUE(run_passes(graph, options));
    EXPECT_EQ(graph.node_count(), bytes == 0 ? 2U : 1U);
  }
}

TEST(FuseBnIntoConv, DeclinesWhenTheWeightIsAnInput) {
  Graph graph;
  const ValueId x = graph.add_input("x", DataType::kF32, Shape{1, 1, 4, 4}, {});
  const ValueId weight = add_overridable(graph, "w", Tensor::of<float>({1, 1, 1, 1}, {2}));
  const ValueId conv = add_op(graph, "Conv", {x, weight});
  std::vector<ValueId> inputs{conv};
  for (int i = 0; i < 4; ++i) inputs.push_back(graph.add_constant("c", Tensor::of<float>({1}, {1})));
  graph.add_output(add_op(graph, "BatchNormalization", inputs));
  ASSERT_TRUE(infer_shapes(graph));
  PassBudget budget;
  EXPECT_EQ(passes::fuse_bn_into_conv(graph, budget), 0);
}

TEST(DedupeConstants, DeclinesForInputs) {
  Graph graph;
  const ValueId a = add_overridable(graph, "a", Tensor::of<float>({2}, {1, 2}));
  const ValueId b = graph.add_constant("b", Tensor::of<float>({2}, {1, 2}));
  graph.add_output(add_op(graph, "Add", {a, b}));
  PassBudget budget;
  EXPECT_EQ(passes::dedupe_constants(graph, budget), 0);
}

TEST(DedupeConstants, TellsNanPayloadsApart) {
  Graph graph;
  const float quiet = std::numeric_limits<float>::quiet_NaN();
  const ValueId a = graph.add_constant("a", Tensor::of<float>({1}, {quiet}));
  const ValueId b = graph.add_constant("b", Tensor::of<float>({1}, {-quiet}));
  graph.add_output(add_op(graph, "Add", {a, b}));
  PassBudget budget;
  EXPECT_EQ(passes::dedupe_constants(graph, budget), 0);
}

TEST(DedupeNodes, KeepsTwoRandomNodes) {
  Graph graph;
  for (int i = 0; i < 2; ++i) {
    const ValueId output = graph.add_value("r", DataType::kF32, Shape{4});
    Node node;
    node.op_type = "RandomNormal";
    node.outputs = {output};
    node.attributes.set("seed", 1.0F);
    graph.add_node(std::move(node));
  }
  graph.add_output(add_op(graph, "Sub", {*graph.find_value("r"), graph.node(graph.nodes()[1]).outputs[0]}));
  PassBudget budget;
  EXPECT_EQ(passes::dedupe_nodes(graph, budget), 0);
  EXPECT_EQ(graph.node_count(), 3U);
}

TEST(MergeClip, KeepsNan) {
  auto parsed = parse_text(R"(%x = input f32[3]
%1 = Relu(%x)
%2 = Clip(%1, a:f32[]{-1}, b:f32[]{6})
output %2
)");
  ASSERT_TRUE(parsed);
  Graph& graph = parsed->graph;
  ASSERT_TRUE(infer_shapes(graph));
  const Tensor input = Tensor::of<float>({3}, {std::numeric_limits<float>::quiet_NaN(), -3, 9});
  const auto before = evaluate_graph(graph, std::span(&input, 1));
  const auto report = run_passes(graph, {.for_session = true});
  ASSERT_TRUE(report);
  ASSERT_EQ(graph.node_count(), 1U);
  const auto after = evaluate_graph(graph, std::span(&input, 1));
  ASSERT_TRUE(before && after);
  EXPECT_TRUE(std::isnan((*before)[0].data<float>()[0]));
  EXPECT_TRUE(std::isnan((*after)[0].data<float>()[0]));
  EXPECT_EQ((*after)[0].data<float>()[1], 0.0F);
  EXPECT_EQ((*after)[0].data<float>()[2], 6.0F);
}

// Nothing may be folded through the bounds that fuse_activation leaves: z = BatchNormalization(clamp(conv)).
TEST(FuseActivation, ClosesTheProducerToOtherPasses) {
  for (const std::string_view reader : {"BatchNormalization(%2, s:f32[2]#s, b:f32[2]#b, m:f32[2]#m, v:f32[2]#+v)",
                                        "Mul(%2, k:f32[]{-2})", "Add(%2, k:f32[]{2})"}) {
    auto parsed = parse_text("%x = input f32[1,1,4,4]\n%1 = Conv(%x, w:f32[2,1,3,3]#w)\n%2 = Relu(%1)\n%3 = " +
                             std::string(reader) + "\noutput %3\n");
    ASSERT_TRUE(parsed) << describe(parsed.error());
    Graph& graph = parsed->graph;
    ASSERT_TRUE(infer_shapes(graph));
    ASSERT_TRUE(run_passes(graph, {.for_session = true}));
    ASSERT_EQ(graph.node_count(), 2U) << reader;
    const auto again = run_passes(graph, {.for_session = true});
    ASSERT_TRUE(again);
    EXPECT_EQ(again->rewrite_count(), 0) << reader;
  }
}

TEST(FuseBnIntoConv, WorksInHalfFloats) {
  auto parsed = parse_text(R"(%x = input f16[1,1,4,4]
%1:f16 = Conv(%x, w:f16[2,1,3,3]#w)
%2:f16 = BatchNormalization(%1, s:f16[2]#+s, b:f16[2]#b, m:f16[2]#m, v:f16[2]#+v)
output %2
)");
  ASSERT_TRUE(parsed) << describe(parsed.error());
  Graph& graph = parsed->graph;
  ASSERT_TRUE(infer_shapes(graph));
  const Tensor input = seeded_tensor(DataType::kF16, {1, 1, 4, 4}, "x");
  const auto before = evaluate_graph(graph, std::span(&input, 1));
  ASSERT_TRUE(run_passes(graph));
  ASSERT_EQ(graph.node_count(), 1U);
  const auto after = evaluate_graph(graph, std::span(&input, 1));
  ASSERT_TRUE(before && after);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_NEAR(to_float((*before)[0].data<Half>()[i]), to_float((*after)[0].data<Half>()[i]), 2e-2F);
  }
}

// Sqrt is monotone, but turns negative numbers into NaN: ArgMax behind it answers otherwise than without it.
TEST(AllPasses, LeaveMonotoneFunctionsInFrontOfArgMax) {
  auto parsed = parse_text("%x = input f32[1,8]\n%1 = Sqrt(%x)\n%2:i64 = ArgMax(%1) {axis=1}\noutput %2\n");
  ASSERT_TRUE(parsed) << describe(parsed.error());
  if (find_op("", "ArgMax") == nullptr) GTEST_SKIP() << "ArgMax is not known yet";
  ASSERT_TRUE(infer_shapes(parsed->graph));
  const auto report = run_passes(parsed->graph, {.for_session = true});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->rewrite_count(), 0);
}

TEST(FoldConstants, FollowsTheAllowance) {
  const std::string_view text = R"(%x = input f32[1,1024]
%1 = ConstantOfShape(s:i64[2]{1,1024}) {value=f32[1]{0.5}}
%2 = Add(%x, %1)
output %2
)";
  for (const auto& [allowance, nodes] : {std::pair{std::int64_t{4096}, 1U}, std::pair{std::int64_t{4095}, 2U}}) {
    auto parsed = parse_text(text);
    ASSERT_TRUE(parsed);
    ASSERT_TRUE(infer_shapes(parsed->graph));
    ASSERT_TRUE(run_passes(parsed->graph, {.fold_allowance = allowance}));
    EXPECT_EQ(parsed->graph.node_count(), nodes) << allowance;
  }
}

}  // namespace
}  // namespace kinglet::engine
