// SPDX-License-Identifier: Apache-2.0
#include "engine/edit/proto_text.h"

#include <onnx/onnx.pb.h>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/graph/shape.h"
#include "engine/onnx/import.h"
#include "engine/onnx/tensor_proto.h"

namespace kinglet::engine::edit {
namespace {

constexpr int kMostItems = 16;

template <typename List, typename Show>
std::string list_text(const List& list, Show show) {
  std::string text;
  int count = 0;
  for (const auto& item : list) {
    if (count++ == kMostItems) return format_text("[{}, ... {} in all]", text, list.size());
    text += (text.empty() ? "" : ", ") + show(item);
  }
  return "[" + text + "]";
}

std::string quoted(const std::string& text) { return format_text("\"{}\"", printable(text, 60)); }

}  // namespace

std::string name_of(const ::onnx::NodeProto& node) {
  return node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
}

std::string operator_of(const ::onnx::NodeProto& node) {
  const std::string_view domain = onnx_format::canonical_domain(node.domain());
  return domain.empty() ? node.op_type() : format_text("{}.{}", domain, node.op_type());
}

std::string place(const ::onnx::NodeProto& node) {
  return format_text("node \"{}\" ({})", printable(name_of(node)), printable(operator_of(node)));
}

std::string value_text(const ::onnx::AttributeProto& attribute) {
  using ::onnx::AttributeProto;
  switch (attribute.type()) {
    case AttributeProto::INT:
      return std::to_string(attribute.i());
    case AttributeProto::FLOAT:
      return format_text("{}", attribute.f());
    case AttributeProto::STRING:
      return quoted(attribute.s());
    case AttributeProto::INTS:
      return list_text(attribute.ints(), [](std::int64_t value) { return std::to_string(value); });
    case AttributeProto::FLOATS:
      return list_text(attribute.floats(), [](float value) { return format_text("{}", value); });
    case AttributeProto::STRINGS:
      return list_text(attribute.strings(), quoted);
    case AttributeProto::TENSOR:
      return "a tensor " + type_text(attribute.t());
    default:
      return format_text("a value of kind {}", static_cast<int>(attribute.type()));
  }
}

std::string type_text(const ::onnx::ValueInfoProto& value) {
  if (!value.type().has_tensor_type()) return "no tensor";
  const auto& tensor = value.type().tensor_type();
  std::string type = onnx_format::type_name(tensor.elem_type());
  if (!tensor.has_shape()) return type;
  return type + " " + list_text(tensor.shape().dim(), [](const auto& dim) {
           return dim.has_dim_value() ? std::to_string(dim.dim_value()) : printable(dim.dim_param(), 30);
         });
}

std::string type_text(const ::onnx::TensorProto& tensor) {
  const Shape shape(tensor.dims().begin(), tensor.dims().end());
  return onnx_format::type_name(tensor.data_type()) + " " + to_string(shape);
}

std::int64_t count_of(const ::onnx::TensorProto& tensor) {
  return element_count(Shape(tensor.dims().begin(), tensor.dims().end())).value_or(0);
}

}  // namespace kinglet::engine::edit
