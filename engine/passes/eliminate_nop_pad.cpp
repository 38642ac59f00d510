// SPDX-License-Identifier: Apache-2.0
// Before:     y = Pad(x, pads, value, axes), any mode
// After:      every reader of y reads x
// Conditions: pads are constant and all 0.
#include <algorithm>

#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {

Result<int> eliminate_nop_pad(Graph& graph, PassBudget& budget) {
  return rewrite_nodes(graph, budget, {"Pad"}, [](Graph& g, NodeId id) {
    const Node& node = g.node(id);
    const Tensor* pads = fixed_input(g, node, 1);
    if (pads == nullptr || !std::ranges::all_of(pads->to_int64s(), [](auto pad) { return pad == 0; })) return false;
    return bypass_node(g, id, node.inputs[0]);
  });
}
}  // namespace kinglet::engine::passes
