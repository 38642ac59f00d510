// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/graph/graph.h"

namespace kinglet::engine {
namespace {

using ::testing::ElementsAre;

// x -> Relu -> a -> Relu -> b (output)
struct Chain {
  Graph graph;
  ValueId x = graph.add_input("x", DataType::kF32, Shape{1, 4}, {"", ""});
  ValueId a = graph.add_value("a", DataType::kF32, Shape{1, 4});
  ValueId b = graph.add_value("b", DataType::kF32, Shape{1, 4});
  NodeId first = graph.add_node({.op_type = "Relu", .inputs = {x}, .outputs = {a}});
  NodeId second = graph.add_node({.op_type = "Relu", .inputs = {a}, .outputs = {b}});
  Chain() { graph.add_output(b); }
};

TEST(Graph, KnowsProducersAndConsumers) {
  Chain c;
  EXPECT_EQ(c.graph.value(c.a).producer, c.first);
  EXPECT_THAT(c.graph.consumers(c.a), ElementsAre(c.second));
  EXPECT_TRUE(c.graph.has_single_use(c.a));
  EXPECT_FALSE(c.graph.has_single_use(c.b));
}

TEST(Graph, ReplaceUsesThenRemoveBypassesANode) {
  Chain c;
  c.graph.replace_uses(c.a, c.x);
  c.graph.remove_node(c.first);
  EXPECT_THAT(c.graph.nodes(), ElementsAre(c.second));
  EXPECT_THAT(c.graph.consumers(c.x), ElementsAre(c.second));
  EXPECT_FALSE(c.graph.contains(c.a));
  EXPECT_EQ(c.graph.find_value("a"), std::nullopt);
}

TEST(Graph, ANodeThatReadsAValueTwiceIsListedTwice) {
  Graph graph;
  const ValueId x = graph.add_input("x", DataType::kF32, Shape{2}, {""});
  const ValueId y = graph.add_value("y", DataType::kF32, Shape{2});
  const NodeId add = graph.add_node({.op_type = "Add", .inputs = {x, x}, .outputs = {y}});
  EXPECT_THAT(graph.consumers(x), ElementsAre(add, add));
  const ValueId one = graph.add_constant("one", Tensor::of<float>({}, {1.0F}));
  graph.replace_uses(x, one);
  EXPECT_THAT(graph.node(add).inputs, ElementsAre(one, one));
}

TEST(Graph, TheSecondOfTwoNodesOfOneNameGetsAnother) {
  Chain c;
  const ValueId d = c.graph.add_value("d", DataType::kF32, Shape{1, 4});
  const NodeId third =
      c.graph.add_node({.op_type = "Relu", .name = c.graph.node(c.first).name, .inputs = {c.b}, .outputs = {d}});
  const std::string kept = c.graph.node(c.first).name;
  c.graph.separate_names();
  EXPECT_EQ(c.graph.node(c.first).name, kept);
  EXPECT_EQ(c.graph.node(third).name, kept + "_3");
}

TEST(Graph, TakeOutputKeepsTheNameTheUserKnows) {
  Chain c;
  c.graph.take_output(c.b, c.a);
  EXPECT_EQ(c.graph.value(c.a).name, "b");
  EXPECT_THAT(c.graph.outputs(), ElementsAre(c.a));
  EXPECT_EQ(c.graph.find_value("b"), c.a);
  c.graph.remove_node(c.second);
  EXPECT_EQ(c.graph.node_count(), 1U);
}

TEST(Graph, SortRestoresTheOrderAndFindsCycles) {
  Chain c;
  const ValueId late = c.graph.add_value("late", DataType::kF32, Shape{1, 4});
  const NodeId maker = c.graph.add_node({.op_type = "Relu", .inputs = {c.x}, .outputs = {late}});
  c.graph.set_input(c.second, 0, late);
  ASSERT_TRUE(c.graph.sort());
  EXPECT_THAT(c.graph.nodes(), ElementsAre(c.first, maker, c.second));
  c.graph.set_input(maker, 0, c.b);
  EXPECT_FALSE(c.graph.sort());
}

TEST(Graph, NamesAreMadeUnique) {
  Graph graph;
  const ValueId first = graph.add_value("v", DataType::kF32, std::nullopt);
  const ValueId second = graph.add_value("v", DataType::kF32, std::nullopt);
  EXPECT_EQ(graph.value(first).name, "v");
  EXPECT_NE(graph.value(second).name, "v");
}

TEST(Tensor, CopiesOnWrite) {
  Tensor a = Tensor::of<float>({2}, {1, 2});
  Tensor b = a;
  b.mutable_data<float>()[0] = 9;
  EXPECT_EQ(a.data<float>()[0], 1);
  EXPECT_FALSE(a.bit_equal(b));
}

TEST(Tensor, IsAlignedAndHasReadableBytesBehindItsEnd) {
  const Tensor tensor(DataType::kU8, Shape{3});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.bytes().data()) % TensorBuffer::kAlignment, 0U);
  volatile std::byte behind = tensor.bytes().data()[3 + 16];  // AddressSanitizer would object
  EXPECT_EQ(std::to_integer<int>(std::byte{behind}), 0);
}

}  // namespace
}  // namespace kinglet::engine
