// SPDX-License-Identifier: Apache-2.0
// Elementwise operators on XNNPACK: they work in whatever layout the plan gave their output.
#include <algorithm>
#include <array>
#include <cmath>

#include "engine/backend/xnnpack/subgraph_builder.h"
#include "engine/ops/lower.h"

namespace kinglet::engine::ops {
namespace {

using xnn::Dims;
using xnn::Lifetime;
using xnn::Operand;
using xnn::SubgraphBuilder;

Result<bool> unary(SubgraphBuilder& builder, const Graph& graph, NodeId id, xnn_unary_operator type,
                   const xnn_unary_params& params = {}) {
  const Node& node = graph.node(id);
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], builder.layout(node.outputs[0])));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.unary(type, params, input, output));
  return true;
}

Result<bool> clamp(SubgraphBuilder& builder, const Graph& graph, NodeId id, xnn::Range range) {
  xnn_unary_params params{};
  params.clamp = {.min = range.min, .max = range.max};
  return unary(builder, graph, id, xnn_unary_clamp, params);
}

Result<Operand> broadcast_operand(SubgraphBuilder& builder, const Node& node, std::size_t input) {
  const ValueId output = node.outputs[0];
  return builder.input_for_broadcast(node.inputs[input], builder.layout(output),
                                     builder.graph().value(output).shape->size());
}

Dims broadcast_dims(const Dims& a, const Dims& b) {
  Dims out = a.size() < b.size() ? b : a;
  const Dims& shorter = a.size() < b.size() ? a : b;
  for (std::size_t i = 1; i <= shorter.size(); ++i) {
    std::size_t& dim = out[out.size() - i];
    dim = std::max(dim, shorter[shorter.size() - i]);
  }
  return out;
}

// input 0 op input 1 op input 2 ... from the left.
Result<bool> chain(SubgraphBuilder& builder, const Graph& graph, NodeId id, xnn_binary_operator type) {
  const Node& node = graph.node(id);
  Operand left = KINGLET_TRY(broadcast_operand(builder, node, 0));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  if (node.inputs.size() == 1) {
    KINGLET_TRY(builder.reshape(left, output));
    return true;
  }
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    const Operand right = KINGLET_TRY(broadcast_operand(builder, node, i));
    const bool last = i + 1 == node.inputs.size();
    const Operand result =
        last ? output : KINGLET_TRY(builder.temporary(broadcast_dims(builder.dims(left), builder.dims(right))));
    KINGLET_TRY(builder.binary(type, left, right, result));
    left = result;
  }
  return true;
}

std::optional<float> scalar_constant(const Graph& graph, const Node& node, std::size_t input) {
  if (input >= node.inputs.size()) return std::nullopt;
  const Tensor* tensor = graph.constant(node.inputs[input]);
  if (tensor == nullptr || tensor->type() != DataType::kF32 || tensor->element_count() != 1) return std::nullopt;
  return tensor->data<float>()[0];
}

bool is_given(const Node& node, std::size_t input) {
  return input < node.inputs.size() && node.inputs[input] != kNoValue;
}

const Tensor* float_vector(const Graph& graph, ValueId id, std::size_t count) {
  const Tensor* tensor = graph.constant(id);
  const bool fits = tensor != nullptr && tensor->type() == DataType::kF32 &&
                    static_cast<std::size_t>(tensor->element_count()) == count;
  return fits ? tensor : nullptr;
}

// The scale and zero point that a QuantizeLinear or DequantizeLinear names, when they are those of `value`.
bool same_quantization(const Graph& graph, const Node& node, ValueId value) {
  const auto scale = scalar_constant(graph, node, 1);
  const auto found = xnn::quantization_of(graph, value);
  if (!scale || !found || found->scale != *scale) return false;
  if (!is_given(node, 2)) return found->zero_point == 0;
  const Tensor* zero_point = graph.constant(node.inputs[2]);
  if (zero_point == nullptr || zero_point->element_count() != 1) return false;
  if (zero_point->type() == DataType::kU8) return zero_point->data<std::uint8_t>()[0] == found->zero_point;
  return zero_point->type() == DataType::kI8 && zero_point->data<std::int8_t>()[0] == found->zero_point;
}

