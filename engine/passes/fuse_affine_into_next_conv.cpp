// SPDX-License-Identifier: Apache-2.0
// Before:     y = BatchNormalization(x, ...), or x * k, x / k, x + k, x - k; z = Conv(y, w, b)
// After:      z = Conv(x, w', b')
// Conditions: y is read by this node alone, as its data, and is no graph output; w, b and k are fixed constants; k is
//             one number or one per channel and does not widen x; BatchNormalization as in fuse_bn_into_conv. A shift
//             that is not 0 needs a convolution without padding (the padding is 0, not 0 shifted). Every result is
//             finite.
// Formula:    y = x * f + s; w'[o,i] = w[o,i] * f[i], b'[o] = b[o] + sum of w[o,i] * s[i], in double, rounded once.
#include <algorithm>

#include "engine/passes/padding.h"
#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

std::optional<ChannelAffine> affine_of(const Graph& graph, const Node& node, std::size_t rank, Dim channels) {
  if (is_op(node, "BatchNormalization")) return affine_of_bn(graph, node);
  const bool first_is_constant = fixed_input(graph, node, 0) != nullptr;
  if (first_is_constant && is_any_of(node, {"Div", "Sub"})) return std::nullopt;
  const Tensor* constant = fixed_input(graph, node, first_is_constant ? 0 : 1);
  const std::optional<std::vector<double>> numbers =
      constant != nullptr ? per_channel(*constant, rank, channels) : std::nullopt;
  if (!numbers) return std::nullopt;
  ChannelAffine affine{.factor = std::vector<double>(numbers->size(), 1.0),
                       .shift = std::vector<double>(numbers->size(), 0.0)};
  for (std::size_t c = 0; c < numbers->size(); ++c) {
    const double number = (*numbers)[c];
    if (is_op(node, "Mul")) affine.factor[c] = number;
    if (is_op(node, "Div")) affine.factor[c] = 1.0 / number;
    if (is_op(node, "Add")) affine.shift[c] = number;
    if (is_op(node, "Sub")) affine.shift[c] = -number;
  }
  return affine;
}

bool has_no_padding(const Node& conv, std::size_t rank) {
  const auto pads = explicit_pads(conv, (rank - 2) * 2);
  return pads && std::ranges::all_of(*pads, [](std::int64_t pad) { return pad == 0; });
}

bool put_into(Graph& graph, NodeId id, const ChannelAffine& affine) {
  const Node& conv = graph.node(id);
  const Tensor& weight = *fixed_input(graph, conv, 1);
  const std::vector<float> before = weight.to_floats();
  const auto outputs = static_cast<std::size_t>(weight.shape()[0]);
  const auto depth = static_cast<std::size_t>(weight.shape()[1]);
  const std::size_t taps = before.size() / (outputs * depth);
  const std::size_t outputs_per_group = outputs * depth / affine.factor.size();
  std::vector<double> bias(outputs, 0.0);
  if (const Tensor* constant = fixed_input(graph, conv, 2)) std::ranges::copy(constant->to_floats(), bias.begin());
  std::vector<double> after(before.begin(), before.end());
  for (std::size_t i = 0; i < after.size(); ++i) {
    const std::size_t output = i / (depth * taps);
    const std::size_t channel = output / outputs_per_group * depth + i / taps % depth;
    bias[output] += after[i] * affine.shift[channel];
    after[i] *= affine.factor[channel];
  }
  std::optional<Tensor> new_weight = make_finite(weight.type(), weight.shape(), after);
  std::optional<Tensor> new_bias = make_finite(weight.type(), {static_cast<Dim>(outputs)}, bias);
  if (!new_weight || !new_bias) return false;
  const bool shifts = std::ranges::any_of(affine.shift, [](double shift) { return shift != 0; });
  put_constant(graph, id, 1, *std::move(new_weight), "weight");
  if (shifts) put_constant(graph, id, 2, *std::move(new_bias), "bias");
  return true;
}

bool fuse(Graph& graph, NodeId id) {
  const Node& conv = graph.node(id);
  const ValueId data = conv.inputs[0];
  const NodeId before = inner_producer(graph, data, {"BatchNormalization", "Mul", "Div", "Add", "Sub"});
  const Tensor* weight = fixed_input(graph, conv, 1);
  const Tensor* bias = fixed_input(graph, conv, 2);
  if (before == kNoNode || weight == nullptr || !is_float(weight->type()) || weight->shape().size() < 3 ||
      weight->element_count() == 0 || (has_input(conv, 2) && (bias == nullptr || bias->type() != weight->type()))) {
    return false;
  }
  const std::size_t rank = weight->shape().size();
  const Dim channels = weight->shape()[1] * conv.attributes.get_int("group", 1);
  const Node& node = graph.node(before);
  const ValueId source = node.inputs[fixed_input(graph, node, 0) != nullptr ? 1 : 0];
  const std::optional<Shape>& shape = graph.value(source).shape;
  // A source with fewer or single channels would be widened by the constant.
  if (!shape || shape->size() != rank || (*shape)[1] != channels) return false;
  const std::optional<ChannelAffine> affine = affine_of(graph, node, rank, channels);
  if (!affine || affine->factor.size() != static_cast<std::size_t>(channels)) return false;
  const bool shifts = std::ranges::any_of(affine->shift, [](double shift) { return shift != 0; });
  if ((shifts && !has_no_padding(conv, rank)) || !put_into(graph, id, *affine)) return false;
  graph.set_input(id, 0, source);
  graph.remove_node(before);
  return true;
}

}  // namespace

const NodePass fuse_affine_into_next_conv{{"Conv"}, fuse};

}  // namespace kinglet::engine::passes
