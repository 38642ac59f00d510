// SPDX-License-Identifier: Apache-2.0
// Before:     y = Clip(x + a, 0, c) / c, or * k with c * k = 1
// After:      y = HardSigmoid(x) {alpha=k, beta=a * k}, which is Clip(alpha * x + beta, 0, 1)
// Conditions: a, c and k are constants of one element that do not widen x, c > 0, c * k within 1e-4 of 1; every inner
//             value is read once and is no graph output.
#include <limits>

#include "engine/passes/bounds.h"
#include "engine/passes/product.h"

namespace kinglet::engine::passes {
namespace {

struct Shifted {
  ValueId x = kNoValue;
  double shift = 0;
};

std::optional<Shifted> match_shift(const Graph& graph, ValueId id) {
  const NodeId sum = inner_producer(graph, id, {"Add"});
  if (sum == kNoNode) return std::nullopt;
  for (const std::size_t side : {1U, 0U}) {
    const std::optional<double> number = scalar_beside(graph, graph.node(sum), side);
    if (number) return Shifted{.x = graph.node(sum).inputs[1 - side], .shift = *number};
  }
  return std::nullopt;
}

bool fuse(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  for (const std::size_t side : {0U, 1U}) {
    const std::optional<double> number = scalar_beside(graph, node, 1 - side);
    const NodeId clip = inner_producer(graph, node.inputs[side], {"Clip"});
    if (!number || clip == kNoNode || has_fused_clip(node) || (is_op(node, "Div") && side == 1)) continue;
    const std::optional<Bounds> bounds = bounds_of(graph, graph.node(clip));
    const double factor = is_op(node, "Div") ? 1 / *number : *number;
    if (!bounds || bounds->min != 0 || !(bounds->max < std::numeric_limits<float>::infinity()) ||
        !is_about(static_cast<double>(bounds->max) * factor, 1)) {
      continue;
    }
    const std::optional<Shifted> inner = match_shift(graph, graph.node(clip).inputs[0]);
    if (!inner) continue;
    become_function(graph, id, "", "HardSigmoid", inner->x);
    graph.attributes(id).set("alpha", static_cast<float>(factor));
    graph.attributes(id).set("beta", static_cast<float>(inner->shift * factor));
    return true;
  }
  return false;
}

}  // namespace

const NodePass fuse_hard_sigmoid{{"Mul", "Div"}, fuse};

}  // namespace kinglet::engine::passes