Result<bool> convert(SubgraphBuilder& builder, const Graph& graph, NodeId id, ValueId quantized) {
  const Node& node = graph.node(id);
  if (!same_quantization(graph, node, quantized)) return false;
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], builder.layout(node.outputs[0])));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.convert(input, output));
  return true;
}

}  // namespace

#define KINGLET_LOWER_UNARY(name, type) \
  Result<bool> name(SubgraphBuilder& builder, const Graph& graph, NodeId id) { return unary(builder, graph, id, type); }
KINGLET_LOWER_UNARY(lower_abs, xnn_unary_abs)
KINGLET_LOWER_UNARY(lower_neg, xnn_unary_negate)
KINGLET_LOWER_UNARY(lower_floor, xnn_unary_floor)
KINGLET_LOWER_UNARY(lower_ceil, xnn_unary_ceiling)
KINGLET_LOWER_UNARY(lower_round, xnn_unary_bankers_rounding)
KINGLET_LOWER_UNARY(lower_sqrt, xnn_unary_square_root)
KINGLET_LOWER_UNARY(lower_exp, xnn_unary_exp)
KINGLET_LOWER_UNARY(lower_log, xnn_unary_log)
KINGLET_LOWER_UNARY(lower_sigmoid, xnn_unary_sigmoid)
KINGLET_LOWER_UNARY(lower_tanh, xnn_unary_tanh)
KINGLET_LOWER_UNARY(lower_hard_swish, xnn_unary_hardswish)
#undef KINGLET_LOWER_UNARY

#define KINGLET_LOWER_BINARY(name, type) \
  Result<bool> name(SubgraphBuilder& builder, const Graph& graph, NodeId id) { return chain(builder, graph, id, type); }
KINGLET_LOWER_BINARY(lower_add, xnn_binary_add)
KINGLET_LOWER_BINARY(lower_sub, xnn_binary_subtract)
KINGLET_LOWER_BINARY(lower_mul, xnn_binary_multiply)
KINGLET_LOWER_BINARY(lower_div, xnn_binary_divide)
KINGLET_LOWER_BINARY(lower_min, xnn_binary_minimum)
KINGLET_LOWER_BINARY(lower_max, xnn_binary_maximum)
KINGLET_LOWER_BINARY(lower_sum, xnn_binary_add)
KINGLET_LOWER_BINARY(lower_prelu, xnn_binary_prelu)
#undef KINGLET_LOWER_BINARY

Result<bool> lower_relu(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  return clamp(builder, graph, id, {.min = 0});
}

Result<bool> lower_clip(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  xnn::Range range;
  if (is_given(node, 1)) {
    const auto min = scalar_constant(graph, node, 1);
    if (!min) return false;
    range.min = *min;
  }
  if (is_given(node, 2)) {
    const auto max = scalar_constant(graph, node, 2);
    if (!max) return false;
    range.max = *max;
  }
  return clamp(builder, graph, id, range);
}

Result<bool> lower_leaky_relu(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  xnn_unary_params params{};
  params.leaky_relu.negative_slope = graph.node(id).attributes.get_float("alpha", 0.01F);
  if (!std::isfinite(params.leaky_relu.negative_slope)) return false;
  return unary(builder, graph, id, xnn_unary_leaky_relu, params);
}

Result<bool> lower_elu(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  xnn_unary_params params{};
  params.elu.alpha = graph.node(id).attributes.get_float("alpha", 1.0F);
  if (!std::isnormal(params.elu.alpha) || params.elu.alpha <= 0) return false;
  return unary(builder, graph, id, xnn_unary_elu, params);
}

Result<bool> lower_gelu(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  if (graph.node(id).attributes.get_string("approximate", "none") != "none") return false;
  return unary(builder, graph, id, xnn_unary_gelu);
}

