// SPDX-License-Identifier: Apache-2.0
// Before:     y = Conv(x, w, b); z = Mul(y, k) or Div(y, k)
// After:      z = Conv(x, w * k, b * k), or / k
// Conditions: y is read by this node alone and is no graph output; w, b and k are fixed constants; k is one number or
//             one per channel ([C,1,1], [1,C,1,1]; a [W]-shaped k runs along the width even when W == C); every
//             result is finite.
// Formula:    w'[c] = w[c] * k[c], b'[c] = b[c] * k[c], in double, rounded once.
#include "engine/passes/fold_into_conv.h"

namespace kinglet::engine::passes {
namespace {

bool fuse(Graph& graph, NodeId id) {
  const bool inverse = is_op(graph.node(id), "Div");
  return fold_into_conv(graph, id, !inverse, [&](NodeId conv, std::vector<double> factor) {
    if (inverse) {
      for (double& number : factor) number = 1.0 / number;
    }
    return scale_and_shift_conv(graph, conv, factor, {});
  });
}

}  // namespace

const NodePass fuse_mul_into_conv{{"Mul", "Div"}, fuse};

}  // namespace kinglet::engine::passes
