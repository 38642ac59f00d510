// SPDX-License-Identifier: Apache-2.0
// Before:     a node none of whose outputs is read or is a graph output; a constant nobody reads
// After:      gone, and what only they read as well
// Conditions: graph inputs stay, read or not: callers set them by name.
#include <algorithm>

#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

bool is_dead(const Graph& graph, const Node& node) {
  return std::ranges::all_of(node.outputs, [&](ValueId output) {
    return output == kNoValue || (graph.consumers(output).empty() && !graph.is_output(output));
  });
}

int drop_nodes(Graph& graph, PassBudget& budget) {
  int count = 0;
  const std::vector<NodeId> order = graph.nodes();
  for (auto id = order.rbegin(); id != order.rend() && budget.left(); ++id) {
    const Node& node = graph.node(*id);
    if (!is_dead(graph, node)) continue;
    std::string name = node.name;
    std::string op_type = node.op_type;
    graph.remove_node(*id);
    budget.spend(std::move(name), std::move(op_type));
    ++count;
  }
  return count;
}

int drop_constants(Graph& graph, PassBudget& budget) {
  int count = 0;
  for (const ValueId id : graph.values()) {
    if (!budget.left()) break;
    if (fixed_constant(graph, id) == nullptr || !graph.consumers(id).empty() || graph.is_output(id)) continue;
    std::string name = graph.value(id).name;
    graph.remove_value(id);
    budget.spend(std::move(name), "constant");
    ++count;
  }
  return count;
}

}  // namespace

Result<int> eliminate_dead_nodes(Graph& graph, PassBudget& budget) {
  const int nodes = drop_nodes(graph, budget);
  return nodes + drop_constants(graph, budget);
}
}  // namespace kinglet::engine::passes
