// SPDX-License-Identifier: Apache-2.0
// Before:     y = DequantizeLinear(QuantizeLinear(x, scale, zero), scale, zero); z = Relu(y) or Clip(y, a, b);
//             q = QuantizeLinear(z, scale, zero)
// After:      z = Relu(x) or Clip(x, a, b); q = QuantizeLinear(z, scale, zero)
// Conditions: the inner values are read once and are no graph outputs; parameters as in engine/passes/quantization.h;
//             the bounds are constant, the lower one not above the other. PyTorch's exporter writes it so behind every
//             quantised convolution; now the bounds are the convolution's own.
// Formula:    rounding is monotonic: where x is above a but its level below a, no level lies nearer to a, so that both
//             forms give the level of a (the same for b).
#include "engine/passes/bounds.h"
#include "engine/passes/quantization.h"

namespace kinglet::engine::passes {
namespace {

// The one node that reads what `id` makes, if it has this operator.
NodeId only_reader(const Graph& graph, NodeId id, std::string_view op_type) {
  const ValueId made = graph.node(id).outputs[0];
  if (!graph.has_single_use(made) || graph.is_output(made)) return kNoNode;
  const NodeId reader = graph.consumers(made).front();
  return is_op(graph.node(reader), op_type) && graph.node(reader).inputs[0] == made ? reader : kNoNode;
}

bool move(Graph& graph, NodeId id) {
  const Node& clip = graph.node(id);
  const NodeId dequantize = producer_of(graph, clip.inputs[0], {"DequantizeLinear"});
  if (dequantize == kNoNode || has_fused_clip(clip) || only_reader(graph, dequantize, clip.op_type) != id) return false;
  const NodeId first = producer_of(graph, graph.node(dequantize).inputs[0], {"QuantizeLinear"});
  const NodeId second = only_reader(graph, id, "QuantizeLinear");
  if (first == kNoNode || second == kNoNode || only_reader(graph, first, "DequantizeLinear") != dequantize)
    return false;
  const Node& levels = graph.node(dequantize);
  if (!undoes(graph, graph.node(first), levels) || !undoes(graph, graph.node(second), levels)) return false;
  const auto bounds = bounds_of(graph, clip);
  if (!bounds || graph.value(graph.node(first).inputs[0]).type != DataType::kF32) return false;
  graph.set_input(id, 0, graph.node(first).inputs[0]);
  graph.remove_node(dequantize);
  graph.remove_node(first);
  return true;
}

}  // namespace

const NodePass move_clip{is_clamp, move};

}  // namespace kinglet::engine::passes
