// SPDX-License-Identifier: Apache-2.0
// An If whose condition is fixed by shapes or constants is its branch; any other is refused with the reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/ops/op.h"
#include "tests/support/graph_text.h"
#include "tests/unit/engine_onnx/model_builder.h"

namespace kinglet::engine {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::load;
using testing::relu_model;

::onnx::NodeProto& add_node(::onnx::GraphProto& graph, const std::string& op_type,
                            std::initializer_list<const char*> inputs, const std::string& output) {
  ::onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op_type);
  for (const char* input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

void add_number(::onnx::GraphProto& graph, const std::string& name, std::int64_t value) {
  ::onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.add_dims(1);
  tensor.set_data_type(::onnx::TensorProto::INT64);
  tensor.set_raw_data(std::string(reinterpret_cast<const char*>(&value), sizeof(value)));
}

::onnx::GraphProto& add_branch(::onnx::NodeProto& node, const std::string& name) {
  ::onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(::onnx::AttributeProto::GRAPH);
  attribute.mutable_g()->set_name(name);
  attribute.mutable_g()->add_output()->set_name("t");
  return *attribute.mutable_g();
}

// y = If(dimension 1 of x == asked, Reshape(Neg(x), own shape), Abs(x)); x is float [1,4].
std::string model_with_if(std::int64_t asked) {
  return relu_model([&](::onnx::ModelProto& model) {
    ::onnx::GraphProto& graph = *model.mutable_graph();
    graph.clear_node();
    add_number(graph, "one", 1);
    add_number(graph, "asked", asked);
    add_node(graph, "Shape", {"x"}, "shape");
    add_node(graph, "Gather", {"shape", "one"}, "width");
    add_node(graph, "Equal", {"width", "asked"}, "same");
    ::onnx::NodeProto& choice = add_node(graph, "If", {"same"}, "y");
    choice.set_name("choice");
    ::onnx::GraphProto& yes = add_branch(choice, "then_branch");
    add_number(yes, "flat", -1);
    add_node(yes, "Neg", {"x"}, "n");
    add_node(yes, "Reshape", {"n", "flat"}, "t");
    add_node(add_branch(choice, "else_branch"), "Abs", {"x"}, "t");
  });
}

std::vector<float> run(const Graph& graph) {
  const auto outputs = evaluate_graph(graph, std::vector{Tensor::of<float>({1, 4}, {1, -2, 3, -4})});
  EXPECT_TRUE(outputs) << describe(outputs.error());
  return outputs ? outputs->at(0).to_floats() : std::vector<float>{};
}

TEST(ConstantIf, IsTheBranchThatTheShapesChoose) {
  const Result<Graph> yes = load(model_with_if(4));
  ASSERT_TRUE(yes) << describe(yes.error());
  EXPECT_EQ(yes->value(yes->outputs()[0]).shape, (Shape{4}));
  EXPECT_EQ(yes->value(yes->outputs()[0]).name, "y");
  EXPECT_THAT(run(*yes), ::testing::ElementsAre(-1, 2, -3, 4));
  const Result<Graph> no = load(model_with_if(5));
  ASSERT_TRUE(no) << describe(no.error());
  EXPECT_THAT(run(*no), ::testing::ElementsAre(1, 2, 3, 4));
}

TEST(ConstantIf, IsRefusedWithTheReasonWhenTheDataDecides) {
  const std::string bytes = relu_model([](::onnx::ModelProto& model) {
    ::onnx::GraphProto& graph = *model.mutable_graph();
    graph.clear_node();
    add_node(graph, "ReduceMax", {"x"}, "top");
    add_node(graph, "Cast", {"top"}, "some");
    ::onnx::AttributeProto& to = *graph.mutable_node(1)->add_attribute();
    to.set_name("to");
    to.set_type(::onnx::AttributeProto::INT);
    to.set_i(9);
    ::onnx::NodeProto& choice = add_node(graph, "If", {"some"}, "y");
    choice.set_name("choice");
    add_node(add_branch(choice, "then_branch"), "Neg", {"x"}, "t");
    add_node(add_branch(choice, "else_branch"), "Abs", {"x"}, "t");
  });
  EXPECT_THAT(error_of(bytes), HasSubstr("If (holds sub-graphs, and the data decides which runs) at \"choice\""));
}

TEST(ConstantIf, KeepsTheNamesOfTwoBranchesApart) {
  const std::string bytes = relu_model([](::onnx::ModelProto& model) {
    ::onnx::ModelProto first;
    ASSERT_TRUE(first.ParseFromString(model_with_if(4)));
    *model.mutable_graph() = first.graph();
    ::onnx::NodeProto again = first.graph().node(3);
    again.set_output(0, "z");
    *model.mutable_graph()->add_node() = again;
    model.mutable_graph()->add_output()->set_name("z");
  });
  const Result<Graph> graph = load(bytes);
  ASSERT_TRUE(graph) << describe(graph.error());
  EXPECT_EQ(graph->outputs().size(), 2U);
}

TEST(ConstantIf, RefusesABranchThatDoesNotFit) {
  const auto spoiled = [](auto change) {
    return error_of(relu_model([&](::onnx::ModelProto& model) {
      ::onnx::ModelProto first;
      ASSERT_TRUE(first.ParseFromString(model_with_if(4)));
      *model.mutable_graph() = first.graph();
      change(*model.mutable_graph()->mutable_node(3));
    }));
  };
  EXPECT_THAT(spoiled([](::onnx::NodeProto& node) { node.mutable_attribute(0)->set_name("x"); }),
              HasSubstr("has not both branches"));
  EXPECT_THAT(spoiled([](::onnx::NodeProto& node) { node.add_output("w"); }), HasSubstr("another number of outputs"));
  EXPECT_THAT(
      spoiled([](::onnx::NodeProto& node) { node.mutable_attribute(0)->mutable_g()->add_input()->set_name("i"); }),
      HasSubstr("a branch with inputs"));
}

TEST(ConstantIf, RefusesSubGraphsNestedTooDeeply) {
  const std::string bytes = relu_model([](::onnx::ModelProto& model) {
    ::onnx::GraphProto* graph = model.mutable_graph();
    for (int depth = 0; depth < 30; ++depth) {
      ::onnx::NodeProto& node = add_node(*graph, "If", {"x"}, "t");
      graph = &add_branch(node, "then_branch");
    }
  });
  EXPECT_THAT(error_of(bytes), HasSubstr("sub-graphs nest too deeply"));
}

}  // namespace
}  // namespace kinglet::engine
