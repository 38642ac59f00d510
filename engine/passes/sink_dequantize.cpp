// SPDX-License-Identifier: Apache-2.0
// Before:     y = DequantizeLinear(q, scale, zero); z = Reshape / Flatten / Transpose / Slice / MaxPool ... (y)
// After:      z = DequantizeLinear(the same (q), scale, zero)
// Conditions: y is read by this node alone and is no graph output; one scale for the whole tensor; q is computed; the
//             node has one output and takes numbers of y only (no Concat). Plan only: a quarter of the bytes move, and
//             a layer behind finds its 8-bit input.
#include "engine/ops/levels.h"
#include "engine/ops/normalize.h"
#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

bool moves_one(const Node& node) {
  return keeps_levels(node) && !joins_levels(node) && !has_fused_clip(node) && node.outputs.size() == 1;
}

bool sink(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!graph.has_single_use(node.inputs[0])) return false;
  const NodeId before = producer_of(graph, node.inputs[0], {"DequantizeLinear"});
  if (before == kNoNode) return false;
  const Node& dequantize = graph.node(before);
  const ValueId levels = dequantize.inputs[0];
  const DataType type = graph.value(levels).type;
  const bool fits = fixed_input(graph, dequantize, 1) != nullptr && quantization_at(graph, dequantize, 1).has_value();
  if (!fits || graph.constant(levels) != nullptr || byte_size(type) != 1) return false;
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = levels;
  std::vector<ValueId> numbers = dequantize.inputs;
  numbers[0] = ops::insert_before(graph, id, node.op_type, std::move(inputs), node.attributes, type);
  graph.set_type_and_shape(numbers[0], type, graph.value(graph.node(id).outputs[0]).shape);
  ops::become(graph, id, "DequantizeLinear", numbers, {});
  return true;
}

}  // namespace

const NodePass sink_dequantize{moves_one, sink};

}  // namespace kinglet::engine::passes
