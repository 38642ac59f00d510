// SPDX-License-Identifier: Apache-2.0
// Other numbers for a weight: an initializer or a Constant node.

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/edit/graph_tools.h"
#include "engine/edit/verbs.h"

namespace kinglet::engine::edit {
namespace {

::onnx::TensorProto* find_constant(GraphProto& graph, const std::string& name) {
  for (auto& tensor : *graph.mutable_initializer()) {
    if (tensor.name() == name) return &tensor;
  }
  for (NodeProto& node : *graph.mutable_node()) {
    if (node.op_type() != "Constant" || node.output_size() != 1 || node.output(0) != name) continue;
    node.clear_attribute();
    auto& attribute = *node.add_attribute();
    attribute.set_name("value");
    attribute.set_type(::onnx::AttributeProto::TENSOR);
    return attribute.mutable_t();
  }
  return nullptr;
}

Result<void> apply(Context& context, const Arguments& arguments) {
  GraphProto& graph = *context.document.model().mutable_graph();
  for (const std::string& text : arguments.all("NAME=FILE.npy")) {
    const Assignment wish = KINGLET_TRY(split_assignment(text, "NAME=FILE.npy"));
    KINGLET_TRY(require_value(graph, wish.name));
    ::onnx::TensorProto* tensor = find_constant(graph, wish.name);
    if (tensor == nullptr) {
      return fail(ErrorCode::kUsage, format_text("\"{}\" is computed, it is no weight", printable(wish.name)));
    }
    const Tensor numbers = KINGLET_TRY(context.environment.read_tensor(wish.value));
    context.document.set_tensor(*tensor, numbers);
    for (auto& input : *graph.mutable_input()) {  // old files list their weights as inputs, too
      if (input.name() != wish.name) continue;
      auto& shape = *input.mutable_type()->mutable_tensor_type()->mutable_shape();
      input.mutable_type()->mutable_tensor_type()->set_elem_type(tensor->data_type());
      shape.clear_dim();
      for (const Dim dim : numbers.shape()) shape.add_dim()->set_dim_value(dim);
    }
  }
  context.shapes_changed();
  return {};
}

}  // namespace

const VerbParts verbs::set_const{{{"NAME=FILE.npy", "", "a weight, and the file with its numbers", Take::kMany, true}},
                                 apply};

}  // namespace kinglet::engine::edit
