// SPDX-License-Identifier: Apache-2.0
#include "engine/onnx/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <format>

#include "engine/session/model.h"
#include "tests/support/corpus.h"
#include "tests/support/scratch_folder.h"
#include "tests/unit/engine_onnx/model_builder.h"

namespace kinglet::engine {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::load;
using testing::relu_model;

const auto kUnchanged = [](::onnx::ModelProto&) {};

TEST(LoadModel, ReadsAGraph) {
  const Graph graph = load(relu_model(kUnchanged)).value();
  EXPECT_EQ(graph.node_count(), 1U);
  EXPECT_EQ(graph.value(graph.outputs()[0]).name, "y");
  EXPECT_EQ(graph.value(graph.outputs()[0]).shape, (Shape{1, 4}));
  EXPECT_EQ(graph.metadata.opset, 13);
}

TEST(LoadModel, RefusesAnEmptyFile) { EXPECT_EQ(error_of(""), "is empty, expected an ONNX model"); }

TEST(LoadModel, RefusesTextAndNoise) {
  EXPECT_THAT(error_of("this is no model at all, just a line of text\n"), HasSubstr("is not an ONNX model"));
  EXPECT_THAT(error_of(std::string(1000, '\xFF')), HasSubstr("is not an ONNX model"));
}

TEST(LoadModel, RefusesEveryTruncationWithoutACrash) {
  const std::string whole = relu_model([](::onnx::ModelProto& model) {
    ::onnx::TensorProto& weight = *model.mutable_graph()->add_initializer();
    weight.set_name("w");
    weight.add_dims(4);
    weight.set_data_type(::onnx::TensorProto::FLOAT);
    weight.set_raw_data(std::string(16, '\1'));
    model.mutable_graph()->mutable_node(0)->set_op_type("Add");
    model.mutable_graph()->mutable_node(0)->add_input("w");
  });
  ASSERT_EQ(error_of(whole), "loaded");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Result<Graph> graph = load(whole.substr(0, size));
    if (!graph) continue;
    ADD_FAILURE() << "loaded with " << size << " of " << whole.size() << " bytes";
  }
}

TEST(LoadModel, NamesEveryUnknownOperatorInOneLine) {
  const std::string bytes = relu_model([](::onnx::ModelProto& model) {
    model.mutable_graph()->mutable_node(0)->set_op_type("GridSample");
    ::onnx::NodeProto& second = *model.mutable_graph()->add_node();
    second.set_op_type("Frobnicate");
    second.set_domain("my.domain");
    second.add_output("z");
  });
  EXPECT_EQ(error_of(bytes),
            "2 nodes with operators kinglet does not run: GridSample (is for warping pictures, kinglet runs "
            "classifiers) at \"relu\"; my.domain.Frobnicate at \"z\"");
}

TEST(LoadModel, NamesNodesOfOneUnknownOperatorTogether) {
  const std::string bytes = relu_model([](::onnx::ModelProto& model) {
    for (int i = 0; i < 20; ++i) {
      ::onnx::NodeProto& node = *model.mutable_graph()->add_node();
      node.set_op_type(i % 2 == 0 ? "Loop" : "Frobnicate");
      node.set_name(std::format("n{}", i));
    }
  });
  EXPECT_EQ(error_of(bytes),
            "20 nodes with operators kinglet does not run: Loop (holds a sub-graph) at \"n0\", \"n2\", \"n4\", \"n6\", "
            "\"n8\", \"n10\", \"n12\", \"n14\", \"n16\", \"n18\"; Frobnicate at \"n1\", \"n3\", \"n5\", \"n7\", "
            "\"n9\", \"n11\", \"n13\", \"n15\", \"n17\", \"n19\"");
}

TEST(LoadModel, RefusesOperatorsThatOnlyPassesMake) {
  const std::string bytes = relu_model([](::onnx::ModelProto& model) {
    model.mutable_graph()->mutable_node(0)->set_op_type("Silu");
    model.mutable_graph()->mutable_node(0)->set_domain("kinglet");
  });
  EXPECT_EQ(error_of(bytes),
            "1 node with operators kinglet does not run: kinglet.Silu (is kinglet's own, for its runs, and in no "
            "file) at \"relu\"");
}

TEST(LoadModel, BoundsTheListOfAHostileFile) {
  const std::string bytes = relu_model([](::onnx::ModelProto& model) {
    for (int i = 0; i < 5000; ++i) {
      model.mutable_graph()->add_node()->set_op_type(std::format("Op{}{}", i, std::string(200, 'x')));
    }
  });
  const std::string error = error_of(bytes);
  EXPECT_LT(error.size(), 20000U);
  EXPECT_THAT(error, ::testing::ContainsRegex(" and [0-9]+ more"));
}

