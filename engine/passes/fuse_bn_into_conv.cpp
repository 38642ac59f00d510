// SPDX-License-Identifier: Apache-2.0
// Before:     y = Conv(x, w, b); z = BatchNormalization(y, scale, shift, mean, variance)
// After:      z = Conv(x, w', b')
// Conditions: y is read by this node alone and is no graph output; inference mode with one output; all of w, b,
//             scale, shift, mean and variance are fixed constants; variance + epsilon > 0; every resulting number is
//             finite.
// Formula:    f = scale / sqrt(variance + epsilon), w'[c] = w[c] * f[c], b'[c] = (b[c] - mean[c]) * f[c] + shift[c], in
//             double, rounded once.
#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

bool fuse(Graph& graph, NodeId id) {
  const Node& bn = graph.node(id);
  const NodeId conv = inner_producer(graph, bn.inputs[0], {"Conv"});
  if (conv == kNoNode) return false;
  const std::optional<ChannelAffine> affine = affine_of_bn(graph, bn);
  const ValueId output = graph.node(conv).outputs[0];
  if (!affine || !can_replace(graph, bn.outputs[0], output)) return false;
  if (!scale_and_shift_conv(graph, conv, affine->factor, affine->shift)) return false;
  return bypass_node(graph, id, output);
}

}  // namespace

const NodePass fuse_bn_into_conv{{"BatchNormalization"}, fuse};

}  // namespace kinglet::engine::passes
