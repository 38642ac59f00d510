// SPDX-License-Identifier: Apache-2.0
// Before:     y = Concat(a, b) {axis}; z = Concat(y, c) {axis}
// After:      z = Concat(a, b, c) {axis}
// Conditions: y is read once, by this node, and is no graph output; both axes are the same one (-1 may be 1).
#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

std::optional<std::size_t> axis_of(const Graph& graph, const Node& node) {
  const std::optional<Shape>& shape = graph.value(node.outputs[0]).shape;
  if (!shape) return std::nullopt;
  const Result<std::size_t> axis = normalize_axis(node.attributes.get_int("axis", 0), shape->size());
  return axis ? std::optional(*axis) : std::nullopt;
}

bool fuse(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const NodeId inner = inner_producer(graph, node.inputs[i], {"Concat"});
    if (inner == kNoNode) continue;
    const std::optional<std::size_t> axis = axis_of(graph, node);
    if (!axis || axis_of(graph, graph.node(inner)) != axis) continue;
    std::vector<ValueId> all = node.inputs;
    const std::vector<ValueId> parts = graph.node(inner).inputs;
    const auto at = all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    all.insert(at, parts.begin(), parts.end());
    graph.resize_inputs(id, all.size());
    for (std::size_t k = i; k < all.size(); ++k) graph.set_input(id, k, all[k]);
    graph.remove_node(inner);
    return true;
  }
  return false;
}

}  // namespace

const NodePass fuse_concats{{"Concat"}, fuse};

}  // namespace kinglet::engine::passes
