// SPDX-License-Identifier: Apache-2.0
// Before:     y = Relu(x) or Clip(x, a, b); z = Relu(y) or Clip(y, c, d)
// After:      z = Clip(x, clip(a, c, d), clip(b, c, d)), or Relu(x) when that is [0, inf)
// Conditions: y is read by this node alone and is no graph output; floats; all bounds are fixed constants, a <= b and
//             c <= d (ONNX lets the maximum win otherwise: declined); the ranges meet. Relu is Clip to [0, inf). NaN
//             goes through Relu and Clip as NaN, before and after.
#include <algorithm>

#include "engine/passes/bounds.h"
#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

bool fuse(Graph& graph, NodeId id) {
  const Node& last = graph.node(id);
  const NodeId first = inner_producer(graph, last.inputs[0], is_clamp);
  if (first == kNoNode) return false;
  const std::optional<Bounds> inner = bounds_of(graph, graph.node(first));
  const std::optional<Bounds> outer = bounds_of(graph, last);
  if (!inner || !outer) return false;
  const Bounds both{.min = std::clamp(inner->min, outer->min, outer->max),
                    .max = std::clamp(inner->max, outer->min, outer->max)};
  // Ranges that do not meet make a constant of everything but NaN.
  if (!(both.min < both.max)) return false;
  set_bounds(graph, id, both);
  graph.set_input(id, 0, graph.node(first).inputs[0]);
  graph.remove_node(first);
  return true;
}

}  // namespace

const NodePass merge_clip{is_clamp, fuse};

}  // namespace kinglet::engine::passes
