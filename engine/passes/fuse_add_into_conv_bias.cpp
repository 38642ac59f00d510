// SPDX-License-Identifier: Apache-2.0
// Before:     y = Conv(x, w, b); z = Add(y, k) or Sub(y, k)
// After:      z = Conv(x, w, b + k), or - k
// Conditions: y is read by this node alone and is no graph output; w, b and k are fixed constants; k is one number or
//             one per channel ([C,1,1], [1,C,1,1]; a [W]-shaped k runs along the width even when W == C); every
//             result is finite.
// Formula:    b'[c] = b[c] + k[c], in double, rounded once.
#include "engine/passes/fold_into_conv.h"

namespace kinglet::engine::passes {
namespace {

bool fuse(Graph& graph, NodeId id) {
  const bool inverse = is_op(graph.node(id), "Sub");
  return fold_into_conv(graph, id, !inverse, [&](NodeId conv, std::vector<double> shift) {
    if (inverse) {
      for (double& number : shift) number = -number;
    }
    return scale_and_shift_conv(graph, conv, {}, shift);
  });
}

}  // namespace

const NodePass fuse_add_into_conv_bias{{"Add", "Sub"}, fuse};

}  // namespace kinglet::engine::passes