TEST(LoadModel, RefusesNamesThatNothingMakesOrThatAreMadeTwice) {
  EXPECT_EQ(error_of(relu_model([](auto& model) { model.mutable_graph()->mutable_node(0)->set_input(0, "nobody"); })),
            "node \"relu\" (Relu): reads \"nobody\", which nothing makes");
  EXPECT_EQ(error_of(relu_model([](auto& model) { *model.mutable_graph()->add_node() = model.graph().node(0); })),
            "node \"relu\" (Relu): value \"y\" is made twice");
}

TEST(LoadModel, RefusesACycle) {
  EXPECT_EQ(error_of(relu_model([](auto& model) { model.mutable_graph()->mutable_node(0)->set_input(0, "y"); })),
            "node \"relu\" (Relu): needs its own result: its nodes form a cycle");
}

std::string with_weight(std::int64_t dim, int type, std::string raw) {
  return relu_model([&](::onnx::ModelProto& model) {
    ::onnx::TensorProto& weight = *model.mutable_graph()->add_initializer();
    weight.set_name("w");
    weight.add_dims(dim);
    weight.set_data_type(type);
    weight.set_raw_data(std::move(raw));
  });
}

TEST(LoadModel, RefusesWeightsThatDoNotFitTheirShape) {
  EXPECT_EQ(error_of(with_weight(4, ::onnx::TensorProto::FLOAT, std::string(15, 'x'))),
            "tensor \"w\": has 15 bytes of data, its shape is [4] of FLOAT");
  EXPECT_EQ(error_of(with_weight(std::int64_t{1} << 62, ::onnx::TensorProto::FLOAT, "")),
            "tensor \"w\": the dimensions [4611686018427387904] make no tensor of at most 2 GiB");
  EXPECT_EQ(error_of(with_weight(-4, ::onnx::TensorProto::FLOAT, "")), "tensor \"w\": has a dimension of -4");
}

TEST(LoadModel, RefusesTypesItDoesNotComputeWith) {
  EXPECT_EQ(error_of(with_weight(1, ::onnx::TensorProto::BFLOAT16, "xx")),
            "tensor \"w\": holds BFLOAT16 (is for training), which kinglet does not compute with");
}

TEST(LoadModel, RefusesAnAttributeOfAnotherKind) {
  const std::string bytes = relu_model([](::onnx::ModelProto& model) {
    ::onnx::NodeProto& node = *model.mutable_graph()->mutable_node(0);
    node.set_op_type("LeakyRelu");
    ::onnx::AttributeProto& alpha = *node.add_attribute();
    alpha.set_name("alpha");
    alpha.set_type(::onnx::AttributeProto::INTS);
    alpha.add_ints(1);
  });
  EXPECT_EQ(error_of(bytes), "node \"relu\" (LeakyRelu): attribute alpha is of kind 7, the operator has kind 1");
}

TEST(LoadModel, DropsOurPlansOwnMarksFromAFile) {
  const std::string bytes = relu_model([](::onnx::ModelProto& model) {
    ::onnx::AttributeProto& mark = *model.mutable_graph()->mutable_node(0)->add_attribute();
    mark.set_name("kinglet_max");
    mark.set_type(::onnx::AttributeProto::INT);
  });
  const Graph graph = load(bytes).value();
  EXPECT_EQ(graph.node(graph.nodes()[0]).attributes.size(), 0U);
}

TEST(LoadModel, RefusesAnOpsetFromTheFuture) {
  EXPECT_EQ(error_of(relu_model([](auto& model) { model.mutable_opset_import(0)->set_version(99); })),
            "uses operator set 99, kinglet knows 1 to 22");
}

TEST(LoadModel, GivesFreeDimensionsTheirNames) {
  const Graph graph = load(relu_model([](::onnx::ModelProto& model) {
                        auto& type = *model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
                        type.mutable_shape()->mutable_dim(0)->set_dim_param("batch");
                      })).value();
  EXPECT_EQ(graph.value(graph.inputs()[0].value).shape, (Shape{kUnknownDim, 4}));
  EXPECT_EQ(graph.inputs()[0].dim_names[0], "batch");
}

TEST(LoadModel, ReadsAWeightThatIsAlsoListedAsInputWithItsDefault) {
  const std::string bytes = relu_model([](::onnx::ModelProto& model) {
    ::onnx::TensorProto& weight = *model.mutable_graph()->add_initializer();
    weight.set_name("x");
    weight.add_dims(1);
    weight.add_dims(4);
    weight.set_data_type(::onnx::TensorProto::FLOAT);
    for (int i = 0; i < 4; ++i) weight.add_float_data(static_cast<float>(i));
  });
  const Graph graph = load(bytes).value();
  EXPECT_TRUE(graph.inputs().empty());
}

