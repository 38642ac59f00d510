// SPDX-License-Identifier: Apache-2.0
// Before:     y = Conv(x, w, b); z = Mul(y, k) or Div(y, k)
// After:      z = Conv(x, w * k, b * k), or / k
// Conditions: y is read by this node alone and is no graph output; w, b and k are fixed constants; k is one number or
// one per
//             channel ([C,1,1], [1,C,1,1]; a [W]-shaped k runs along the width even when W == C); every result is
//             finite.
// Formula:    w'[c] = w[c] * k[c], b'[c] = b[c] * k[c], in double, rounded once.
#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

bool fuse(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (has_fused_clip(node)) return false;
  const std::optional<ConvAndConstant> match = match_conv_and_constant(graph, node, is_op(node, "Mul"));
  if (!match) return false;
  std::vector<double> factor = match->numbers;
  if (is_op(node, "Div")) {
    for (double& number : factor) number = 1.0 / number;
  }
  const ValueId output = graph.node(match->conv).outputs[0];
  if (!can_replace(graph, node.outputs[0], output)) return false;
  if (!scale_and_shift_conv(graph, match->conv, factor, {})) return false;
  return bypass_node(graph, id, output);
}

}  // namespace

Result<int> fuse_mul_into_conv(Graph& graph, PassBudget& budget) {
  return rewrite_nodes(graph, budget, {"Mul", "Div"}, fuse);
}
}  // namespace kinglet::engine::passes
