// SPDX-License-Identifier: Apache-2.0
// LRN: each number over the squares of its neighbours in the channels. Sums are taken in double.
#include <algorithm>
#include <cmath>

#include "engine/ops/common.h"
#include "engine/ops/lower.h"
#include "engine/ops/rows.h"
#include "engine/ops/steps.h"

namespace kinglet::engine::ops {
namespace {

Result<void> infer_lrn(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kFloats));
  KINGLET_TRY(need_rank(context, 0, 2));
  KINGLET_TRY(checked_int(context, "size", 0, 1, kMaxDim));
  context.set_output(0, context.input_type(0), context.input_shape(0));
  return {};
}

// y = x / (bias + alpha / size * sum of squares over channels [c - (size - 1) / 2, c + size / 2])^beta
Result<void> evaluate_lrn(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const AxisView view = view_axis(outputs[0].shape(), 1);
  const std::int64_t size = node.attributes.get_int("size", 1);
  const double scale = node.attributes.get_float("alpha", 1e-4F) / static_cast<double>(size);
  const double beta = node.attributes.get_float("beta", 0.75F);
  const double bias = node.attributes.get_float("bias", 1.0F);
  const float* from = inputs[0]->data<float>().data();
  float* to = outputs[0].mutable_data<float>().data();
  for (std::int64_t i = 0; i < outputs[0].element_count(); ++i) {
    const std::int64_t channel = i / view.inner % view.length;
    const std::int64_t first = std::max<std::int64_t>(0, channel - (size - 1) / 2);
    const std::int64_t last = std::min(view.length - 1, channel + size / 2);
    double squares = 0;
    for (std::int64_t c = first; c <= last; ++c) {
      const double x = from[i + (c - channel) * view.inner];
      squares += x * x;
    }
    to[i] = static_cast<float>(from[i] / std::pow(bias + scale * squares, beta));
  }
  return {};
}

bool has_roots(float beta) { return beta == 0.5F || beta == 0.75F || beta == 1; }

// raised^-beta, for the exponents that roots can make.
Result<Operand> inverse_power(SubgraphBuilder& builder, Operand raised, float beta) {
  const Dims dims = builder.dims(raised);
  const Operand half = KINGLET_TRY(builder.temporary(dims));  // raised^-0.5
  KINGLET_TRY(builder.unary(xnn_unary_reciprocal_square_root, {}, raised, half));
  if (beta == 0.5F) return half;
  Operand other = half;
  if (beta == 0.75F) {
    other = KINGLET_TRY(builder.temporary(dims));  // raised^-0.25
    KINGLET_TRY(builder.unary(xnn_unary_square_root, {}, half, other));
  }
  const Operand product = KINGLET_TRY(builder.temporary(dims));
  KINGLET_TRY(builder.binary(xnn_binary_multiply, half, other, product));
  return product;
}

// The sum over neighbouring channels is a pointwise convolution whose weights are a band.
Result<bool> lower_lrn(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Shape& shape = *graph.value(node.inputs[0]).shape;
  constexpr Dim kMostChannels = 1024;  // the band has channels^2 numbers
  const float beta = node.attributes.get_float("beta", 0.75F);
  if (shape.size() != 4 || shape[1] > kMostChannels || !has_roots(beta)) return false;
  const Dim channels = shape[1];
  const std::int64_t size = node.attributes.get_int("size", 1);
  const float factor = node.attributes.get_float("alpha", 1e-4F) / static_cast<float>(size);
  Tensor band(DataType::kF32, {channels, channels});
  for (Dim c = 0; c < channels; ++c) {
    const Dim first = std::max<Dim>(0, c - (size - 1) / 2);
    const Dim last = std::min(channels - 1, c + size / 2);
    for (Dim i = first; i <= last; ++i) band.mutable_data<float>()[static_cast<std::size_t>(c * channels + i)] = factor;
  }
  Tensor offset(DataType::kF32, {channels});
  std::ranges::fill(offset.mutable_data<float>(), node.attributes.get_float("bias", 1.0F));
  const auto count = static_cast<std::size_t>(channels);
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], Layout::kNhwc));
  const Operand weights = KINGLET_TRY(builder.constant(band, {count, 1, 1, count}, Lifetime::kUntilPacked));
  const Operand bias = KINGLET_TRY(builder.constant(offset, {count}, Lifetime::kUntilPacked));
  const Operand squares = KINGLET_TRY(builder.temporary(Dims(builder.dims(input))));
  const Operand raised = KINGLET_TRY(builder.temporary(Dims(builder.dims(input))));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.unary(xnn_unary_square, {}, input, squares));
  KINGLET_TRY(builder.convolution({}, 1, {}, squares, weights, bias, raised));
  const Operand inverse = KINGLET_TRY(inverse_power(builder, raised, beta));
  KINGLET_TRY(builder.binary(xnn_binary_multiply, input, inverse, output));
  return true;
}

// The band, and XNNPACK's packed copy of it.
double lrn_kept_bytes(const Graph& graph, const Node& node) {
  const double channels = input_dim(graph, node, 0, 1);
  return 2 * sizeof(float) * channels * channels;
}

double lrn_steps(const Graph& graph, const Node& node) {
  const auto size = static_cast<double>(node.attributes.get_int("size", 1));
  return output_numbers(graph, node) * std::min(size, input_dim(graph, node, 0, 1));
}

}  // namespace

const OpParts kLRN{.infer = infer_lrn,
                   .evaluate = evaluate_lrn,
                   .steps = lrn_steps,
                   .lower = lower_lrn,
                   .traits = {.dims = DimRule::kLikeFirst},
                   .kept_bytes = lrn_kept_bytes};

}  // namespace kinglet::engine::ops