// max(0, min(1, alpha * x + beta))
Result<bool> lower_hard_sigmoid(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], builder.layout(node.outputs[0])));
  const Operand alpha = KINGLET_TRY(builder.scalar(node.attributes.get_float("alpha", 0.2F)));
  const Operand beta = KINGLET_TRY(builder.scalar(node.attributes.get_float("beta", 0.5F)));
  const Operand product = KINGLET_TRY(builder.temporary(Dims(builder.dims(input))));
  const Operand sum = KINGLET_TRY(builder.temporary(Dims(builder.dims(input))));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.binary(xnn_binary_multiply, input, alpha, product));
  KINGLET_TRY(builder.binary(xnn_binary_add, product, beta, sum));
  KINGLET_TRY(builder.clamp({.min = 0, .max = 1}, sum, output));
  return true;
}

Result<bool> lower_reciprocal(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], builder.layout(node.outputs[0])));
  const Operand one = KINGLET_TRY(builder.scalar(1));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.binary(xnn_binary_divide, one, input, output));
  return true;
}

Result<bool> lower_pow(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const auto exponent = scalar_constant(graph, node, 1);
  if (!exponent || graph.value(node.inputs[0]).shape != graph.value(node.outputs[0]).shape) return false;
  if (*exponent == 2) return unary(builder, graph, id, xnn_unary_square);
  return false;
}

Result<bool> lower_mean(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.inputs.size() != 2) return false;
  const Operand a = KINGLET_TRY(broadcast_operand(builder, node, 0));
  const Operand b = KINGLET_TRY(broadcast_operand(builder, node, 1));
  const Operand half = KINGLET_TRY(builder.scalar(0.5F));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  const Operand sum = KINGLET_TRY(builder.temporary(Dims(builder.dims(output))));
  KINGLET_TRY(builder.binary(xnn_binary_add, a, b, sum));
  KINGLET_TRY(builder.binary(xnn_binary_multiply, sum, half, output));
  return true;
}

// x * k + c a channel, with k = scale / sqrt(variance + epsilon) and c = bias - mean * k.
Result<bool> lower_batch_normalization(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Shape& shape = *graph.value(node.inputs[0]).shape;
  if (shape.size() < 2 || node.outputs.size() != 1 || node.attributes.get_int("training_mode", 0) != 0) return false;
  const auto channels = static_cast<std::size_t>(shape[1]);
  std::array<const Tensor*, 4> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = float_vector(graph, node.inputs[i + 1], channels);
    if (numbers[i] == nullptr) return false;
  }
  const auto [scale, bias, mean, variance] = numbers;
  const double epsilon = node.attributes.get_float("epsilon", 1e-5F);
  Tensor factor(DataType::kF32, {shape[1]});
  Tensor offset(DataType::kF32, {shape[1]});
  for (std::size_t c = 0; c < channels; ++c) {
    const double k = scale->data<float>()[c] / std::sqrt(variance->data<float>()[c] + epsilon);
    factor.mutable_data<float>()[c] = static_cast<float>(k);
    offset.mutable_data<float>()[c] = static_cast<float>(bias->data<float>()[c] - mean->data<float>()[c] * k);
  }
  const Layout layout = builder.layout(node.outputs[0]);
  Dims dims(shape.size(), 1);
  dims[physical_axis(1, layout)] = channels;
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], layout));
  const Operand k = KINGLET_TRY(builder.constant(factor, dims, Lifetime::kForever));
  const Operand c = KINGLET_TRY(builder.constant(offset, dims, Lifetime::kForever));
  const Operand product = KINGLET_TRY(builder.temporary(Dims(builder.dims(input))));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.binary(xnn_binary_multiply, input, k, product));
  KINGLET_TRY(builder.binary(xnn_binary_add, product, c, output));
  return true;
}

Result<bool> lower_quantize(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  return convert(builder, graph, id, graph.node(id).outputs[0]);
}

Result<bool> lower_dequantize(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  return convert(builder, graph, id, graph.node(id).inputs[0]);
}

}  // namespace kinglet::engine::ops
