// SPDX-License-Identifier: Apache-2.0
// Before:     y = MatMul(a * c, b * d), as attention scales query and key by the root of its factor each
// After:      y = MatMul(a * (c * d), b)
// Conditions: both products are read by this node alone and are no graph output; c and d are constant floats of one
//             element that do not widen a and b (also as divisors); c * d is a normal number. Rounds once less.
#include <cmath>

#include "engine/passes/product.h"

namespace kinglet::engine::passes {
namespace {

struct Scaled {
  NodeId node = kNoNode;
  std::size_t side = 0;  // the constant's
  double factor = 1;
};

std::optional<Scaled> match(const Graph& graph, ValueId id) {
  const NodeId made_by = inner_producer(graph, id, {"Mul", "Div"});
  if (made_by == kNoNode) return std::nullopt;
  const Node& node = graph.node(made_by);
  const bool divides = is_op(node, "Div");
  for (const std::size_t side : {1U, 0U}) {
    const std::optional<double> number = divides && side == 0 ? std::nullopt : scalar_beside(graph, node, side);
    if (number) return Scaled{.node = made_by, .side = side, .factor = divides ? 1 / *number : *number};
  }
  return std::nullopt;
}

bool fuse(Graph& graph, NodeId id) {
  const std::optional<Scaled> first = match(graph, graph.node(id).inputs[0]);
  const std::optional<Scaled> second = match(graph, graph.node(id).inputs[1]);
  if (!first || !second) return false;
  const double factor = first->factor * second->factor;
  const DataType type = graph.value(graph.node(id).inputs[0]).type;
  const Shape shape = graph.constant(graph.node(first->node).inputs[first->side])->shape();
  std::optional<Tensor> constant = make_finite(type, shape, std::span(&factor, 1));
  if (!constant || !std::isnormal(constant->to_floats()[0])) return false;
  graph.set_op_type(first->node, "", "Mul");
  put_constant(graph, first->node, first->side, *std::move(constant), "factor");
  graph.set_input(id, 1, graph.node(second->node).inputs[1 - second->side]);
  graph.remove_node(second->node);
  return true;
}

}  // namespace

const NodePass merge_matmul_scales{{"MatMul"}, fuse};

}  // namespace kinglet::engine::passes
