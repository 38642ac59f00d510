// SPDX-License-Identifier: Apache-2.0
// Before:     y = Op(DequantizeLinear(x), DequantizeLinear(w), bias); z = Relu(y) or Clip(y, a, b), or nothing;
//             q = QuantizeLinear(z)
// After:      q = QLinearOp(x, w, bias), marked to run in integers, with the bounds of z; a Gemm or MatMul that nothing
//             quantises becomes MatMulIntegerToFloat
// Op:         Conv, Gemm, MatMul; Add, Mul; Sigmoid, Tanh, HardSwish, LeakyRelu; GlobalAveragePool, AveragePool; Concat
// Conditions: what lies between is read by one node alone and is no graph output; scales and zero points are constant,
// one
//             a tensor (a weight: one an output channel); all are int8 with weights around 0, or all uint8 with weights
//             of one scale; sums fit 32 bits for all inputs; the ratios of scales are what XNNPACK can round by. The
//             bias is rounded to scale x * scale w, as ONNX Runtime's quantiser does. Plan only.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "engine/graph/fused_clip.h"
#include "engine/graph/quantization.h"
#include "engine/ops/common.h"
#include "engine/ops/normalize.h"
#include "engine/passes/bounds.h"
#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

// An 8-bit tensor as a DequantizeLinear reads it: value, scale and zero point.
struct Quantized {
  NodeId dequantize = kNoNode;
  DataType type = DataType::kI8;
  LinearQuantization numbers;
};

struct Weight {
  Tensor levels;  // shares the graph's numbers
  ValueId value = kNoValue, scale = kNoValue, zero_point = kNoValue;
  std::vector<float> scales;  // one, or one for each output channel
};

std::optional<Quantized> activation(const Graph& graph, ValueId id) {
  const NodeId maker = producer_of(graph, id, {"DequantizeLinear"});
  if (maker == kNoNode) return std::nullopt;
  const Node& node = graph.node(maker);
  const ValueId levels = node.inputs[0];
  const auto numbers = quantization_at(graph, node, 1);
  const DataType type = graph.value(levels).type;
  if (!numbers || graph.constant(levels) != nullptr || byte_size(type) != 1) return std::nullopt;
  if (fixed_input(graph, node, 1) == nullptr || quantization_of(graph, levels) != numbers) return std::nullopt;
  return Quantized{.dequantize = maker, .type = type, .numbers = *numbers};
}

// The constant 8-bit weight of a layer whose output channels lie along `axis`, fit for activations of `type`.
std::optional<Weight> weight(const Graph& graph, ValueId id, std::int64_t axis, DataType type) {
  const NodeId maker = producer_of(graph, id, {"DequantizeLinear"});
  if (maker == kNoNode) return std::nullopt;
  const Node& node = graph.node(maker);
  const Tensor* levels = fixed_input(graph, node, 0);
  const Tensor* scale = fixed_input(graph, node, 1);
  const Tensor* zero = fixed_input(graph, node, 2);
  if (levels == nullptr || scale == nullptr || levels->type() != type || scale->type() != DataType::kF32) {
    return std::nullopt;
  }
  if (has_input(node, 2) && zero == nullptr) return std::nullopt;
  Weight out{.levels = *levels, .value = node.inputs[0], .scale = node.inputs[1], .scales = {}};
  if (has_input(node, 2)) out.zero_point = node.inputs[2];
  if (node.attributes.get_int("block_size", 0) != 0) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(levels->shape().size());
  const std::int64_t scaled = node.attributes.get_int("axis", 1);
  const bool one = scale->element_count() == 1;
  if (!one && (scaled < 0 ? scaled + rank : scaled) != axis) return std::nullopt;
  if (type == DataType::kI8 ? zero != nullptr && !is_all_zero(*zero) : !one) return std::nullopt;
  const auto scales = scale->data<float>();
  out.scales.assign(scales.begin(), scales.end());
  return out;
}

