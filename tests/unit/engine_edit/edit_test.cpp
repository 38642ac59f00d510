// SPDX-License-Identifier: Apache-2.0
#include "engine/edit/edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx.pb.h>

#include <format>
#include <iterator>
#include <sstream>

#include "engine/edit/diff.h"
#include "engine/edit/graph_tools.h"
#include "tests/unit/engine_onnx/model_builder.h"

namespace kinglet::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::relu_model;

// x -> Mul by w -> Relu -> y; w has a raw value that is large enough to lie beside.
std::string scaled_relu(std::size_t values = 4) {
  return relu_model([&](::onnx::ModelProto& model) {
    ::onnx::GraphProto& graph = *model.mutable_graph();
    ::onnx::TensorProto& weight = *graph.add_initializer();
    weight.set_name("w");
    weight.add_dims(static_cast<std::int64_t>(values) / 4);
    weight.add_dims(4);
    weight.set_data_type(::onnx::TensorProto::FLOAT);
    for (std::size_t i = 0; i < values; ++i) weight.mutable_raw_data()->append("\0\0\x80\x3F", 4);
    ::onnx::NodeProto& relu = *graph.mutable_node(0);
    relu.set_input(0, "scaled");
    ::onnx::NodeProto& mul = *graph.add_node();
    mul.set_op_type("Mul");
    mul.set_name("scale");
    mul.add_input("x");
    mul.add_input("w");
    mul.add_output("scaled");
    graph.mutable_node()->SwapElements(0, 1);
  });
}

Document document_of(std::string bytes) { return Document::from_bytes(std::move(bytes)).value(); }

// The chain applied; the error as text, or "" when it went well.
std::string edit(Document& document, const std::vector<std::string>& words) {
  const auto steps = edit::parse_chain(words);
  if (!steps) return describe(steps.error());
  const auto done = edit::apply(document, *steps, {});
  return done ? "" : describe(done.error());
}

TEST(Document, WritesWhatItRead) {
  const std::string bytes = scaled_relu();
  EXPECT_EQ(document_of(bytes).to_bytes().value(), bytes);
}

TEST(Document, KeepsFieldsItDoesNotKnow) {
  const std::string bytes = scaled_relu() +
                            "\xFA\x7F\x03"
                            "abc";  // field 2047, three bytes
  EXPECT_EQ(document_of(bytes).to_bytes().value(), bytes);
}

TEST(Document, SharesWeightsBetweenCopiesAndReplacesThemInOne) {
  Document first = document_of(scaled_relu());
  Document second = first;
  second.set_tensor(*second.model().mutable_graph()->mutable_initializer(0), Tensor::of<float>({1, 4}, {2, 3, 4, 5}));
  EXPECT_EQ(first.tensor(first.model().graph().initializer(0))->data<float>()[0], 1);
  EXPECT_EQ(second.to_graph()->constant(*second.to_graph()->find_value("w"))->data<float>()[3], 5);
}

TEST(Document, KeepsWeightsBesideInAFileOfTheirOwn) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "document_beside";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const Document document = document_of(scaled_relu(1024));
  ASSERT_TRUE(document.save(folder / "m.onnx", Overwrite::kRefuse, WeightPlace::kBeside));
  EXPECT_EQ(std::filesystem::file_size(folder / "m.onnx.data"), 4096U);
  const Document read = Document::open(folder / "m.onnx").value();
  EXPECT_TRUE(read.weights_were_beside());
  EXPECT_TRUE(diff_documents(document, read)->same());
  EXPECT_EQ(read.save(folder / "m.onnx", Overwrite::kRefuse).error().code, ErrorCode::kCannotCreate);
}

TEST(ParseChain, SplitsAtACommaThatStandsAlone) {
  const std::vector<std::string> words{"rename", "a=b", "c,d=e", ",", "strip", "--all"};
  const auto steps = edit::parse_chain(words).value();
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_THAT(steps[0].arguments.all("OLD=NEW"), ElementsAre("a=b", "c,d=e"));
  EXPECT_TRUE(steps[1].arguments.has("--all"));
}

TEST(ParseChain, TellsWhichWordIsWrong) {
  const auto error = [](std::vector<std::string> words) { return edit::parse_chain(words).error().message; };
  EXPECT_THAT(error({"renam"}), HasSubstr("renam"));
  EXPECT_THAT(error({"strip", "--everything"}), HasSubstr("--everything"));
  EXPECT_THAT(error({"strip", "this"}), HasSubstr("this"));
  EXPECT_THAT(error({"outputs", "--add"}), HasSubstr("needs a value"));
  EXPECT_THAT(error({"drop-node", "a", "--input", "1", "--input", "2"}), HasSubstr("twice"));
  EXPECT_THAT(error({"rename"}), HasSubstr("missing"));
}

