// SPDX-License-Identifier: Apache-2.0
// Before:     y = Conv(x, w, b); r = f(y); z = r * k, or r / k
// After:      z = f(Conv(x, w * k, b * k))
// Conditions: f is homogeneous (Traits: Relu, LeakyRelu and pools; not Clip, HardSwish, Sigmoid, Gelu), or several such
//             one after the other: f(k * y) = k * f(y) for k > 0. Every value between is
//             read once and is no graph output; k is one positive number or one per channel, all positive; w, b and k
//             are fixed constants; every result is finite.
#include <algorithm>

#include "engine/passes/product.h"

namespace kinglet::engine::passes {
namespace {

// Functions between convolution and factor; more do not occur.
constexpr int kMostBetween = 4;

// The convolution behind a chain of functions that a positive factor may pass.
NodeId conv_behind(const Graph& graph, ValueId id) {
  for (int i = 0; i <= kMostBetween; ++i) {
    const NodeId conv = inner_producer(graph, id, {"Conv"});
    if (conv != kNoNode) return i > 0 ? conv : kNoNode;  // directly behind it: fuse_mul_into_conv
    const NodeId between = inner_producer(graph, id, [](const Node& node) { return traits_of(node).homogeneous; });
    if (between == kNoNode || graph.node(between).outputs.size() != 1) return kNoNode;
    id = graph.node(between).inputs[0];
  }
  return kNoNode;
}

bool fuse(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (has_fused_clip(node)) return false;
  for (const std::size_t side : {0U, 1U}) {
    if (side == 1 && is_op(node, "Div")) break;
    const Tensor* constant = fixed_input(graph, node, 1 - side);
    const NodeId conv = constant != nullptr ? conv_behind(graph, node.inputs[side]) : kNoNode;
    if (conv == kNoNode) continue;
    const std::optional<Shape>& weight = graph.value(graph.node(conv).inputs[1]).shape;
    if (!weight || weight->empty()) continue;
    std::optional<std::vector<double>> factor = per_channel(*constant, weight->size(), (*weight)[0]);
    if (!factor || !std::ranges::all_of(*factor, [](double number) { return number > 0; })) continue;
    if (is_op(node, "Div")) {
      for (double& number : *factor) number = 1 / number;
    }
    const ValueId scaled = node.inputs[side];
    if (!can_replace(graph, node.outputs[0], scaled) || !scale_and_shift_conv(graph, conv, *factor, {})) continue;
    return bypass_node(graph, id, scaled);
  }
  return false;
}

}  // namespace

const NodePass fuse_mul_through_relu{{"Mul", "Div"}, fuse};

}  // namespace kinglet::engine::passes
