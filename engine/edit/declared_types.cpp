// SPDX-License-Identifier: Apache-2.0
// Types of values: what the file says and what it computes, made one after an edit.
#include "engine/edit/graph_tools.h"

#include <onnx/onnx.pb.h>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/edit/edit.h"
#include "engine/onnx/tensor_proto.h"

namespace kinglet::engine::edit {
namespace {

using ::onnx::TensorShapeProto;
using ::onnx::ValueInfoProto;

bool same_sizes(const TensorShapeProto& declared, const Shape& shape) {
  if (declared.dim_size() != static_cast<int>(shape.size())) return false;
  for (int i = 0; i < declared.dim_size(); ++i) {
    const auto& dim = declared.dim(i);
    const Dim inferred = shape[static_cast<std::size_t>(i)];
    if (inferred == kUnknownDim ? dim.has_dim_value() : dim.has_dim_value() && dim.dim_value() != inferred)
      return false;
    if (inferred != kUnknownDim && !dim.has_dim_value()) return false;
  }
  return true;
}

bool as_declared(const ValueInfoProto& declared, const Value& value) {
  if (!declared.type().has_tensor_type()) return false;
  const auto& tensor = declared.type().tensor_type();
  if (tensor.elem_type() != onnx_format::onnx_type(value.type)) return false;
  return !tensor.has_shape() || !value.shape || same_sizes(tensor.shape(), *value.shape);
}

// Keeps the names of dimensions that still are free.
void update(ValueInfoProto& declared, const Value& value, const std::string& batch) {
  std::vector<std::string> names;
  for (const auto& dim : declared.type().tensor_type().shape().dim()) names.push_back(dim.dim_param());
  write_type(value, declared);
  if (!value.shape) return;
  auto& shape = *declared.mutable_type()->mutable_tensor_type()->mutable_shape();
  for (int i = 0; i < shape.dim_size(); ++i) {
    if (shape.dim(i).has_dim_value()) continue;
    std::string name = static_cast<std::size_t>(i) < names.size() ? names[static_cast<std::size_t>(i)] : "";
    if (i == 0 && !batch.empty()) name = batch;
    if (!name.empty()) shape.mutable_dim(i)->set_dim_param(name);
  }
}

// The name that every input has for its free first dimension, or nothing.
std::string batch_name(const GraphProto& graph) {
  std::string name;
  for (const ValueInfoProto& input : graph.input()) {
    const auto& shape = input.type().tensor_type().shape();
    if (shape.dim_size() == 0 || shape.dim(0).dim_param().empty()) return {};
    if (!name.empty() && shape.dim(0).dim_param() != name) return {};
    name = shape.dim(0).dim_param();
  }
  return name;
}

}  // namespace

void write_type(const Value& value, ValueInfoProto& out) {
  auto& tensor = *out.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx_format::onnx_type(value.type));
  tensor.clear_shape();
  if (!value.shape) return;
  auto& shape = *tensor.mutable_shape();
  for (const Dim dim : *value.shape) {
    auto& row = *shape.add_dim();
    if (dim != kUnknownDim) row.set_dim_value(dim);
  }
}

void declare_types(GraphProto& graph, const Graph& inferred, bool changed) {
  const std::string batch = batch_name(graph);
  for (ValueInfoProto& output : *graph.mutable_output()) {
    const auto id = inferred.find_value(output.name());
    if (!id) continue;
    if (!output.has_type() || (changed && !as_declared(output, inferred.value(*id)))) {
      update(output, inferred.value(*id), batch);
    }
  }
  if (!changed) return;
  remove_rows(*graph.mutable_value_info(), [&](const ValueInfoProto& row) {
    const auto id = inferred.find_value(row.name());
    return !id || !as_declared(row, inferred.value(*id));
  });
}

Result<ValueInfoProto> Context::type_of(const std::string& value) {
  const GraphProto& graph = document.model().graph();
  for (const auto* rows : {&graph.input(), &graph.output(), &graph.value_info()}) {
    for (const ValueInfoProto& row : *rows) {
      if (row.name() == value && row.type().tensor_type().has_shape() && !shapes_changed_) return row;
    }
  }
  if (!inferred_) inferred_ = std::make_shared<const Result<Graph>>(document.to_graph());
  ValueInfoProto out;
  out.set_name(value);
  if (*inferred_) {
    if (const auto id = (*inferred_)->find_value(value)) {
      write_type((*inferred_)->value(*id), out);
      return out;
    }
    return fail(ErrorCode::kBadData, format_text("the type of \"{}\" is not known", printable(value)));
  }
  Error error = inferred_->error();
  error.message =
      format_text("the type of \"{}\" is not known, and kinglet cannot infer it: {}", printable(value), error.message);
  return std::unexpected(std::move(error));
}

}  // namespace kinglet::engine::edit
