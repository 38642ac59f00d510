// SPDX-License-Identifier: Apache-2.0
// Before:     y = x * HardSigmoid(x) {alpha=1/6, beta=0.5}, or x * Clip(x + 3, 0, 6) / 6 with the factors in any order
// After:      y = HardSwish(x)
// Conditions: the result may use opset 14 (a session may, a file only if it has it); constants within 1e-4 of these;
//             every inner value is read once and is no graph output; the constants do not widen x.
#include "engine/passes/bounds.h"
#include "engine/passes/product.h"

namespace kinglet::engine::passes {
namespace {

constexpr std::int64_t kHardSwishOpset = 14;

// x and the scale of HardSigmoid(x) (1) or of Clip(x + 3, 0, 6) (6).
struct Gate {
  ValueId x = kNoValue;
  double scale = 1;
};

std::optional<Gate> match_gate(const Graph& graph, ValueId id) {
  const NodeId made_by = inner_producer(graph, id, {"HardSigmoid", "Clip"});
  if (made_by == kNoNode) return std::nullopt;
  const Node& node = graph.node(made_by);
  if (is_op(node, "HardSigmoid")) {
    const auto alpha = static_cast<double>(node.attributes.get_float("alpha", 0.2F));
    const auto beta = static_cast<double>(node.attributes.get_float("beta", 0.5F));
    if (!is_about(alpha, 1.0 / 6) || !is_about(beta, 0.5)) return std::nullopt;
    return Gate{.x = node.inputs[0], .scale = 1};
  }
  const std::optional<Bounds> bounds = bounds_of(graph, node);
  const NodeId sum = inner_producer(graph, node.inputs[0], {"Add"});
  if (!bounds || bounds->min != 0 || !is_about(static_cast<double>(bounds->max), 6) || sum == kNoNode) {
    return std::nullopt;
  }
  for (const std::size_t side : {1U, 0U}) {
    const std::optional<double> shift = scalar_beside(graph, graph.node(sum), side);
    if (shift && is_about(*shift, 3)) return Gate{.x = graph.node(sum).inputs[1 - side], .scale = 6};
  }
  return std::nullopt;
}

bool fuse(Graph& graph, NodeId id) {
  const std::optional<Product> product = match_product(graph, id);
  if (!product) return false;
  for (const auto& [gate_value, x] :
       {std::pair(product->one, product->other), std::pair(product->other, product->one)}) {
    const std::optional<Gate> gate = match_gate(graph, gate_value);
    if (!gate || gate->x != x || !is_about(product->scale * gate->scale, 1)) continue;
    become_function(graph, id, "", "HardSwish", x);
    return true;
  }
  return false;
}

}  // namespace

const NodePass fuse_hard_swish{{"Mul", "Div"}, fuse, kHardSwishOpset};

}  // namespace kinglet::engine::passes
