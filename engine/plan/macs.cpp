// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/macs.h"

#include "engine/graph/quantization.h"

namespace kinglet::engine {
namespace {

const Shape* shape_of(const Graph& graph, const std::vector<ValueId>& ids, std::size_t index) {
  if (index >= ids.size() || ids[index] == kNoValue) return nullptr;
  const auto& shape = graph.value(ids[index]).shape;
  return shape && is_static(*shape) ? &*shape : nullptr;
}

std::int64_t count(const Shape& shape, std::size_t from = 0) {
  return element_count(std::span(shape).subspan(std::min(from, shape.size()))).value_or(0);
}

}  // namespace

std::int64_t multiply_adds(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Shape* input = shape_of(graph, node.inputs, 0);
  const QLinearForm* form = qlinear_form(node);
  const std::string_view op_type = form != nullptr ? form->becomes : node.op_type;
  const Shape* weight = shape_of(graph, node.inputs, form != nullptr ? form->b : 1);
  const Shape* output = shape_of(graph, node.outputs, 0);
  if (input == nullptr || weight == nullptr || output == nullptr || input->empty() || weight->empty()) return 0;
  if (op_type == "Conv") return count(*output) * count(*weight, 1);
  if (op_type == "ConvTranspose") return count(*input) * count(*weight, 1);
  if (op_type == "MatMul" || op_type == "Linear" || op_type == "MatMulIntegerToFloat")
    return count(*output) * input->back();
  if (op_type == "Gemm" && input->size() == 2) {
    return count(*output) * (*input)[node.attributes.get_int("transA", 0) != 0 ? 0 : 1];
  }
  return 0;
}

}  // namespace kinglet::engine