class ExternalData : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(write_file(folder_ / "data.bin", std::string(32, '\1'), Overwrite::kRefuse)); }

  static std::string model_with(const std::string& location, const std::string& offset) {
    return relu_model([&](::onnx::ModelProto& model) {
      ::onnx::TensorProto& weight = *model.mutable_graph()->add_initializer();
      weight.set_name("w");
      weight.add_dims(4);
      weight.set_data_type(::onnx::TensorProto::FLOAT);
      weight.set_data_location(::onnx::TensorProto::EXTERNAL);
      for (const auto& [key, value] : {std::pair{"location", location}, std::pair{"offset", offset}}) {
        auto& entry = *weight.add_external_data();
        entry.set_key(key);
        entry.set_value(value);
      }
    });
  }

  std::string error(const std::string& location, const std::string& offset) const {
    const std::string bytes = model_with(location, offset);
    const Result<Graph> graph = load_model(std::as_bytes(std::span(bytes)), folder_);
    return graph ? "loaded" : describe(graph.error());
  }
  kinglet::testing::ScratchFolder scratch_;
  const std::filesystem::path& folder_ = scratch_.path();
};

TEST_F(ExternalData, IsReadFromAPlainFileBesideTheModel) { EXPECT_EQ(error("data.bin", "16"), "loaded"); }

TEST_F(ExternalData, MayNotLeaveTheFolder) {
  for (const char* name : {"../data.bin", "/etc/passwd", "..", "", "a/b"}) {
    EXPECT_THAT(error(name, "0"), HasSubstr("expected a plain file name beside the model")) << name;
  }
}

TEST_F(ExternalData, MayBeALinkThatStaysBesideTheModel) {
  std::filesystem::create_symlink(folder_ / "data.bin", folder_ / "soft");
  EXPECT_EQ(error("soft", "16"), "loaded");
}

// As caches of model hubs hold them: a folder of links into a folder of files that are called by their digests.
TEST_F(ExternalData, MayLieWithTheFileThatTheModelIsALinkTo) {
  const std::filesystem::path snapshot = folder_ / "snapshot";
  std::filesystem::create_directory(snapshot);
  std::filesystem::create_symlink("../data.bin", snapshot / "weights");
  ASSERT_TRUE(write_file(folder_ / "blob", model_with("weights", "16"), Overwrite::kRefuse));
  std::filesystem::create_symlink("../blob", snapshot / "model.onnx");
  const auto opened = open_model(snapshot / "model.onnx");
  ASSERT_TRUE(opened) << describe(opened.error());
  EXPECT_EQ(data_files_of(snapshot / "model.onnx"), std::vector<std::string>{"weights"});
  std::filesystem::remove(snapshot / "weights");
  std::filesystem::create_symlink("data.bin", folder_ / "weights");
  EXPECT_TRUE(open_model(snapshot / "model.onnx"));
}

TEST_F(ExternalData, MayNotBeALinkThatLeadsAway) {
  const kinglet::testing::ScratchFolder other;
  ASSERT_TRUE(write_file(other.path() / "data.bin", std::string(32, '\1'), Overwrite::kRefuse));
  std::filesystem::create_symlink(other.path() / "data.bin", folder_ / "soft");
  EXPECT_THAT(error("soft", "0"), HasSubstr("is a link that leads away from its model"));
  std::filesystem::create_symlink("nowhere", folder_ / "dangling");
  EXPECT_THAT(error("dangling", "0"), HasSubstr("is a link that leads away from its model"));
}

TEST_F(ExternalData, MayNotBeAHardLink) {
  std::filesystem::create_hard_link(folder_ / "data.bin", folder_ / "hard");
  EXPECT_THAT(error("hard", "0"), HasSubstr("is a link, not a plain file"));
}

TEST_F(ExternalData, MustLieInsideTheFile) {
  EXPECT_THAT(error("data.bin", "17"), HasSubstr("16 bytes from 17 on are not in"));
  EXPECT_THAT(error("data.bin", "18446744073709551615"), HasSubstr("are not in"));
}

TEST(OpenModel, LoadsEveryModelOfTheCorpus) {
  KINGLET_NEEDS_CORPUS();
  for (const auto& entry : std::filesystem::directory_iterator(kinglet::testing::corpus() / "models")) {
    const auto model = open_model(entry.path());
    ASSERT_TRUE(model) << describe(model.error());
    EXPECT_EQ(model->graph.inputs().size(), 1U);
    EXPECT_EQ(model->graph.value(model->graph.outputs()[0]).shape->size(), 2U);
  }
}

}  // namespace
}  // namespace kinglet::engine
