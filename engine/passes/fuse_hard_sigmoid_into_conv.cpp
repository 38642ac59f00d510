// SPDX-License-Identifier: Apache-2.0
// Before:     y = Conv(x, w, b); z = HardSigmoid(y) {alpha, beta}
// After:      z = Clip(Conv(x, w * alpha, b * alpha + beta), 0, 1)
// Conditions: y is read by this node alone and is no graph output; w and b are fixed constants; alpha is not 0; every
//             result is finite. Plan only: as many nodes, but the bounds become the convolution's own, and 8-bit
//             convolutions have bounds where a HardSigmoid of 8 bits does not exist.
// Formula:    HardSigmoid(y) = min(max(alpha * y + beta, 0), 1)
#include <vector>

#include "engine/ops/normalize.h"
#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

bool fuse(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const ValueId y = node.inputs[0];
  const NodeId conv = inner_producer(graph, y, {"Conv"});
  if (conv == kNoNode || has_fused_clip(node)) return false;
  const Tensor* weight = fixed_input(graph, graph.node(conv), 1);
  const float alpha = node.attributes.get_float("alpha", 0.2F);
  const float beta = node.attributes.get_float("beta", 0.5F);
  if (weight == nullptr || weight->type() != DataType::kF32 || alpha == 0) return false;
  const auto channels = static_cast<std::size_t>(weight->shape()[0]);
  if (!scale_and_shift_conv(graph, conv, std::vector<double>(channels, alpha), std::vector<double>(channels, beta))) {
    return false;
  }
  const ValueId min = ops::add_node_constant(graph, id, "min", Tensor::of<float>({}, {0.0F}));
  const ValueId max = ops::add_node_constant(graph, id, "max", Tensor::of<float>({}, {1.0F}));
  ops::become(graph, id, "Clip", {y, min, max}, {});
  return true;
}

}  // namespace

const NodePass fuse_hard_sigmoid_into_conv{{"HardSigmoid"}, fuse};

}  // namespace kinglet::engine::passes
