// SPDX-License-Identifier: Apache-2.0
// Before:     y = Op(DequantizeLinear(x), DequantizeLinear(w), bias); z = Relu(y) or Clip(y, a, b), or nothing;
//             q = QuantizeLinear(z)
// After:      q = QLinearOp(x, w, bias), marked to run in integers, with the bounds of z; a Gemm or MatMul that nothing
//             quantises becomes MatMulIntegerToFloat
// Op:         what the row of an 8-bit operator says that it computes (Op::qlinear): layers, sums, products, tables,
//             means, joins
// Conditions: what lies between is read by one node alone and is no graph output; scales and zero points are constant,
//             one a tensor (a weight: one an output channel); all are int8 with weights around 0, or all uint8 with
//             weights of one scale; sums fit 32 bits for all inputs; the ratios of scales are what XNNPACK can round
//             by. The bias is rounded to scale x * scale w, as ONNX Runtime's quantiser does. Channels of uint8
//             weights that int8 does not hold are 0 in the layer, and WideChannels computes them behind it. Plan only.
#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/graph/fused_clip.h"
#include "engine/ops/common.h"
#include "engine/ops/normalize.h"
#include "engine/passes/narrow_weight.h"
#include "engine/passes/quantized_layer.h"

namespace kinglet::engine::passes {
namespace {

// The range that 8 bits hold anyway needs no clamp.
void set_clip(Graph& graph, NodeId id, const QuantizedTarget& to) {
  const std::int32_t lowest = to.type == DataType::kI8 ? -128 : 0;
  const auto level = [&](float bound) {
    return std::nearbyint(bound / to.numbers.scale) + static_cast<float>(to.numbers.zero_point);
  };
  if (level(to.bounds.min) > static_cast<float>(lowest))
    graph.attributes(id).set(std::string(kClipMinAttribute), to.bounds.min);
  if (level(to.bounds.max) < static_cast<float>(lowest + 255))
    graph.attributes(id).set(std::string(kClipMaxAttribute), to.bounds.max);
}

// Appends value, scale and zero point (a constant in any case: the operators of ONNX ask for one).
void append(Graph& graph, std::vector<ValueId>& inputs, ValueId value, ValueId scale, ValueId zero_point,
            DataType type) {
  if (zero_point == kNoValue) {
    zero_point = graph.add_constant("zero_point", Tensor(type, graph.constant(scale)->shape()));
  }
  inputs.insert(inputs.end(), {value, scale, zero_point});
}

void append(Graph& graph, std::vector<ValueId>& inputs, const QuantizedInput& x) {
  const Node& node = graph.node(x.dequantize);
  append(graph, inputs, node.inputs[0], node.inputs[1], has_input(node, 2) ? node.inputs[2] : kNoValue, x.type);
}

void append_target(Graph& graph, std::vector<ValueId>& inputs, NodeId quantize, DataType type) {
  const Node& node = graph.node(quantize);
  const ValueId scale = node.inputs[1];
  ValueId zero = has_input(node, 2) ? node.inputs[2] : kNoValue;
  if (zero == kNoValue) zero = graph.add_constant("zero_point", Tensor(type, {}));
  inputs.insert(inputs.end(), {scale, zero});
}

// The QuantizeLinear becomes the operator; what it replaces goes.
void become(Graph& graph, NodeId quantize, NodeId core, const QuantizedTarget& to, const Op& op,
            const std::vector<ValueId>& inputs) {
  Attributes attributes = graph.node(core).attributes;
  attributes.set(std::string(kRunsInIntegers), std::int64_t{1});
  ops::become(graph, quantize, op.op_type, inputs, std::move(attributes));
  graph.set_op_type(quantize, std::string(op.domain), std::string(op.op_type));
  set_clip(graph, quantize, to);
  if (to.bound != kNoNode) graph.remove_node(to.bound);
  graph.remove_node(core);
}

// The bias as a float row; kNoValue for none; nothing when it is not constant.
std::optional<ValueId> bias_row(Graph& graph, NodeId id, const QuantizedLayer& layer) {
  const Node& node = graph.node(id);
  const auto numbers = bias_numbers(graph, node, layer.channels);
  if (!numbers) return std::nullopt;
  if (numbers->empty()) return kNoValue;
  if (fixed_input(graph, node, 2) != nullptr && fixed_input(graph, node, 2)->shape().size() == 1) return node.inputs[2];
  Tensor row(DataType::kF32, {static_cast<Dim>(layer.channels)});
  std::ranges::transform(*numbers, row.mutable_data<float>().begin(),
                         [](double number) { return static_cast<float>(number); });
  return ops::add_node_constant(graph, id, "bias", std::move(row));
}

std::vector<ValueId> layer_inputs(Graph& graph, const QuantizedLayer& layer) {
  std::vector<ValueId> inputs;
  append(graph, inputs, layer.x);
  const ValueId weight = layer.w.value == kNoValue ? graph.add_constant("weight", layer.w.levels) : layer.w.value;
  append(graph, inputs, weight, layer.w.scale, layer.w.zero_point, layer.x.type);
  return inputs;
}

// The rows of a tensor with one number a channel, or all of one with a single number.
template <typename Number>
Tensor picked(const Tensor& from, const std::vector<std::int64_t>& channels) {
  if (from.element_count() == 1) return from;
  Tensor out(from.type(), {static_cast<Dim>(channels.size())});
  std::ranges::transform(channels, out.mutable_data<Number>().begin(),
                         [&](std::int64_t channel) { return from.data<Number>()[static_cast<std::size_t>(channel)]; });
  return out;
}

// What WideChannels reads behind the layer's result, whose levels it completes.
std::vector<ValueId> wide_inputs(Graph& graph, NodeId core, const QuantizedLayer& layer, const Tensor& bias) {
  const std::vector<std::int64_t>& wide = layer.w.wide;
  const Node& dequantize = graph.node(graph.value(graph.node(core).inputs[1]).producer);
  const Tensor levels = channels_of(*graph.constant(dequantize.inputs[0]), channel_axis(graph.node(core)), wide);
  const std::uint8_t zero = graph.constant(dequantize.inputs[2])->data<std::uint8_t>().front();
  std::vector<ValueId> inputs{graph.add_constant("channels", ops::int64_tensor(wide))};
  append(graph, inputs, layer.x);
  inputs.push_back(graph.add_constant("wide_weight", levels));
  inputs.push_back(graph.add_constant("wide_scale", picked<float>(*graph.constant(layer.w.scale), wide)));
  inputs.push_back(graph.add_constant("wide_zero", Tensor::of<std::uint8_t>({}, {zero})));
  const bool biased = bias.element_count() > 0;
  inputs.push_back(biased ? graph.add_constant("wide_bias", picked<std::int32_t>(bias, wide)) : kNoValue);
  return inputs;
}

void append_bias(Graph& graph, std::vector<ValueId>& inputs, NodeId core, Tensor bias) {
  if (bias.element_count() == 0) {
    inputs.push_back(kNoValue);
  } else {
    inputs.push_back(ops::add_node_constant(graph, core, "bias", std::move(bias)));
  }
}

// The layer stands in front of the QuantizeLinear, which completes it.
void become_wide(Graph& graph, NodeId quantize, NodeId core, const QuantizedTarget& to, const Op& op,
                 const std::vector<ValueId>& inputs, const std::vector<ValueId>& wide) {
  Attributes attributes = graph.node(core).attributes;
  attributes.set(std::string(kRunsInIntegers), std::int64_t{1});
  const ValueId narrow = ops::insert_before(graph, quantize, op.op_type, inputs, std::move(attributes), to.type);
  const NodeId layer = graph.value(narrow).producer;
  graph.set_op_type(layer, std::string(op.domain), std::string(op.op_type));
  graph.set_type_and_shape(narrow, to.type, graph.value(graph.node(quantize).outputs[0]).shape);
  set_clip(graph, layer, to);
  std::vector<ValueId> all{narrow};
  all.insert(all.end(), wide.begin(), wide.end() - 1);
  append_target(graph, all, quantize, to.type);
  all.push_back(wide.back());
  become(graph, quantize, core, to, *find_op("kinglet", "WideChannels"), all);
}

bool fuse_layer(Graph& graph, NodeId quantize, NodeId core, const QuantizedTarget& to, const Op& op) {
  const QLinearForm& form = op.qlinear;
  const Node& node = graph.node(core);
  const auto found = quantized_layer(graph, node, to);
  if (!found) return false;
  auto bias = bias_levels(graph, node, *found);
  if (!bias) return false;
  std::vector<ValueId> wide;
  if (!found->w.wide.empty()) wide = wide_inputs(graph, core, *found, *bias);
  std::vector<ValueId> inputs = layer_inputs(graph, *found);
  const bool biased = form.bias != QLinearForm::kNone;
  if (biased && form.bias < form.y_scale) append_bias(graph, inputs, core, std::move(*bias));
  append_target(graph, inputs, quantize, to.type);
  if (biased && form.bias > form.y_scale) append_bias(graph, inputs, core, std::move(*bias));
  if (wide.empty()) {
    become(graph, quantize, core, to, op, inputs);
  } else {
    become_wide(graph, quantize, core, to, op, inputs, wide);
  }
  return true;
}

bool fuse_plain(Graph& graph, NodeId quantize, NodeId core, const QuantizedTarget& to, const Op& op) {
  const QLinearForm& form = op.qlinear;
  const auto from = quantized_inputs(graph, graph.node(core), form, to);
  if (!from) return false;
  std::vector<ValueId> inputs;
  const bool target_first = form.y_scale < form.a;
  if (target_first) append_target(graph, inputs, quantize, to.type);
  for (const QuantizedInput& x : *from) append(graph, inputs, x);
  if (!target_first) append_target(graph, inputs, quantize, to.type);
  become(graph, quantize, core, to, op, inputs);
  return true;
}

bool fuse(Graph& graph, NodeId quantize) {
  const auto to = quantized_target(graph, quantize);
  if (!to) return false;
  const NodeId core = graph.value(to->made).producer;
  if (core == kNoNode || graph.node(core).outputs.size() != 1) return false;
  const Op* op = qlinear_op_for(graph.node(core));
  if (op == nullptr) return false;
  if (op->qlinear.kind == QLinearKind::kLayer) return fuse_layer(graph, quantize, core, *to, *op);
  return fuse_plain(graph, quantize, core, *to, *op);
}

// The last layer: its numbers are the answer, so they stay real.
bool fuse_float_result(Graph& graph, NodeId core) {
  const Node& node = graph.node(core);
  const bool quantised = std::ranges::any_of(graph.consumers(node.outputs[0]), [&](NodeId reader) {
    return is_op(graph.node(reader), "QuantizeLinear") || is_clamp(graph.node(reader));
  });
  const auto found = quantized_layer(graph, node);
  if (quantised || !found || found->x.type != DataType::kI8 || !found->w.wide.empty()) return false;
  const bool turned = node.attributes.get_int("transB", 0) != 0;
  const auto bias = bias_row(graph, core, *found);
  if (!bias) return false;
  const std::vector<ValueId> parts = layer_inputs(graph, *found);
  Attributes attributes;
  attributes.set(std::string(kRunsInIntegers), std::int64_t{1});
  if (turned) attributes.set(std::string(kTransposedWeight), std::int64_t{1});
  const std::vector<ValueId> inputs{parts[0], parts[3], parts[1], parts[4], parts[2], parts[5], *bias};
  ops::become(graph, core, "MatMulIntegerToFloat", inputs, std::move(attributes));
  graph.set_op_type(core, "com.microsoft", "MatMulIntegerToFloat");
  return true;
}

}  // namespace

Result<int> fuse_quantized(Graph& graph, PassBudget& budget) {
  const int fused = rewrite_nodes(graph, budget, {"QuantizeLinear"}, fuse);
  return fused + rewrite_nodes(graph, budget, {"Gemm", "MatMul"}, fuse_float_result);
}

}  // namespace kinglet::engine::passes
