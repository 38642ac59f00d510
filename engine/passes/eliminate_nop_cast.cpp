// SPDX-License-Identifier: Apache-2.0
// Before:     y = Cast(x) or CastLike(x, t), both of the same type
// After:      every reader of y reads x
// Conditions: the types are equal. Never a pair of casts: float -> int -> float rounds.
#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {

Result<int> eliminate_nop_cast(Graph& graph, PassBudget& budget) {
  return rewrite_nodes(graph, budget, {"Cast", "CastLike"}, [](Graph& g, NodeId id) {
    const Node& node = g.node(id);
    return bypass_node(g, id, node.inputs[0]);  // declines when the types differ
  });
}
}  // namespace kinglet::engine::passes
