// SPDX-License-Identifier: Apache-2.0
// Before:     y = DequantizeLinear(q, scale, zero); z = QuantizeLinear(y, scale', zero')
// After:      every reader of z reads q
// Conditions: q and z are of the same 8-bit type; scale and zero are fixed constants, bit-equal to scale' and zero',
// for
//             the same axis; every scale is a positive normal number whose 255-fold is finite, so that dividing gives
//             back what was multiplied.
#include <algorithm>
#include <cmath>

#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

bool same_constant(const Graph& graph, const Node& a, const Node& b, std::size_t input) {
  if (has_input(a, input) != has_input(b, input)) return false;
  if (!has_input(a, input)) return true;
  const Tensor* first = fixed_input(graph, a, input);
  const Tensor* second = fixed_input(graph, b, input);
  return first != nullptr && second != nullptr && first->bit_equal(*second);
}

bool is_invertible(const Tensor& scale) {
  constexpr float kLevels = 255;
  return is_float(scale.type()) && std::ranges::all_of(scale.to_floats(), [](float number) {
           return number > 0 && std::isnormal(number) && std::isfinite(number * kLevels);
         });
}

bool drop(Graph& graph, NodeId id) {
  const Node& quantize = graph.node(id);
  const NodeId before = producer_of(graph, quantize.inputs[0], {"DequantizeLinear"});
  if (before == kNoNode) return false;
  const Node& dequantize = graph.node(before);
  const ValueId source = dequantize.inputs[0];
  const DataType type = graph.value(source).type;
  const Tensor* scale = fixed_input(graph, quantize, 1);
  if ((type != DataType::kI8 && type != DataType::kU8) || scale == nullptr || scale->type() != DataType::kF32 ||
      !is_invertible(*scale) || !same_constant(graph, quantize, dequantize, 1) ||
      !same_constant(graph, quantize, dequantize, 2) ||
      quantize.attributes.get_int("axis", 1) != dequantize.attributes.get_int("axis", 1)) {
    return false;
  }
  return bypass_node(graph, id, source);
}

}  // namespace

Result<int> eliminate_quantize_pairs(Graph& graph, PassBudget& budget) {
  return rewrite_nodes(graph, budget, {"QuantizeLinear"}, drop);
}
}  // namespace kinglet::engine::passes
