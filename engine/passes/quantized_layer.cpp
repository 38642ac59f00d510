// SPDX-License-Identifier: Apache-2.0
#include "engine/passes/quantized_layer.h"

#include <algorithm>
#include <cmath>

#include "engine/base/format.h"

namespace kinglet::engine {
namespace {

// Sums of products stay inside 2^30, which leaves as much for the bias.
constexpr std::int64_t kMostProducts = (std::int64_t{1} << 30) / (std::int64_t{255} * 128);
constexpr double kMostBias = 0x1p30;

std::unexpected<std::string_view> because(std::string_view reason) { return std::unexpected(reason); }

OrReason<QuantizedInput> quantized_input(const Graph& graph, ValueId id) {
  const NodeId maker = producer_of(graph, id, {"DequantizeLinear"});
  if (maker == kNoNode) return because("an input is not quantised");
  const Node& node = graph.node(maker);
  const ValueId levels = node.inputs[0];
  const auto numbers = quantization_at(graph, node, 1);
  const DataType type = graph.value(levels).type;
  if (graph.constant(levels) != nullptr) return because("an input is constant");
  if (byte_size(type) != 1) return because("an input is not of 8 bits");
  if (!numbers || fixed_input(graph, node, 1) == nullptr) return because("an input has not one constant scale");
  if (quantization_of(graph, levels) != numbers)
    return because("an input is quantised with one scale and read with another");
  return QuantizedInput{.dequantize = maker, .type = type, .numbers = *numbers};
}

bool scales_lie_along(const Node& dequantize, const Tensor& levels, std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(levels.shape().size());
  const std::int64_t given = dequantize.attributes.get_int("axis", 1);
  return (given < 0 ? given + rank : given) == axis;
}

// The constant 8-bit weight of a layer, fit for activations of `type`.
OrReason<QuantizedWeight> quantized_weight(const Graph& graph, const Node& layer, DataType type) {
  const NodeId maker = producer_of(graph, layer.inputs[1], {"DequantizeLinear"});
  if (maker == kNoNode) return because("the weight is not quantised");
  const Node& node = graph.node(maker);
  const Tensor* levels = fixed_input(graph, node, 0);
  const Tensor* scale = fixed_input(graph, node, 1);
  const Tensor* zero = fixed_input(graph, node, 2);
  const bool fixed = levels != nullptr && scale != nullptr && (zero != nullptr || !has_input(node, 2));
  if (!fixed || scale->type() != DataType::kF32) return because("the weight is not constant");
  std::optional<NarrowWeight> narrow;
  if (type == DataType::kI8) narrow = narrow_weight(graph, layer);
  if (!narrow && levels->type() != type) return because("the weight is of another 8-bit type than the input");
  if (node.attributes.get_int("block_size", 0) != 0) return because("the weight has scales for blocks");
  const bool one = scale->element_count() == 1;
  if (!one && !scales_lie_along(node, *levels, static_cast<std::int64_t>(channel_axis(layer))))
    return because("the weight's scales do not lie along its outputs");
  if (type == DataType::kU8 && !one) return because("a weight of uint8 has more than one scale");
  if (!narrow && type == DataType::kI8 && zero != nullptr && !is_all_zero(*zero)) {
    return because("a weight of int8 has zero points other than 0");
  }
  QuantizedWeight out{.levels = *levels, .value = node.inputs[0], .scale = node.inputs[1], .scales = {}, .wide = {}};
  if (narrow) {
    out.levels = std::move(narrow->levels);
    out.value = kNoValue;
    out.wide = std::move(narrow->wide);
  } else if (has_input(node, 2)) {
    out.zero_point = node.inputs[2];
  }
  const auto scales = scale->data<float>();
  out.scales.assign(scales.begin(), scales.end());
  return out;
}

double product_scale(const QuantizedLayer& layer, std::size_t channel) {
  return static_cast<double>(layer.x.numbers.scale) * layer.w.scales[layer.w.scales.size() == 1 ? 0 : channel];
}

OrReason<std::vector<double>> dequantized_bias(const Graph& graph, const Node& dequantize) {
  const Tensor* levels = fixed_input(graph, dequantize, 0);
  const Tensor* scale = fixed_input(graph, dequantize, 1);
  const Tensor* zero = fixed_input(graph, dequantize, 2);
  const bool shifted = has_input(dequantize, 2) && (zero == nullptr || !is_all_zero(*zero));
  if (levels == nullptr || scale == nullptr) return because("the bias is computed");
  if (shifted || levels->type() != DataType::kI32) return because("the bias is not of int32 around 0");
  const auto scales = scale->data<float>();
  if (scales.size() != 1 && scales.size() != static_cast<std::size_t>(levels->element_count())) {
    return because("the bias has not as many scales as numbers");
  }
  std::vector<double> numbers;
  for (const std::int32_t level : levels->data<std::int32_t>()) {
    numbers.push_back(static_cast<double>(level) * scales[scales.size() == 1 ? 0 : numbers.size()]);
  }
  return numbers;
}

bool ratios_fit(const Node& node, QLinearKind kind, const std::vector<QuantizedInput>& from,
                const LinearQuantization& to) {
  const auto all = [&](const ScaleRatios& range) {
    return std::ranges::all_of(from,
                               [&](const QuantizedInput& x) { return range.hold(double{x.numbers.scale} / to.scale); });
  };
  switch (kind) {
    case QLinearKind::kTable:
      return true;
    case QLinearKind::kLines: {
      const double slope = node.attributes.get_float("alpha", 0.01F);
      return all(kConversionRatios) && kConversionRatios.hold(std::abs(slope) * from[0].numbers.scale / to.scale);
    }
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
    case QLinearKind::kNone:
    case QLinearKind::kLayer:
    case QLinearKind::kRealOnly:
      break;
  }
  return false;
}

constexpr std::string_view kRatios = "its scales are too far apart to round by";
constexpr std::string_view kTypes = "input and result are of different 8-bit types";

// The QuantizeLinear that takes what the node makes, perhaps behind a Relu or Clip.
NodeId quantize_behind(const Graph& graph, const Node& node) {
  ValueId made = node.outputs[0];
  for (int hops = 0; hops < 2; ++hops) {
    const auto& readers = graph.consumers(made);
    if (readers.size() != 1) return kNoNode;
    const Node& reader = graph.node(readers.front());
    if (is_op(reader, "QuantizeLinear")) return readers.front();
    if (!is_clamp(reader)) return kNoNode;
    made = reader.outputs[0];
  }
  return kNoNode;
}

std::string reason_of_layer(const Graph& graph, const Node& node, NodeId quantize) {
  if (quantize == kNoNode) {
    const auto found = quantized_layer(graph, node);
    return std::string(found ? "its result is not quantised, or read by several" : found.error());
  }
  const auto to = quantized_target(graph, quantize);
  if (!to) return std::string(to.error());
  const auto found = quantized_layer(graph, node, *to);
  if (!found) return std::string(found.error());
  const auto bias = bias_levels(graph, node, *found);
  return std::string(bias ? "unknown" : bias.error());
}

std::string reason_of_other(const Graph& graph, const Node& node, NodeId quantize) {
  const QLinearForm* form = qlinear_form_for(node);
  if (form == nullptr || form->kind == QLinearKind::kRealOnly) {
    return format_text("there is no 8-bit {} of this form", node.op_type);
  }
  const auto to = quantized_target(graph, quantize);
  if (!to) return std::string(to.error());
  const auto found = quantized_inputs(graph, node, *form, *to);
  return std::string(found ? "unknown" : found.error());
}

}  // namespace

OrReason<QuantizedTarget> quantized_target(const Graph& graph, NodeId quantize) {
  const Node& node = graph.node(quantize);
  const auto numbers = quantization_at(graph, node, 1);
  if (!numbers || fixed_input(graph, node, 1) == nullptr || !(numbers->scale > 0)) {
    return because("its result has not one constant scale above 0");
  }
  QuantizedTarget out{
      .made = node.inputs[0], .bounds = {}, .type = graph.value(node.outputs[0]).type, .numbers = *numbers};
  if (byte_size(out.type) != 1) return because("its result is not of 8 bits");
  if (!graph.has_single_use(out.made)) return because("its result is read as floats, too");
  const NodeId maker = producer_of(graph, out.made, is_clamp);
  if (maker == kNoNode) return out;
  const auto bounds = bounds_of(graph, graph.node(maker));
  const ValueId before = graph.node(maker).inputs[0];
  if (!bounds || !(bounds->min < bounds->max)) return because("the bounds of its result are not constant");
  if (!graph.has_single_use(before)) return because("its result is read as floats, too");
  out.made = before;
  out.bound = maker;
  out.bounds = *bounds;
  return out;
}

std::size_t channel_axis(const Node& layer) {
  return layer.op_type == "Conv" || layer.attributes.get_int("transB", 0) != 0 ? 0 : 1;
}

std::optional<NarrowWeight> narrow_weight(const Graph& graph, const Node& layer) {
  const NodeId maker = producer_of(graph, layer.inputs[1], {"DequantizeLinear"});
  if (maker == kNoNode) return std::nullopt;
  const Tensor* levels = fixed_input(graph, graph.node(maker), 0);
  const Tensor* zero = fixed_input(graph, graph.node(maker), 2);
  if (levels == nullptr || zero == nullptr) return std::nullopt;
  auto narrow = narrowed(*levels, *zero, channel_axis(layer));
  const std::optional<Shape>& x = graph.value(layer.inputs[0]).shape;
  const bool taken = is_op(layer, "Conv") || (x && !x->empty() && x->size() < 4);
  return narrow && (narrow->wide.empty() || taken) ? std::move(narrow) : std::nullopt;
}

OrReason<QuantizedLayer> quantized_layer(const Graph& graph, const Node& node) {
  if (has_fused_clip(node)) return because("its bounds are its own already");
  const auto x = quantized_input(graph, node.inputs[0]);
  if (!x) return because(x.error());
  const bool conv = node.op_type == "Conv";
  const auto w = quantized_weight(graph, node, x->type);
  if (!w) return because(w.error());
  const Shape& shape = w->levels.shape();
  if (shape.size() != (conv ? 4U : 2U)) return because("its weight is no picture's kernel and no matrix");
  const auto factor = [&](std::string_view name) { return node.attributes.get_float(name, 1); };
  if (node.attributes.get_int("transA", 0) != 0 || factor("alpha") != 1 || factor("beta") != 1) {
    return because("it turns or scales its input");
  }
  const Dim channels = shape[channel_axis(node)];
  if (channels == 0 || w->levels.element_count() / channels > kMostProducts)
    return because("its sums may not fit 32 bits");
  if (w->scales.size() != 1 && w->scales.size() != static_cast<std::size_t>(channels)) {
    return because("its weight has not as many scales as outputs");
  }
  return QuantizedLayer{.x = *x, .w = *w, .channels = static_cast<std::size_t>(channels)};
}

OrReason<QuantizedLayer> quantized_layer(const Graph& graph, const Node& node, const QuantizedTarget& to) {
  auto found = quantized_layer(graph, node);
  if (!found) return found;
  if (found->x.type != to.type) return because(kTypes);
  for (std::size_t c = 0; c < found->channels; ++c) {
    if (!kLayerRatios.hold(product_scale(*found, c) / to.numbers.scale)) return because(kRatios);
  }
  return found;
}

OrReason<std::vector<double>> bias_numbers(const Graph& graph, const Node& node, std::size_t channels) {
  if (!has_input(node, 2)) return std::vector<double>();
  const NodeId maker = producer_of(graph, node.inputs[2], {"DequantizeLinear"});
  const Tensor* constant = fixed_input(graph, node, 2);
  OrReason<std::vector<double>> numbers = because("the bias is computed");
  if (constant != nullptr && constant->type() == DataType::kF32) {
    numbers = std::vector<double>(constant->data<float>().begin(), constant->data<float>().end());
  } else if (maker != kNoNode) {
    numbers = dequantized_bias(graph, graph.node(maker));
  }
  if (numbers && numbers->size() != channels) return because("the bias is not one number a channel");
  return numbers;
}

OrReason<Tensor> bias_levels(const Graph& graph, const Node& node, const QuantizedLayer& layer) {
  const auto numbers = bias_numbers(graph, node, layer.channels);
  if (!numbers) return because(numbers.error());
  if (numbers->empty()) return Tensor();
  Tensor out(DataType::kI32, {static_cast<Dim>(layer.channels)});
  const auto to = out.mutable_data<std::int32_t>();
  for (std::size_t c = 0; c < to.size(); ++c) {
    const double level = std::nearbyint((*numbers)[c] / product_scale(layer, c));
    if (!(std::abs(level) <= kMostBias)) return because("the bias does not fit 32 bits");
    to[c] = static_cast<std::int32_t>(level);
  }
  return out;
}

OrReason<std::vector<QuantizedInput>> quantized_inputs(const Graph& graph, const Node& node, const QLinearForm& form,
                                                       const QuantizedTarget& to) {
  if (has_fused_clip(node)) return because("its bounds are its own already");
  std::vector<QuantizedInput> from;
  for (const ValueId input : node.inputs) {
    const auto x = quantized_input(graph, input);
    if (!x) return because(x.error());
    if (x->type != to.type) return because(kTypes);
    from.push_back(*x);
  }
  if (!ratios_fit(node, form.kind, from, to.numbers)) return because(kRatios);
  return from;
}

std::vector<FloatNode> nodes_in_float(const Graph& graph) {
  std::vector<FloatNode> found;
  const bool has_levels = std::ranges::any_of(graph.nodes(), [&](NodeId id) {
    return is_op(graph.node(id), "QuantizeLinear") || runs_in_integers(graph.node(id));
  });
  if (!has_levels) return found;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (is_any_of(node, {"QuantizeLinear", "DequantizeLinear"}) || is_clamp(node) || node.outputs.size() != 1) continue;
    const NodeId quantize = quantize_behind(graph, node);
    const bool reads_levels = std::ranges::any_of(
        node.inputs, [&](ValueId input) { return producer_of(graph, input, {"DequantizeLinear"}) != kNoNode; });
    const bool is_float = graph.value(node.outputs[0]).type == DataType::kF32;
    if (is_layer(node) && is_float) {
      found.push_back({node.name, node.op_type, reason_of_layer(graph, node, quantize)});
    } else if (is_float && reads_levels && quantize != kNoNode) {
      found.push_back({node.name, node.op_type, reason_of_other(graph, node, quantize)});
    }
  }
  return found;
}

}  // namespace kinglet::engine
