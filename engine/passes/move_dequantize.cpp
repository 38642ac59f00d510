// SPDX-License-Identifier: Apache-2.0
// Before:     y = DequantizeLinear(q, scale, zero); r = MaxPool / Reshape / Transpose / Slice / Concat ... (y);
//             z = QuantizeLinear(r, scale, zero)
// After:      z = the same (q)
// Conditions: r is read by QuantizeLinear alone and is no graph output; parameters as in engine/passes/quantization.h,
//             one number for the whole tensor; q is made by a QuantizeLinear, which the backend takes its scale from;
//             r has one output; all inputs of Concat alike.
#include "engine/ops/levels.h"
#include "engine/passes/quantization.h"

namespace kinglet::engine::passes {
namespace {

// The 8-bit value behind input `index`, when it may be read in its place.
ValueId quantized_input(const Graph& graph, const Node& node, std::size_t index, const Node& quantize) {
  const NodeId before = producer_of(graph, node.inputs[index], {"DequantizeLinear"});
  if (before == kNoNode || !undoes(graph, quantize, graph.node(before))) return kNoValue;
  const ValueId source = graph.node(before).inputs[0];
  return producer_of(graph, source, {"QuantizeLinear"}) == kNoNode ? kNoValue : source;
}

bool only_moves(const Node& node) { return keeps_levels(node) && node.outputs.size() == 1 && !has_fused_clip(node); }

bool move(Graph& graph, NodeId id) {
  const Node& quantize = graph.node(id);
  const ValueId middle = quantize.inputs[0];
  const NodeId between = graph.value(middle).producer;
  const Tensor* scale = fixed_input(graph, quantize, 1);
  if (between == kNoNode || !graph.has_single_use(middle) || !only_moves(graph.node(between)) || scale == nullptr ||
      scale->element_count() != 1) {
    return false;
  }
  const Node& node = graph.node(between);
  const std::size_t moved = joins_levels(node) ? node.inputs.size() : 1;
  std::vector<ValueId> sources;
  for (std::size_t i = 0; i < moved; ++i) {
    sources.push_back(quantized_input(graph, node, i, quantize));
    if (sources.back() == kNoValue) return false;
  }
  graph.set_type_and_shape(middle, graph.value(sources[0]).type, graph.value(middle).shape);
  for (std::size_t i = 0; i < moved; ++i) graph.set_input(between, i, sources[i]);
  return bypass_node(graph, id, middle);
}

}  // namespace

const NodePass move_dequantize{{"QuantizeLinear"}, move};

}  // namespace kinglet::engine::passes
