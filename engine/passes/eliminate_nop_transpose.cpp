// SPDX-License-Identifier: Apache-2.0
// Before:     y = Transpose(x) {perm=[0,1,2,...]}
// After:      every reader of y reads x
// Conditions: perm is written and in order (left out, it means the reverse), or x has fewer than two axes.
#include <algorithm>

#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {

Result<int> eliminate_nop_transpose(Graph& graph, PassBudget& budget) {
  return rewrite_nodes(graph, budget, {"Transpose"}, [](Graph& g, NodeId id) {
    const Node& node = g.node(id);
    const std::optional<Shape>& shape = g.value(node.inputs[0]).shape;
    const std::vector<std::int64_t> perm = node.attributes.get_ints("perm");
    const bool in_order = !perm.empty() && std::ranges::is_sorted(perm);
    if (!in_order && !(shape && shape->size() < 2)) return false;
    return bypass_node(g, id, node.inputs[0]);
  });
}
}  // namespace kinglet::engine::passes