// What the result is quantised to: the QuantizeLinear and the bounds in front of it.
struct Target {
  ValueId made = kNoValue;  // what the operator makes
  NodeId bound = kNoNode;   // the Relu or Clip, if any
  Bounds bounds;
  DataType type = DataType::kI8;
  LinearQuantization numbers;
};

std::optional<Target> target(const Graph& graph, NodeId quantize) {
  const Node& node = graph.node(quantize);
  const auto numbers = quantization_at(graph, node, 1);
  if (!numbers || fixed_input(graph, node, 1) == nullptr || !(numbers->scale > 0)) return std::nullopt;
  Target out{.made = node.inputs[0], .bounds = {}, .type = graph.value(node.outputs[0]).type, .numbers = *numbers};
  if (byte_size(out.type) != 1 || !graph.has_single_use(out.made)) return std::nullopt;
  const NodeId maker = producer_of(graph, out.made, {"Relu", "Clip"});
  if (maker == kNoNode) return out;
  const auto bounds = bounds_of(graph, graph.node(maker));
  const ValueId before = graph.node(maker).inputs[0];
  if (!bounds || !(bounds->min < bounds->max) || !graph.has_single_use(before)) return std::nullopt;
  out.made = before;
  out.bound = maker;
  out.bounds = *bounds;
  return out;
}

