// SPDX-License-Identifier: Apache-2.0
// Why: tests of the loader write small ONNX files, right and wrong ones, through protobuf itself.
#pragma once

#include <onnx/onnx.pb.h>

#include <span>
#include <string>

#include "engine/onnx/load.h"

namespace kinglet::engine::testing {

// y = Relu(x), x float [1,4]; `change` spoils it.
template <typename Change>
std::string relu_model(Change change) {
  ::onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(13);
  ::onnx::GraphProto& graph = *model.mutable_graph();
  ::onnx::ValueInfoProto& x = *graph.add_input();
  x.set_name("x");
  auto& type = *x.mutable_type()->mutable_tensor_type();
  type.set_elem_type(::onnx::TensorProto::FLOAT);
  type.mutable_shape()->add_dim()->set_dim_value(1);
  type.mutable_shape()->add_dim()->set_dim_value(4);
  ::onnx::NodeProto& node = *graph.add_node();
  node.set_op_type("Relu");
  node.set_name("relu");
  node.add_input("x");
  node.add_output("y");
  graph.add_output()->set_name("y");
  change(model);
  return model.SerializeAsString();
}

inline Result<Graph> load(const std::string& bytes) { return load_model(std::as_bytes(std::span(bytes))); }

// The whole error as a person reads it.
inline std::string error_of(const std::string& bytes) {
  const Result<Graph> graph = load(bytes);
  return graph ? "loaded" : describe(graph.error());
}

}  // namespace kinglet::engine::testing
