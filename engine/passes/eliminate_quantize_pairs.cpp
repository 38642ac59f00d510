// SPDX-License-Identifier: Apache-2.0
// Before:     y = DequantizeLinear(q, scale, zero); z = QuantizeLinear(y, scale', zero')
// After:      every reader of z reads q
// Conditions: those of engine/passes/quantization.h: parameters with equal bits, for the same axis and 8-bit type.
#include "engine/passes/quantization.h"

namespace kinglet::engine::passes {
namespace {

bool drop(Graph& graph, NodeId id) {
  const Node& quantize = graph.node(id);
  const NodeId before = producer_of(graph, quantize.inputs[0], {"DequantizeLinear"});
  if (before == kNoNode || !undoes(graph, quantize, graph.node(before))) return false;
  return bypass_node(graph, id, graph.node(before).inputs[0]);
}

}  // namespace

const NodePass eliminate_quantize_pairs{{"QuantizeLinear"}, drop};

}  // namespace kinglet::engine::passes
