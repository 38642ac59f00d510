// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/families/lower_quantized.h"

#include <algorithm>
#include <cmath>

#include "engine/ops/common.h"
#include "engine/ops/families/lower_convolution.h"
#include "engine/ops/levels.h"

namespace kinglet::engine::ops {
namespace {

using Scales = std::vector<float>;

// The weight's scales, times the input's one for a bias.
Scales scales_of(const Graph& graph, const Node& node, const QLinearForm& form, bool with_input) {
  const auto numbers = graph.constant(node.inputs[form.b + 1])->data<float>();
  Scales scales(numbers.begin(), numbers.end());
  const float factor = with_input ? graph.constant(node.inputs[form.a + 1])->data<float>()[0] : 1.0F;
  for (float& scale : scales) scale *= factor;
  return scales;
}

std::int32_t weight_zero_point(const Graph& graph, const Node& node, const QLinearForm& form) {
  const Tensor& zero = *graph.constant(node.inputs[form.b + 2]);
  return zero.type() == DataType::kU8 ? zero.data<std::uint8_t>()[0] : zero.data<std::int8_t>()[0];
}

Result<Operand> filter_of(SubgraphBuilder& builder, const Node& node, const Tensor& numbers, const Dims& dims,
                          std::size_t channel_axis) {
  const QLinearForm& form = *qlinear_form(node);
  const Graph& graph = builder.graph();
  return builder.quantized_filter(numbers, dims, scales_of(graph, node, form, false),
                                  weight_zero_point(graph, node, form), channel_axis);
}

Result<std::optional<Operand>> bias_of(SubgraphBuilder& builder, const Node& node, Operand filter) {
  const QLinearForm& form = *qlinear_form(node);
  if (form.bias == QLinearForm::kNone || !is_given(node, form.bias)) return std::nullopt;
  const Graph& graph = builder.graph();
  return KINGLET_TRY(
      builder.quantized_bias(*graph.constant(node.inputs[form.bias]), scales_of(graph, node, form, true), filter));
}

// Whatever else makes or reads the value means the same numbers by its levels.
bool agrees(const Graph& graph, const Node& node, ValueId value, std::size_t scale) {
  return quantization_of(graph, value) == quantization_at(graph, node, scale);
}

// The weight as [outputs, inputs].
Result<Operand> matrix_of(SubgraphBuilder& builder, const Node& node) {
  const Tensor& weight = *builder.graph().constant(node.inputs[qlinear_form(node)->b]);
  const Shape& shape = weight.shape();
  const bool out_in = node.attributes.get_int("transB", 0) != 0;
  const Dims dims = dims_of(out_in ? shape : Shape{shape[1], shape[0]});
  return filter_of(builder, node, out_in || builder.is_probe() ? weight : transposed(weight), dims, 0);
}

Result<bool> lower_product(SubgraphBuilder& builder, const Node& node) {
  const QLinearForm& form = *qlinear_form(node);
  if (!runs_in_integers(node) || !agrees(builder.graph(), node, node.inputs[form.a], form.a + 1)) return false;
  const Operand input = KINGLET_TRY(builder.input(node.inputs[form.a], Layout::kLogical));
  const Operand filter = KINGLET_TRY(matrix_of(builder, node));
  const std::optional<Operand> bias = KINGLET_TRY(bias_of(builder, node, filter));
  const xnn::Range range = builder.take_clip();
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.fully_connected(false, range, input, filter, bias, output));
  return true;
}

// Rows of floats, quantised by XNNPACK at each run, times i8 weights around 0, [K,N] or as kTransposedWeight says:
// inputs `b`, its scales and its zero points (or none). False for other weights.
struct Columns {
  std::size_t b, scale, zero_point, bias;
};

Result<bool> lower_rows(SubgraphBuilder& builder, const Node& node, Operand rows, const Columns& at) {
  const Tensor* weight = constant_input(builder.graph(), node, at.b);
  const Tensor* scale = constant_input(builder.graph(), node, at.scale);
  const Tensor* zero = constant_input(builder.graph(), node, at.zero_point);
  if (weight == nullptr || scale == nullptr || weight->type() != DataType::kI8 || weight->shape().size() != 2 ||
      scale->type() != DataType::kF32) {
    return false;
  }
  if (is_given(node, at.zero_point) && (zero == nullptr || !is_all_zero(*zero))) {
    return false;
  }
  const std::size_t channel_axis = node.attributes.get_int(kTransposedWeight, 0) != 0 ? 0 : 1;
  const Dim channels = weight->shape()[channel_axis];
  const Operand filter =
      KINGLET_TRY(builder.quantized_filter(*weight, dims_of(weight->shape()), scale->data<float>(), 0, channel_axis));
  std::optional<Operand> bias;
  if (is_given(node, at.bias)) {
    const Tensor* numbers = constant_input(builder.graph(), node, at.bias);
    if (numbers == nullptr || numbers->element_count() != channels) return false;
    bias = KINGLET_TRY(builder.constant(*numbers, dims_of({channels}), Lifetime::kUntilPacked));
  }
  const Operand levels = KINGLET_TRY(builder.dynamically_quantized(Dims(builder.dims(rows))));
  const xnn::Range range = builder.take_clip();
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.convert(rows, levels));
  KINGLET_TRY(builder.fully_connected(channel_axis == 1, range, levels, filter, bias, output));
  return true;
}

