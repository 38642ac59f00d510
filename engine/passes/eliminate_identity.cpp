// SPDX-License-Identifier: Apache-2.0
// Before:     y = Identity(x)
// After:      every reader of y reads x
// Conditions: when y is a graph output, x must be computed, and no output itself (names of the border stay).
#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {

Result<int> eliminate_identity(Graph& graph, PassBudget& budget) {
  return rewrite_nodes(graph, budget, {"Identity"},
                       [](Graph& g, NodeId id) { return bypass_node(g, id, g.node(id).inputs[0]); });
}
}  // namespace kinglet::engine::passes
