// SPDX-License-Identifier: Apache-2.0
// Before:     y = Reshape / Flatten / Squeeze / Unsqueeze / Expand / Tile (x)
// After:      every reader of y reads x
// Conditions: both shapes are known and equal. For the four that keep the number of elements one dimension may be
//             unknown, at the same place in both: it is the quotient of equal counts, so equal too.
#include <algorithm>

#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

bool proven_equal(const std::optional<Shape>& before, const std::optional<Shape>& after, bool keeps_count) {
  if (!before || !after || *before != *after) return false;
  const auto unknown = std::ranges::count(*before, kUnknownDim);
  return unknown == 0 || (unknown == 1 && keeps_count && std::ranges::count(*before, 0) == 0);
}

bool drop(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const bool keeps_count = !is_any_of(node, {"Expand", "Tile"});
  const ValueId input = node.inputs[0];
  if (!proven_equal(graph.value(input).shape, graph.value(node.outputs[0]).shape, keeps_count)) return false;
  return bypass_node(graph, id, input);
}

}  // namespace

Result<int> eliminate_nop_reshape(Graph& graph, PassBudget& budget) {
  return rewrite_nodes(graph, budget, {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand", "Tile"}, drop);
}
}  // namespace kinglet::engine::passes