Result<bool> lower_arithmetic(SubgraphBuilder& builder, const Node& node, xnn_binary_operator type) {
  const Graph& graph = builder.graph();
  if (!runs_in_integers(node) || !agrees(graph, node, node.inputs[0], 1) || !agrees(graph, node, node.inputs[3], 4)) {
    return false;
  }
  const Operand a = KINGLET_TRY(broadcast_operand(builder, node, 0));
  const Operand b = KINGLET_TRY(broadcast_operand(builder, node, 3));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.binary(type, a, b, output));
  return true;
}

}  // namespace

Result<bool> lower_table(SubgraphBuilder& builder, const Node& node, xnn_unary_operator type,
                         const xnn_unary_params& params) {
  if (!runs_in_integers(node) || !agrees(builder.graph(), node, node.inputs[0], 1)) return false;
  return lower_unary(builder, builder.graph(), builder.graph().value(node.outputs[0]).producer, type, params);
}

Result<bool> lower_through_floats(SubgraphBuilder& builder, const Node& node, AddReal add) {
  if (!runs_in_integers(node) || !agrees(builder.graph(), node, node.inputs[0], 1)) return false;
  const Operand levels = KINGLET_TRY(builder.input(node.inputs[0], builder.layout(node.outputs[0])));
  const Operand x = KINGLET_TRY(builder.temporary(Dims(builder.dims(levels))));
  const Operand y = KINGLET_TRY(builder.temporary(Dims(builder.dims(levels))));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.convert(levels, x));
  KINGLET_TRY(add(builder, node, x, y));
  KINGLET_TRY(builder.convert(y, output));
  return true;
}

Result<bool> lower_qlinear_conv(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!runs_in_integers(node) || !agrees(graph, node, node.inputs[0], 1)) return false;
  return lower_convolution(
      builder, node, *graph.constant(node.inputs[3]),
      [&](const Tensor& numbers, const Dims& dims, std::size_t channel_axis) {
        return filter_of(builder, node, numbers, dims, channel_axis);
      },
      [&](Operand filter, const ColumnBlock& /*all*/) { return bias_of(builder, node, filter); });
}

Result<bool> lower_qgemm(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  return lower_product(builder, graph.node(id));
}

Result<bool> lower_matmul_integer_to_float(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!runs_in_integers(node)) return false;
  const Operand levels = KINGLET_TRY(builder.input(node.inputs[0], Layout::kLogical));
  const Operand real = KINGLET_TRY(builder.temporary(Dims(builder.dims(levels))));
  KINGLET_TRY(builder.convert(levels, real));
  return lower_rows(builder, node, real, {.b = 1, .scale = 3, .zero_point = 5, .bias = 6});
}

