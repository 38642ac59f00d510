// SPDX-License-Identifier: Apache-2.0
// Before:     y = Identity(x)
// After:      every reader of y reads x
// Conditions: when y is a graph output, x must be computed, and no output itself (names of the border stay).
#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {

const NodePass eliminate_identity{
    {"Identity"}, [](Graph& graph, NodeId id) { return bypass_node(graph, id, graph.node(id).inputs[0]); }};

}  // namespace kinglet::engine::passes
