// SPDX-License-Identifier: Apache-2.0
// Before:     y = Transpose(x) {perm=p}; z = Transpose(y) {perm=q}
// After:      z = Transpose(x) {perm=r}, r[i] = p[q[i]]; nothing at all when r is in order
// Conditions: y is read by this node alone, unless r is in order. A perm left out is the reverse of the axes.
#include <algorithm>

#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

bool fuse(Graph& graph, NodeId id) {
  const ValueId middle = graph.node(id).inputs[0];
  const NodeId first = producer_of(graph, middle, {"Transpose"});
  if (first == kNoNode) return false;
  const std::vector<std::int64_t> inner = perm_of(graph, graph.node(first));
  const std::vector<std::int64_t> outer = perm_of(graph, graph.node(id));
  if (inner.empty() || inner.size() != outer.size()) return false;
  std::vector<std::int64_t> both;
  both.reserve(outer.size());
  for (const std::int64_t axis : outer) both.push_back(inner[static_cast<std::size_t>(axis)]);
  const ValueId source = graph.node(first).inputs[0];
  if (std::ranges::is_sorted(both)) {
    if (!bypass_node(graph, id, source)) return false;
    if (graph.consumers(middle).empty() && !graph.is_output(middle)) graph.remove_node(first);
    return true;
  }
  if (!graph.has_single_use(middle)) return false;
  graph.set_input(id, 0, source);
  graph.attributes(id).set("perm", std::move(both));
  graph.remove_node(first);
  return true;
}

}  // namespace

const NodePass fuse_transposes{{"Transpose"}, fuse};

}  // namespace kinglet::engine::passes
