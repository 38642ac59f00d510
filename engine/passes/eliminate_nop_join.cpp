// SPDX-License-Identifier: Apache-2.0
// Before:     y = Concat / Sum / Mean / Max / Min (x), or y = Split(x) into one part
// After:      every reader of y reads x
// Conditions: exactly one input (one output for Split).
#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {

Result<int> eliminate_nop_join(Graph& graph, PassBudget& budget) {
  return rewrite_nodes(graph, budget, {"Concat", "Sum", "Mean", "Max", "Min", "Split"}, [](Graph& g, NodeId id) {
    const Node& node = g.node(id);
    const bool one_part = is_op(node, "Split") ? node.outputs.size() == 1 : node.inputs.size() == 1;
    return one_part && bypass_node(g, id, node.inputs[0]);
  });
}
}  // namespace kinglet::engine::passes
