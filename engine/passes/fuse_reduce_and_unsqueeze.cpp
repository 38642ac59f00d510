// SPDX-License-Identifier: Apache-2.0
// Before:     y = ReduceMean / ReduceSum / ReduceMax ... (x, axes) {keepdims=0}; z = Unsqueeze(y, the same axes)
//             or: y = the same {keepdims=1}; z = Squeeze(y, the same axes)
// After:      z = the same {keepdims=1}, or {keepdims=0}
// Conditions: y is read by this node alone and is no graph output; both lists of axes are fixed constants and name the
//             same axes, each once, in any order and sign.
#include <algorithm>

#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

std::optional<std::vector<std::size_t>> axes_of(const Graph& graph, const Node& node, std::size_t rank) {
  const Tensor* constant = fixed_input(graph, node, 1);
  if (constant == nullptr || constant->element_count() == 0) return std::nullopt;
  std::vector<std::size_t> axes;
  for (const std::int64_t axis : constant->to_int64s()) {
    const Result<std::size_t> at = normalize_axis(axis, rank);
    if (!at) return std::nullopt;
    axes.push_back(*at);
  }
  std::ranges::sort(axes);
  return axes;
}

bool fuse(Graph& graph, NodeId id) {
  const Node& last = graph.node(id);
  const NodeId first =
      inner_producer(graph, last.inputs[0], [](const Node& node) { return traits_of(node).dims == DimRule::kReduced; });
  if (first == kNoNode) return false;
  const Node& reduce = graph.node(first);
  const bool adds = is_op(last, "Unsqueeze");
  const std::optional<Shape>& shape = graph.value(reduce.inputs[0]).shape;
  if (!shape || (reduce.attributes.get_int("keepdims", 1) != 0) == adds) return false;
  const auto reduced = axes_of(graph, reduce, shape->size());
  if (!reduced || reduced != axes_of(graph, last, shape->size())) return false;
  const ValueId output = reduce.outputs[0];
  if (!bypass_node(graph, id, output)) return false;
  graph.attributes(first).set("keepdims", std::int64_t{adds ? 1 : 0});
  return true;
}

}  // namespace

const NodePass fuse_reduce_and_unsqueeze{{"Unsqueeze", "Squeeze"}, fuse};

}  // namespace kinglet::engine::passes
