// SPDX-License-Identifier: Apache-2.0
// Why: wrong and absurd models in a few words each, written by protobuf itself so that only what a row says is wrong.
#pragma once

#include <onnx/onnx.pb.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kinglet::engine::testing {

using Ints = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

class ModelWriter {
 public:
  explicit ModelWriter(std::int64_t opset = 17) {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(opset);
  }

  ModelWriter& input(const std::string& name, const Ints& dims, int type = ::onnx::TensorProto::FLOAT) {
    auto& added = *graph().add_input();
    added.set_name(name);
    auto& tensor = *added.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    tensor.mutable_shape();
    for (const std::int64_t dim : dims) tensor.mutable_shape()->add_dim()->set_dim_value(dim);
    return *this;
  }

  // Zeros, as many as the shape asks for; `bytes` >= 0 puts so many bytes there instead.
  ModelWriter& floats(const std::string& name, const Ints& dims, std::int64_t bytes = -1) {
    ::onnx::TensorProto& added = weight(name, ::onnx::TensorProto::FLOAT, dims);
    std::int64_t count = 4;
    for (const std::int64_t dim : dims) count *= bytes < 0 ? dim : 1;
    added.set_raw_data(std::string(static_cast<std::size_t>(bytes < 0 ? count : bytes), '\0'));
    return *this;
  }

  ModelWriter& ints(const std::string& name, const Ints& values) {
    ::onnx::TensorProto& added = weight(name, ::onnx::TensorProto::INT64, {static_cast<std::int64_t>(values.size())});
    for (const std::int64_t value : values) added.add_int64_data(value);
    return *this;
  }

  ::onnx::TensorProto& weight(const std::string& name, int type, const Ints& dims) {
    ::onnx::TensorProto& added = *graph().add_initializer();
    added.set_name(name);
    added.set_data_type(type);
    for (const std::int64_t dim : dims) added.add_dims(dim);
    return added;
  }

  // The node is named as its first output.
  ModelWriter& node(const std::string& op_type, const Names& inputs, const Names& outputs) {
    ::onnx::NodeProto& added = *graph().add_node();
    added.set_op_type(op_type);
    if (!outputs.empty()) added.set_name(outputs.front());
    for (const std::string& name : inputs) added.add_input(name);
    for (const std::string& name : outputs) added.add_output(name);
    return *this;
  }

  // Of the newest node.
  ModelWriter& with(const std::string& name, std::int64_t value) {
    ::onnx::AttributeProto& added = attribute(name, ::onnx::AttributeProto::INT);
    added.set_i(value);
    return *this;
  }
  ModelWriter& with(const std::string& name, const Ints& values) {
    ::onnx::AttributeProto& added = attribute(name, ::onnx::AttributeProto::INTS);
    for (const std::int64_t value : values) added.add_ints(value);
    return *this;
  }
  ModelWriter& with(const std::string& name, std::string_view text) {
    attribute(name, ::onnx::AttributeProto::STRING).set_s(std::string(text));
    return *this;
  }
  ::onnx::AttributeProto& attribute(const std::string& name, int type) {
    ::onnx::AttributeProto& added = *graph().mutable_node(graph().node_size() - 1)->add_attribute();
    added.set_name(name);
    added.set_type(static_cast<::onnx::AttributeProto::AttributeType>(type));
    return added;
  }

  ModelWriter& output(const std::string& name) {
    graph().add_output()->set_name(name);
    return *this;
  }

  ::onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  ::onnx::ModelProto& model() { return model_; }
  [[nodiscard]] std::string bytes() const { return model_.SerializeAsString(); }

 private:
  ::onnx::ModelProto model_;
};

// y = Relu(x), x float [1,4].
inline ModelWriter relu(std::int64_t opset = 17) {
  ModelWriter model(opset);
  model.input("x", {1, 4}).node("Relu", {"x"}, {"y"}).output("y");
  return model;
}

}  // namespace kinglet::engine::testing
