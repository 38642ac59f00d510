// SPDX-License-Identifier: Apache-2.0
// Before:     y = Slice(x, starts, ends, axes, steps)
// After:      every reader of y reads x
// Conditions: x and y have the same static shape, and every step is a positive constant (-1 would turn x around).
#include <algorithm>

#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

bool drop(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const std::optional<Shape>& before = graph.value(node.inputs[0]).shape;
  if (!before || !is_static(*before) || graph.value(node.outputs[0]).shape != before) return false;
  if (has_input(node, 4)) {
    const Tensor* steps = fixed_input(graph, node, 4);
    if (steps == nullptr || !std::ranges::all_of(steps->to_int64s(), [](auto step) { return step > 0; })) return false;
  }
  return bypass_node(graph, id, node.inputs[0]);
}

}  // namespace

Result<int> eliminate_nop_slice(Graph& graph, PassBudget& budget) {
  return rewrite_nodes(graph, budget, {"Slice"}, drop);
}
}  // namespace kinglet::engine::passes
