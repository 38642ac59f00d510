// SPDX-License-Identifier: Apache-2.0
// Convolution and matrix products on XNNPACK. Weights must be constant, except for products of two computed matrices.
#include <algorithm>

#include "engine/backend/xnnpack/subgraph_builder.h"
#include "engine/ops/lower.h"
#include "engine/ops/window.h"

namespace kinglet::engine::ops {
namespace {

using xnn::Dims;
using xnn::Lifetime;
using xnn::Operand;
using xnn::SubgraphBuilder;

Dims dims_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

// [O,I,kh,kw] -> [O,kh,kw,I]; shares the numbers where both orders are one.
Tensor channels_last(const Tensor& tensor, const Shape& logical) {
  if (layout_neutral(logical)) return tensor;
  Tensor out(tensor.type(), physical_shape(logical, Layout::kNhwc));
  copy_layout(logical, byte_size(tensor.type()), tensor.bytes(), Layout::kLogical, out.mutable_bytes(), Layout::kNhwc);
  return out;
}

Result<std::optional<Operand>> conv_bias(SubgraphBuilder& builder, const Graph& graph, const Node& node) {
  if (node.inputs.size() < 3 || node.inputs[2] == kNoValue) return std::nullopt;
  const Tensor* bias = graph.constant(node.inputs[2]);
  if (bias == nullptr) return fail(ErrorCode::kBadData, "a bias that is not constant");
  return KINGLET_TRY(builder.constant(*bias, dims_of(bias->shape()), Lifetime::kUntilPacked));
}

// beta * C as one number an output column; nothing when C has rows or is not constant.
std::optional<Tensor> gemm_bias(const Tensor& c, float beta, std::int64_t columns) {
  const Shape& shape = c.shape();
  const bool row = c.element_count() == columns && !shape.empty() && shape.back() == columns;
  if (c.type() != DataType::kF32 || (!row && c.element_count() != 1)) return std::nullopt;
  if (row && beta == 1) return c.reshaped({columns});
  Tensor out(DataType::kF32, {columns});
  const auto from = c.data<float>();
  const auto to = out.mutable_data<float>();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = beta * from[row ? i : 0];
  return out;
}

Tensor scaled(const Tensor& tensor, float factor) {
  if (factor == 1) return tensor;
  Tensor out = tensor;
  for (float& x : out.mutable_data<float>()) x *= factor;
  return out;
}

Result<Operand> as_batch(SubgraphBuilder& builder, Operand matrix) {
  if (builder.dims(matrix).size() != 2) return matrix;
  const Operand batch = KINGLET_TRY(builder.temporary({1, builder.dims(matrix)[0], builder.dims(matrix)[1]}));
  KINGLET_TRY(builder.reshape(matrix, batch));
  return batch;
}

Result<bool> lower_dynamic_matmul(SubgraphBuilder& builder, const Node& node) {
  const Operand a = KINGLET_TRY(builder.input(node.inputs[0], Layout::kLogical));
  const Operand b = KINGLET_TRY(builder.input(node.inputs[1], Layout::kLogical));
  if (builder.dims(a).size() < 2 || builder.dims(a).size() != builder.dims(b).size()) return false;
  const Operand wide_a = KINGLET_TRY(as_batch(builder, a));
  const Operand wide_b = KINGLET_TRY(as_batch(builder, b));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  const Dims dims = builder.dims(output);
  if (dims.size() != 2) {
    KINGLET_TRY(builder.batch_matrix_multiply(wide_a, wide_b, output));
    return true;
  }
  const Operand product = KINGLET_TRY(builder.temporary({1, dims[0], dims[1]}));
  KINGLET_TRY(builder.batch_matrix_multiply(wide_a, wide_b, product));
  KINGLET_TRY(builder.reshape(product, output));
  return true;
}

}  // namespace

Result<bool> lower_conv(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Tensor* weight = graph.constant(node.inputs[1]);
  if (weight == nullptr || weight->type() != DataType::kF32 || weight->shape().size() != 4) return false;
  const Shape& shape = weight->shape();
  const Shape& input_shape = *graph.value(node.inputs[0]).shape;
  const auto group = node.attributes.get_int("group", 1);
  const Window found = resolve_window(node.attributes, std::span(shape).subspan(2), std::span(input_shape).subspan(2));
  const auto window = to_xnn(found);
  if (!window) return false;

  const bool depthwise = group == input_shape[1] && group > 1;
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], Layout::kNhwc));
  // A depthwise filter [C*m,1,kh,kw] is one image of C*m channels.
  const Shape logical = depthwise ? Shape{1, shape[0], shape[2], shape[3]} : shape;
  const Tensor numbers = builder.is_probe() ? *weight : channels_last(*weight, logical);
  const Operand filter =
      KINGLET_TRY(builder.constant(numbers, dims_of(physical_shape(logical, Layout::kNhwc)), Lifetime::kUntilPacked));
  const std::optional<Operand> bias = KINGLET_TRY(conv_bias(builder, graph, node));
  const xnn::Range range = builder.take_clip();
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  if (depthwise) {
    const auto multiplier = static_cast<std::size_t>(shape[0] / group);
    KINGLET_TRY(builder.depthwise_convolution(*window, multiplier, range, input, filter, bias, output));
  } else {
    KINGLET_TRY(builder.convolution(*window, static_cast<std::size_t>(group), range, input, filter, bias, output));
  }
  return true;
}

Result<bool> lower_gemm(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Tensor* weight = graph.constant(node.inputs[1]);
  if (weight == nullptr || weight->type() != DataType::kF32 || node.attributes.get_int("transA", 0) != 0) return false;
  const bool out_in = node.attributes.get_int("transB", 0) != 0;
  const std::int64_t columns = weight->shape().at(out_in ? 0 : 1);
  std::optional<Tensor> numbers;
  if (node.inputs.size() > 2 && node.inputs[2] != kNoValue) {
    const Tensor* c = graph.constant(node.inputs[2]);
    if (c != nullptr) numbers = gemm_bias(*c, node.attributes.get_float("beta", 1), columns);
    if (!numbers) return false;
  }
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], Layout::kLogical));
  const float alpha = node.attributes.get_float("alpha", 1);
  const Operand filter = KINGLET_TRY(builder.constant(builder.is_probe() ? *weight : scaled(*weight, alpha),
                                                      dims_of(weight->shape()), Lifetime::kUntilPacked));
  std::optional<Operand> bias;
  if (numbers) bias = KINGLET_TRY(builder.constant(*numbers, dims_of(numbers->shape()), Lifetime::kUntilPacked));
  const xnn::Range range = builder.take_clip();
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.fully_connected(!out_in, range, input, filter, bias, output));
  return true;
}

Result<bool> lower_matmul(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Tensor* weight = graph.constant(node.inputs[1]);
  if (weight == nullptr || weight->shape().size() != 2) return lower_dynamic_matmul(builder, node);
  if (graph.value(node.inputs[0]).shape->size() < 2) return false;
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], Layout::kLogical));
  const Operand filter = KINGLET_TRY(builder.constant(*weight, dims_of(weight->shape()), Lifetime::kUntilPacked));
  const xnn::Range range = builder.take_clip();
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.fully_connected(true, range, input, filter, std::nullopt, output));
  return true;
}

}  // namespace kinglet::engine::ops
