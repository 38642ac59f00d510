// SPDX-License-Identifier: Apache-2.0
// Before:     y = Conv(x, w, b); z = Add(y, k) or Sub(y, k)
// After:      z = Conv(x, w, b + k), or - k
// Conditions: y is read by this node alone and is no graph output; w, b and k are fixed constants; k is one number or
// one per
//             channel ([C,1,1], [1,C,1,1]; a [W]-shaped k runs along the width even when W == C); every result is
//             finite.
// Formula:    b'[c] = b[c] + k[c], in double, rounded once.
#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

bool fuse(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (has_fused_clip(node)) return false;
  const std::optional<ConvAndConstant> match = match_conv_and_constant(graph, node, is_op(node, "Add"));
  if (!match) return false;
  std::vector<double> shift = match->numbers;
  if (is_op(node, "Sub")) {
    for (double& number : shift) number = -number;
  }
  const ValueId output = graph.node(match->conv).outputs[0];
  if (!can_replace(graph, node.outputs[0], output)) return false;
  if (!scale_and_shift_conv(graph, match->conv, {}, shift)) return false;
  return bypass_node(graph, id, output);
}

}  // namespace

Result<int> fuse_add_into_conv_bias(Graph& graph, PassBudget& budget) {
  return rewrite_nodes(graph, budget, {"Add", "Sub"}, fuse);
}
}  // namespace kinglet::engine::passes
