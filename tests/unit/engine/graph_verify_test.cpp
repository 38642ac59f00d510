// SPDX-License-Identifier: Apache-2.0
#include "engine/graph/verify.h"
#include "tests/support/graph_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kinglet::engine {
namespace {

using ::testing::HasSubstr;

Graph two_nodes() {
  auto parsed = parse_text("%x = input f32[2]\n%1 = Relu(%x)\n%2 = Add(%1, w:f32[2]{1,2})\noutput %2\n");
  return std::move(parsed->graph);
}

TEST(Verify, AcceptsAWholeGraph) {
  const Graph graph = two_nodes();
  EXPECT_TRUE(verify(graph).has_value());
}

TEST(Verify, AcceptsAfterRewritesByTheApi) {
  Graph graph = two_nodes();
  const NodeId relu = graph.nodes().front();
  graph.replace_uses(*graph.find_value("1"), *graph.find_value("x"));
  graph.remove_node(relu);
  EXPECT_TRUE(verify(graph).has_value());
}

TEST(Verify, NamesAValueThatIsReadBeforeItIsMade) {
  Graph graph = two_nodes();
  graph.set_input(graph.nodes().front(), 0, *graph.find_value("2"));
  const auto result = verify(graph);
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().message, HasSubstr("reads \"2\" before it is made"));
}

TEST(Verify, NamesAValueWithoutSource) {
  Graph graph = two_nodes();
  const ValueId floating = graph.add_value("floating", DataType::kF32, Shape{2});
  graph.set_input(graph.nodes().back(), 1, floating);
  const auto result = verify(graph);
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().message, HasSubstr("\"floating\" has 0 sources"));
}

TEST(Verify, NamesAConstantThatDiffersFromItsType) {
  Graph graph = two_nodes();
  graph.set_type_and_shape(*graph.find_value("w"), DataType::kF32, Shape{3});
  const auto result = verify(graph);
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().message, HasSubstr("\"w\" differs from its own type and shape"));
}

TEST(Verify, RefusesAnOutputListedTwice) {
  Graph graph = two_nodes();
  graph.add_output(graph.outputs().front());
  EXPECT_FALSE(verify(graph).has_value());
}

TEST(Verify, RefusesTwoNodesOfOneName) {
  Graph graph = two_nodes();
  Node twin;
  twin.op_type = "Relu";
  twin.name = graph.node(graph.nodes().front()).name;
  twin.inputs = {*graph.find_value("x")};
  twin.outputs = {graph.add_value("y", DataType::kF32, Shape{2})};
  graph.add_node(std::move(twin));
  EXPECT_FALSE(verify(graph).has_value());
}

}  // namespace
}  // namespace kinglet::engine
