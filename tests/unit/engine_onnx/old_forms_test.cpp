// SPDX-License-Identifier: Apache-2.0
// Nodes of old opsets are turned into the newest form before inference has looked at them: holes are found here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/engine_onnx/model_builder.h"

namespace kinglet::engine {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::relu_model;

std::string model_of(const std::string& op_type, std::initializer_list<const char*> inputs, std::int64_t opset) {
  return relu_model([&](::onnx::ModelProto& model) {
    model.mutable_opset_import(0)->set_version(opset);
    ::onnx::NodeProto& node = *model.mutable_graph()->mutable_node(0);
    node.set_op_type(op_type);
    node.clear_input();
    for (const char* input : inputs) node.add_input(input);
  });
}

TEST(OldForms, AreRefusedWithoutTheirFirstInput) {
  for (const char* op_type : {"Softmax", "Clip", "Upsample", "Pad", "Cast", "ReduceMean", "Dropout", "TopK"}) {
    EXPECT_THAT(error_of(model_of(op_type, {}, 6)), HasSubstr("input 0 is missing")) << op_type;
  }
}

TEST(OldForms, AreRefusedWithAHoleBeforeTheirSecondInput) {
  for (const char* op_type : {"Add", "PRelu", "Gemm"}) {
    EXPECT_THAT(error_of(model_of(op_type, {"", "x"}, 6)), HasSubstr("input 0 is missing")) << op_type;
  }
  EXPECT_THAT(error_of(model_of("GroupNormalization", {"x", "", "x"}, 18)), HasSubstr("input 1 is missing"));
  EXPECT_THAT(error_of(model_of("Resize", {"x", "", "x"}, 10)), HasSubstr("has no scales"));
}

}  // namespace
}  // namespace kinglet::engine