TEST(Verbs, HaveASummaryAndAnExampleThatParses) {
  for (const edit::Verb& verb : edit::all_verbs()) {
    EXPECT_FALSE(verb.summary.empty()) << verb.name;
    EXPECT_TRUE(verb.example.starts_with(verb.name)) << verb.name;
    std::istringstream words{std::string(verb.example)};
    const std::vector<std::string> split{std::istream_iterator<std::string>(words), {}};
    const auto steps = edit::parse_chain(split);
    EXPECT_TRUE(steps) << describe(steps.error());
  }
}

TEST(Edit, ChangesNothingThatIsNotNamed) {
  Document document = document_of(scaled_relu());
  ASSERT_EQ(edit(document, {"rename", "scale=times"}), "");
  ::onnx::ModelProto expected;
  ASSERT_TRUE(expected.ParseFromString(scaled_relu()));
  expected.mutable_graph()->mutable_node(0)->set_name("times");
  expected.mutable_graph()->mutable_output(0)->mutable_type()->CopyFrom(document.model().graph().output(0).type());
  EXPECT_EQ(document.to_bytes().value(), expected.SerializeAsString());
}

TEST(Edit, NamesTheStepAndTheNodeThatIsNoLongerRight) {
  Document document = document_of(scaled_relu());
  EXPECT_THAT(edit(document, {"strip", ",", "input", "--shape", "1,5", ",", "name-nodes"}),
              ::testing::AllOf(HasSubstr("edit 2 of 3 (input)"), HasSubstr("scale")));
}

TEST(Edit, RefusesACycle) {
  Document document = document_of(scaled_relu());
  EXPECT_THAT(edit(document, {"wire", "scale.0=y"}), HasSubstr("cycle"));
}

TEST(Edit, SortsNodesIntoAnOrderThatRuns) {
  Document document = document_of(scaled_relu());
  ASSERT_EQ(edit(document, {"add-node", "Neg", "--in", "x", "--out", "n", ",", "wire", "scale.0=n"}), "");
  EXPECT_EQ(document.model().graph().node(0).op_type(), "Neg");
}

TEST(RemoveUnused, KeepsWhatSubGraphsRead) {
  ::onnx::GraphProto graph;
  for (const auto& [name, input] : {std::pair("a", "x"), std::pair("b", "x")}) {
    ::onnx::NodeProto& node = *graph.add_node();
    node.set_name(name);
    node.add_input(input);
    node.add_output(std::string(name) + "_out");
  }
  ::onnx::NodeProto& outer = *graph.add_node();
  outer.add_output("y");
  outer.add_attribute()->mutable_g()->add_node()->add_input("a_out");
  graph.add_output()->set_name("y");
  EXPECT_EQ(edit::remove_unused(graph), 1);
  EXPECT_EQ(graph.node(0).name(), "a");
}

TEST(ChangeOpset, NamesWhatHasNoOlderForm) {
  Document document = document_of(
      relu_model([](::onnx::ModelProto& model) { model.mutable_graph()->mutable_node(0)->set_op_type("Round"); }));
  EXPECT_THAT(describe(change_opset(document, 9).error()), HasSubstr("node \"relu\" (Round): came with opset 11"));
  EXPECT_TRUE(change_opset(document, 11)->changed);
  EXPECT_FALSE(change_opset(document, 11)->changed);
}

TEST(DiffDocuments, ListsWhatCameAndWentByName) {
  const Document before = document_of(scaled_relu());
  Document after = before;
  ASSERT_EQ(edit(after, {"rename", "relu=positive", "--nodes"}), "");
  after.set_tensor(*after.model().mutable_graph()->mutable_initializer(0), Tensor::of<float>({1, 4}, {2, 3, 4, 5}));
  const ModelDiff diff = diff_documents(before, after).value();
  ASSERT_EQ(diff.gone.size(), 1U);
  EXPECT_EQ(diff.gone[0].name, "relu");
  EXPECT_EQ(diff.came[0].name, "positive");
  EXPECT_EQ(diff.weights[0].what, "other numbers");
  EXPECT_EQ(diff.before.parameters, 4);
}

}  // namespace
}  // namespace kinglet::engine
