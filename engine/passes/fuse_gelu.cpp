// SPDX-License-Identifier: Apache-2.0
// Before:     y = x * 0.5 * (1 + Erf(x / sqrt(2))), the factors in any order, Mul by 1/sqrt(2) in place of Div
// After:      y = Gelu(x)
// Conditions: the result may use opset 20 (a session may, a file only if it has it); constants within 1e-4 of these;
//             every inner value is read once and is no graph output; the constants do not widen x.
#include <numbers>

#include "engine/passes/product.h"

namespace kinglet::engine::passes {
namespace {

constexpr std::int64_t kGeluOpset = 20;

// x of 1 + Erf(x / sqrt(2)); kNoValue for anything else.
ValueId argument_of(const Graph& graph, ValueId factor) {
  const NodeId sum = inner_producer(graph, factor, {"Add"});
  if (sum == kNoNode) return kNoValue;
  for (const std::size_t side : {0U, 1U}) {
    const std::optional<double> one = scalar_beside(graph, graph.node(sum), side);
    const NodeId erf = inner_producer(graph, graph.node(sum).inputs[1 - side], {"Erf"});
    if (!one || !is_about(*one, 1) || erf == kNoNode) continue;
    const NodeId scaled = inner_producer(graph, graph.node(erf).inputs[0], {"Div", "Mul"});
    if (scaled == kNoNode) continue;
    const Node& node = graph.node(scaled);
    for (const std::size_t at : {1U, 0U}) {
      const std::optional<double> number = scalar_beside(graph, node, at);
      if (!number || (is_op(node, "Div") && at == 0)) continue;
      const double divisor = is_op(node, "Div") ? *number : 1 / *number;
      if (is_about(divisor, std::numbers::sqrt2)) return node.inputs[1 - at];
    }
  }
  return kNoValue;
}

bool fuse(Graph& graph, NodeId id) {
  const std::optional<Product> product = match_product(graph, id);
  if (!product || !is_about(product->scale, 0.5)) return false;
  const bool first = argument_of(graph, product->one) == product->other;
  if (!first && argument_of(graph, product->other) != product->one) return false;
  become_function(graph, id, "", "Gelu", first ? product->other : product->one);
  return true;
}

}  // namespace

const NodePass fuse_gelu{{"Mul", "Div"}, fuse, kGeluOpset};

}  // namespace kinglet::engine::passes