// The range that 8 bits hold anyway needs no clamp.
void set_clip(Graph& graph, NodeId id, const Target& to) {
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

void append(Graph& graph, std::vector<ValueId>& inputs, const Quantized& x) {
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
void become(Graph& graph, NodeId quantize, NodeId core, const Target& to, const QLinearForm& form,
            const std::vector<ValueId>& inputs) {
  Attributes attributes = graph.node(core).attributes;
  attributes.set(std::string(kRunsInIntegers), std::int64_t{1});
  ops::become(graph, quantize, form.op_type, inputs, std::move(attributes));
  graph.set_op_type(quantize, std::string(form.domain), std::string(form.op_type));
  set_clip(graph, quantize, to);
  if (to.bound != kNoNode) graph.remove_node(to.bound);
  graph.remove_node(core);
}

// --- Layers with weights ---------------------------------------------------------------------------------------------

struct Layer {
  Quantized x;
  Weight w;
  std::size_t channels = 0;  // of the result
};

// Sums of products stay inside 2^30, which leaves as much for the bias.
constexpr std::int64_t kMostProducts = (std::int64_t{1} << 30) / (255 * 128);
constexpr double kMostBias = 0x1p30;

std::optional<Layer> layer(const Graph& graph, const Node& node) {
  const auto x = activation(graph, node.inputs[0]);
  if (!x || has_fused_clip(node)) return std::nullopt;
  const bool conv = node.op_type == "Conv";
  const bool by_first = conv || node.attributes.get_int("transB", 0) != 0;
  const auto w = weight(graph, node.inputs[1], by_first ? 0 : 1, x->type);
  if (!w) return std::nullopt;
  const Shape& shape = w->levels.shape();
  if (conv ? shape.size() != 4 : shape.size() != 2 || node.attributes.get_int("transA", 0) != 0) return std::nullopt;
  if (node.attributes.get_float("alpha", 1) != 1 || node.attributes.get_float("beta", 1) != 1) return std::nullopt;
  const Dim channels = shape[by_first ? 0 : 1];
  if (channels == 0 || w->levels.element_count() / channels > kMostProducts) return std::nullopt;
  if (w->scales.size() != 1 && w->scales.size() != static_cast<std::size_t>(channels)) return std::nullopt;
  return Layer{.x = *x, .w = *w, .channels = static_cast<std::size_t>(channels)};
}

double product_scale(const Layer& layer, std::size_t channel) {
  return static_cast<double>(layer.x.numbers.scale) * layer.w.scales[layer.w.scales.size() == 1 ? 0 : channel];
}

// The bias as real numbers, one a channel; empty for none; nothing when it is not constant or of another shape.
std::optional<std::vector<double>> bias_numbers(const Graph& graph, const Node& node, std::size_t channels) {
  std::vector<double> numbers;
  if (!has_input(node, 2)) return numbers;
  const NodeId maker = producer_of(graph, node.inputs[2], {"DequantizeLinear"});
  if (const Tensor* constant = fixed_input(graph, node, 2)) {
    if (constant->type() != DataType::kF32) return std::nullopt;
    numbers.assign(constant->data<float>().begin(), constant->data<float>().end());
  } else if (maker != kNoNode) {
    const Node& dequantize = graph.node(maker);
    const Tensor* levels = fixed_input(graph, dequantize, 0);
    const Tensor* scale = fixed_input(graph, dequantize, 1);
    const Tensor* zero = fixed_input(graph, dequantize, 2);
    const bool shifted = has_input(dequantize, 2) && (zero == nullptr || !is_all_zero(*zero));
    if (levels == nullptr || scale == nullptr || shifted || levels->type() != DataType::kI32) return std::nullopt;
    const auto scales = scale->data<float>();
    if (scales.size() != 1 && scales.size() != static_cast<std::size_t>(levels->element_count())) return std::nullopt;
    for (const std::int32_t level : levels->data<std::int32_t>()) {
      numbers.push_back(static_cast<double>(level) * scales[scales.size() == 1 ? 0 : numbers.size()]);
    }
  }
  return numbers.size() == channels ? std::optional(std::move(numbers)) : std::nullopt;
}

// The bias as levels of scale x * scale w; an empty tensor for none; nothing also when one does not fit.
std::optional<Tensor> bias_levels(const Graph& graph, const Node& node, const Layer& layer) {
  const auto numbers = bias_numbers(graph, node, layer.channels);
  if (!numbers) return std::nullopt;
  if (numbers->empty()) return Tensor();
  Tensor out(DataType::kI32, {static_cast<Dim>(layer.channels)});
  const auto to = out.mutable_data<std::int32_t>();
  for (std::size_t c = 0; c < to.size(); ++c) {
    const double level = std::nearbyint((*numbers)[c] / product_scale(layer, c));
    if (!(std::abs(level) <= kMostBias)) return std::nullopt;
    to[c] = static_cast<std::int32_t>(level);
  }
  return out;
}

// The bias as a float row; kNoValue for none; nothing when it is not constant.
std::optional<ValueId> bias_row(Graph& graph, NodeId id, const Layer& layer) {
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

bool rounds(const Layer& layer, const LinearQuantization& to) {
  for (std::size_t c = 0; c < layer.channels; ++c) {
    if (!kLayerRatios.hold(product_scale(layer, c) / to.scale)) return false;
  }
  return true;
}

std::vector<ValueId> layer_inputs(Graph& graph, const Layer& layer) {
  std::vector<ValueId> inputs;
  append(graph, inputs, layer.x);
  append(graph, inputs, layer.w.value, layer.w.scale, layer.w.zero_point, layer.x.type);
  return inputs;
}

void append_bias(Graph& graph, std::vector<ValueId>& inputs, NodeId core, Tensor bias) {
  if (bias.element_count() == 0) {
    inputs.push_back(kNoValue);
  } else {
    inputs.push_back(ops::add_node_constant(graph, core, "bias", std::move(bias)));
  }
}

bool fuse_layer(Graph& graph, NodeId quantize, NodeId core, const Target& to, const QLinearForm& form) {
  const Node& node = graph.node(core);
  const auto found = layer(graph, node);
  if (!found || found->x.type != to.type || !rounds(*found, to.numbers)) return false;
  auto bias = bias_levels(graph, node, *found);
  if (!bias) return false;
  std::vector<ValueId> inputs = layer_inputs(graph, *found);
  const bool biased = form.bias != QLinearForm::kNone;
  if (biased && form.bias < form.y_scale) append_bias(graph, inputs, core, std::move(*bias));
  append_target(graph, inputs, quantize, to.type);
  if (biased && form.bias > form.y_scale) append_bias(graph, inputs, core, std::move(*bias));
  become(graph, quantize, core, to, form, inputs);
  return true;
}

// --- The others ------------------------------------------------------------------------------------------------------

bool ratios_fit(const Node& node, QLinearKind kind, const std::vector<Quantized>& from, const LinearQuantization& to) {
  const auto all = [&](const ScaleRatios& range) {
    return std::ranges::all_of(from,
                               [&](const Quantized& x) { return range.hold(double{x.numbers.scale} / to.scale); });
  };
  switch (kind) {
    case QLinearKind::kTable:
      return true;
    case QLinearKind::kSum:
      return all(kSumRatios);
    case QLinearKind::kProduct:
      return kProductRatios.hold(double{from[0].numbers.scale} * from[1].numbers.scale / to.scale);
    case QLinearKind::kWindow: {  // runs as a convolution with weights of 1 / count
      const auto kernel = node.attributes.get_ints("kernel_shape");
      const double count = static_cast<double>(kernel[0]) * static_cast<double>(kernel[1]);
      return count <= kMostProducts && kLayerRatios.hold(double{from[0].numbers.scale} / count / to.scale);
    }
    case QLinearKind::kMean:
    case QLinearKind::kJoin:
      return all(kConversionRatios);
    case QLinearKind::kLayer:
    case QLinearKind::kRealOnly:
      break;
  }
  return false;
}

bool fuse_plain(Graph& graph, NodeId quantize, NodeId core, const Target& to, const QLinearForm& form) {
  const Node& node = graph.node(core);
  std::vector<Quantized> from;
  for (const ValueId input : node.inputs) {
    const auto x = activation(graph, input);
    if (!x || x->type != to.type) return false;
    from.push_back(*x);
  }
  if (has_fused_clip(node) || !ratios_fit(node, form.kind, from, to.numbers)) return false;
  std::vector<ValueId> inputs;
  const bool target_first = form.y_scale < form.a;
  if (target_first) append_target(graph, inputs, quantize, to.type);
  for (const Quantized& x : from) append(graph, inputs, x);
  if (!target_first) append_target(graph, inputs, quantize, to.type);
  become(graph, quantize, core, to, form, inputs);
  return true;
}

bool fuse(Graph& graph, NodeId quantize) {
  const auto to = target(graph, quantize);
  if (!to) return false;
  const NodeId core = graph.value(to->made).producer;
  if (core == kNoNode || graph.node(core).outputs.size() != 1) return false;
  const QLinearForm* form = qlinear_form_for(graph.node(core));
  if (form == nullptr) return false;
  if (form->kind == QLinearKind::kLayer) return fuse_layer(graph, quantize, core, *to, *form);
  return fuse_plain(graph, quantize, core, *to, *form);
}

// The weight as [inputs, outputs].
ValueId columns_of(Graph& graph, NodeId core, const Weight& w) {
  if (graph.node(core).attributes.get_int("transB", 0) == 0) return w.value;
  return graph.add_constant(graph.value(w.value).name, ops::transposed(w.levels));
}

// The last layer: its numbers are the answer, so they stay real.
bool fuse_float_result(Graph& graph, NodeId core) {
  const Node& node = graph.node(core);
  const bool quantised = std::ranges::any_of(graph.consumers(node.outputs[0]), [&](NodeId reader) {
    return is_any_of(graph.node(reader), {"QuantizeLinear", "Relu", "Clip"});
  });
  const auto found = layer(graph, node);
  if (quantised || !found || found->x.type != DataType::kI8) return false;
  const auto bias = bias_row(graph, core, *found);
  if (!bias) return false;
  const std::vector<ValueId> parts = layer_inputs(graph, *found);
  const ValueId w = columns_of(graph, core, found->w);
  Attributes attributes;
  attributes.set(std::string(kRunsInIntegers), std::int64_t{1});
  const std::vector<ValueId> inputs{parts[0], w, parts[1], parts[4], parts[2], parts[5], *bias};
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