Result<bool> lower_dynamic_quantize_matmul(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Operand rows = KINGLET_TRY(builder.input(node.inputs[0], Layout::kLogical));
  return lower_rows(builder, node, rows, {.b = 1, .scale = 2, .zero_point = 3, .bias = 4});
}

Result<bool> lower_qlinear_matmul(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  return lower_product(builder, graph.node(id));
}

Result<bool> lower_qlinear_add(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  return lower_arithmetic(builder, graph.node(id), xnn_binary_add);
}

Result<bool> lower_qlinear_mul(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  return lower_arithmetic(builder, graph.node(id), xnn_binary_multiply);
}

Result<bool> lower_qlinear_sigmoid(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  return lower_table(builder, graph.node(id), xnn_unary_sigmoid, {});
}

Result<bool> lower_qlinear_tanh(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  return lower_table(builder, graph.node(id), xnn_unary_tanh, {});
}

Result<bool> lower_qlinear_hard_swish(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  return lower_table(builder, graph.node(id), xnn_unary_hardswish, {});
}

Result<bool> lower_qlinear_leaky_relu(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  xnn_unary_params params{};
  params.leaky_relu.negative_slope = graph.node(id).attributes.get_float("alpha", 0.01F);
  if (!std::isfinite(params.leaky_relu.negative_slope)) return false;
  return lower_table(builder, graph.node(id), xnn_unary_leaky_relu, params);
}

Result<bool> lower_qlinear_average_pool(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!runs_in_integers(node) || !agrees(graph, node, node.inputs[0], 1)) return false;
  const DataType type = graph.value(node.inputs[0]).type;
  const Dim channels = (*graph.value(node.inputs[0]).shape)[1];
  const auto kernel = node.attributes.get_ints("kernel_shape");
  Tensor ones(type, {channels, 1, kernel[0], kernel[1]});
  std::ranges::fill(ones.mutable_bytes(), std::byte{1});
  const Scales scales(type == DataType::kI8 ? static_cast<std::size_t>(channels) : 1,
                      1.0F / static_cast<float>(kernel[0] * kernel[1]));
  Node convolution = node;
  convolution.attributes.set("group", channels);
  return lower_convolution(
      builder, convolution, ones,
      [&](const Tensor& numbers, const Dims& dims, std::size_t channel_axis) {
        return builder.quantized_filter(numbers, dims, scales, 0, channel_axis);
      },
      [](Operand, const ColumnBlock&) -> Result<std::optional<Operand>> { return std::nullopt; });
}

Result<bool> lower_qlinear_global_pool(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!runs_in_integers(node) || !agrees(graph, node, node.inputs[0], 1)) return false;
  if (graph.value(node.inputs[0]).shape->size() != 4) return false;
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], Layout::kNhwc));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.reduce(xnn_reduce_mean, {1, 2}, true, input, output));
  return true;
}

Result<bool> lower_qlinear_concat(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!runs_in_integers(node)) return false;
  const Layout layout = builder.layout(node.outputs[0]);
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  std::vector<Operand> parts;
  for (std::size_t i = 2; i < node.inputs.size(); i += 3) {
    if (!agrees(graph, node, node.inputs[i], i + 1)) return false;
    const Operand part = KINGLET_TRY(builder.input(node.inputs[i], layout));
    if (quantization_at(graph, node, i + 1) == quantization_at(graph, node, 0)) {
      parts.push_back(part);
      continue;
    }
    parts.push_back(KINGLET_TRY(builder.temporary_like(output, Dims(builder.dims(part)))));
    KINGLET_TRY(builder.convert(part, parts.back()));
  }
  const std::size_t axis = axis_index(node.attributes.get_int("axis", 1), graph.value(node.outputs[0]).shape->size());
  KINGLET_TRY(builder.concatenate(physical_axis(axis, layout), parts, output));
  return true;
}

}  // namespace kinglet::engine::ops
