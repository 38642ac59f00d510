// SPDX-License-Identifier: Apache-2.0
// Batch, instance, group and layer normalisation: y = (x - mean) / sqrt(variance + epsilon) * scale + bias, over
// different axes. Statistics are taken in double.
#include <algorithm>
#include <cmath>

#include "engine/base/format.h"
#include "engine/ops/common.h"
#include "engine/ops/lower.h"
#include "engine/ops/normalize.h"
#include "engine/ops/rows.h"
#include "engine/ops/steps.h"

namespace kinglet::engine::ops {
namespace {

// Input `i` is a vector of as many numbers as input 0 has channels.
Result<void> need_channel_vector(const InferContext& context, std::size_t i) {
  KINGLET_TRY(need_type(context, i, kFloats));
  KINGLET_TRY(need_rank(context, i, 1, 1));
  const std::optional<Shape>& x = context.input_shape(0);
  const std::optional<Shape>& vector = context.input_shape(i);
  if (!x || !vector || x->size() < 2) return {};
  if ((*x)[1] == kUnknownDim || (*vector)[0] == kUnknownDim || (*x)[1] == (*vector)[0]) return {};
  return context.fail(
      format_text("input {} has {} numbers, the input {} has {} channels", i, (*vector)[0], to_string(*x), (*x)[1]));
}

// --- BatchNormalization, inference only: x, scale, bias, mean, variance ---------------------------------------------

Result<void> normalize_batch_normalization(Graph& graph, NodeId id, std::int64_t opset) {
  Attributes& attributes = graph.attributes(id);
  const bool training = opset >= 14 && attributes.get_int("training_mode", 0) != 0;
  if (attributes.get_int("spatial", 1) == 0) {
    return refuse(graph, id, ErrorCode::kUnsupported, "normalisation of each element (spatial 0) is not supported");
  }
  attributes.remove("spatial");
  attributes.remove("is_test");
  for (std::size_t i = graph.node(id).outputs.size(); i-- > 1;) {
    const ValueId output = graph.node(id).outputs[i];
    const bool used = output != kNoValue && (!graph.consumers(output).empty() || graph.is_output(output));
    if (training || used) {
      return refuse(graph, id, ErrorCode::kUnsupported, "batch statistics are for training",
                    "export the model in evaluation mode");
    }
    if (i < graph.node(id).outputs.size()) graph.remove_output(id, i);  // absent ones at the end go with the one before
  }
  if (training) return refuse(graph, id, ErrorCode::kUnsupported, "is in training mode", "export in evaluation mode");
  return {};
}

Result<void> infer_batch_normalization(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kFloats));
  KINGLET_TRY(need_rank(context, 0, 2));
  for (std::size_t i = 1; i < 5; ++i) KINGLET_TRY(need_channel_vector(context, i));
  context.set_output(0, context.input_type(0), context.input_shape(0));
  return {};
}

Result<void> evaluate_batch_normalization(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const double epsilon = node.attributes.get_float("epsilon", 1e-5F);
  const AxisView view = view_axis(inputs[0]->shape(), 1);
  const float* from = inputs[0]->data<float>().data();
  float* to = outputs[0].mutable_data<float>().data();
  for (std::int64_t outer = 0; outer < view.outer; ++outer) {
    for (std::int64_t channel = 0; channel < view.length; ++channel) {
      const auto at = static_cast<std::size_t>(channel);
      const double factor = inputs[1]->data<float>()[at] / std::sqrt(inputs[4]->data<float>()[at] + epsilon);
      const double bias = inputs[2]->data<float>()[at];
      const double mean = inputs[3]->data<float>()[at];
      for (std::int64_t i = 0; i < view.inner; ++i) *to++ = static_cast<float>((*from++ - mean) * factor + bias);
    }
  }
  return {};
}

const Tensor* float_vector(const Graph& graph, ValueId id, std::size_t count) {
  const Tensor* tensor = graph.constant(id);
  const bool fits = tensor != nullptr && tensor->type() == DataType::kF32 &&
                    static_cast<std::size_t>(tensor->element_count()) == count;
  return fits ? tensor : nullptr;
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
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], layout));
  if (layout == Layout::kNhwc) {  // a depthwise convolution of one tap: one pass over the numbers, clip included
    const Operand k = KINGLET_TRY(builder.constant(factor, {1, 1, 1, channels}, Lifetime::kUntilPacked));
    const Operand c = KINGLET_TRY(builder.constant(offset, {channels}, Lifetime::kUntilPacked));
    const xnn::Range range = builder.take_clip();
    const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
    KINGLET_TRY(builder.depthwise_convolution({}, 1, range, input, k, c, output));
    return true;
  }
  Dims dims(shape.size(), 1);
  dims[1] = channels;
  const Operand k = KINGLET_TRY(builder.constant(factor, dims, Lifetime::kForever));
  const Operand c = KINGLET_TRY(builder.constant(offset, dims, Lifetime::kForever));
  const Operand product = KINGLET_TRY(builder.temporary(Dims(builder.dims(input))));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.binary(xnn_binary_multiply, input, k, product));
  KINGLET_TRY(builder.binary(xnn_binary_add, product, c, output));
  return true;
}

// --- Statistics of blocks of the input itself -----------------------------------------------------------------------

struct Moments {
  double mean = 0;
  double inverse_deviation = 0;
};

Moments moments(std::span<const float> values, double epsilon) {
  double sum = 0;
  for (const float value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  double squares = 0;
  for (const float value : values) squares += (value - mean) * (value - mean);
  return {mean, 1 / std::sqrt(squares / static_cast<double>(values.size()) + epsilon)};
}

// y = (x - mean of its block) * ... * scale[channel] + bias[channel]; a block is `per_block` neighbouring planes.
void normalize_blocks(Inputs inputs, Tensor& y, double epsilon, std::int64_t per_block) {
  const AxisView view = view_axis(y.shape(), 1);
  const auto from = inputs[0]->data<float>();
  const auto to = y.mutable_data<float>();
  const auto block = static_cast<std::size_t>(per_block * view.inner);
  for (std::size_t start = 0; block > 0 && start < from.size(); start += block) {
    const Moments m = moments(from.subspan(start, block), epsilon);
    for (std::size_t i = start; i < start + block; ++i) {
      const std::size_t channel = i / static_cast<std::size_t>(view.inner) % static_cast<std::size_t>(view.length);
      to[i] = static_cast<float>((from[i] - m.mean) * m.inverse_deviation * inputs[1]->data<float>()[channel] +
                                 inputs[2]->data<float>()[channel]);
    }
  }
}

Result<void> infer_instance_normalization(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kFloats));
  KINGLET_TRY(need_rank(context, 0, 3));
  KINGLET_TRY(need_channel_vector(context, 1));
  KINGLET_TRY(need_channel_vector(context, 2));
  context.set_output(0, context.input_type(0), context.input_shape(0));
  return {};
}

Result<void> evaluate_instance_normalization(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  normalize_blocks(inputs, outputs[0], node.attributes.get_float("epsilon", 1e-5F), 1);
  return {};
}

// Before opset 21 scale and bias were one number a group.
Result<void> normalize_group_normalization(Graph& graph, NodeId id, std::int64_t opset) {
  if (opset >= 21 || graph.node(id).inputs.size() != 3) return {};
  const std::optional<Shape>& x = graph.value(graph.node(id).inputs[0]).shape;
  const std::int64_t groups = graph.node(id).attributes.get_int("num_groups", 0);
  if (!x || x->size() < 2 || (*x)[1] == kUnknownDim) {
    return refuse(graph, id, ErrorCode::kUnsupported, "old-style group scale with an unknown number of channels");
  }
  if (groups < 1 || (*x)[1] % groups != 0) {
    return refuse(graph, id, ErrorCode::kBadData, format_text("{} channels in {} groups", (*x)[1], groups));
  }
  const Shape wide{groups, (*x)[1] / groups};
  for (const std::size_t i : {1U, 2U}) {
    const ValueId vector = graph.node(id).inputs[i];
    const DataType type = graph.value(vector).type;
    const ValueId column = insert_before(
        graph, id, "Unsqueeze",
        {vector, add_node_constant(graph, id, "axis", int64_tensor(std::array{std::int64_t{1}}))}, {}, type);
    const ValueId repeated = insert_before(
        graph, id, "Expand", {column, add_node_constant(graph, id, "wide", int64_tensor(wide))}, {}, type);
    const ValueId flat = insert_before(
        graph, id, "Reshape",
        {repeated, add_node_constant(graph, id, "flat", int64_tensor(std::array{std::int64_t{-1}}))}, {}, type);
    graph.set_input(id, i, flat);
  }
  return {};
}

Result<void> infer_group_normalization(InferContext& context) {
  const std::int64_t groups = KINGLET_TRY(checked_int(context, "num_groups", 0, 1, kMaxDim));
  const std::optional<Shape>& x = context.input_shape(0);
  if (x && x->size() >= 2 && (*x)[1] != kUnknownDim && (*x)[1] % groups != 0) {
    return context.fail(format_text("{} channels in {} groups", (*x)[1], groups));
  }
  return infer_instance_normalization(context);
}

Result<void> evaluate_group_normalization(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const std::int64_t per_block = outputs[0].shape()[1] / node.attributes.get_int("num_groups", 1);
  normalize_blocks(inputs, outputs[0], node.attributes.get_float("epsilon", 1e-5F), per_block);
  return {};
}

// --- LayerNormalization: over the axes from `axis` on; optional outputs are mean and inverse deviation --------------

Result<void> infer_layer_normalization(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kFloats));
  const std::optional<Shape>& x = context.input_shape(0);
  context.set_output(0, context.input_type(0), x);
  context.set_output(1, DataType::kF32, std::nullopt);
  context.set_output(2, DataType::kF32, std::nullopt);
  if (!x) return {};
  const std::size_t axis = KINGLET_TRY(checked_axis(context, context.attributes().get_int("axis", -1), x->size()));
  const Shape normalized(x->begin() + static_cast<std::ptrdiff_t>(axis), x->end());
  for (const std::size_t i : {1U, 2U}) {
    if (!context.has_input(i)) continue;
    KINGLET_TRY(need_type(context, i, kFloats));
    if (!context.input_shape(i)) continue;
    const std::optional<Shape> both = broadcast(*context.input_shape(i), normalized);
    if (!both || (is_static(normalized) && *both != normalized)) {
      return context.fail(format_text("input {} has shape {}, which does not broadcast to {}", i,
                                      to_string(*context.input_shape(i)), to_string(normalized)));
    }
  }
  Shape reduced = *x;
  for (std::size_t i = axis; i < reduced.size(); ++i) reduced[i] = 1;
  context.set_output(1, DataType::kF32, reduced);
  context.set_output(2, DataType::kF32, reduced);
  return {};
}

// A vector of scale or bias, spread over the normalised axes; empty when the input is absent.
std::vector<float> spread(Inputs inputs, std::size_t i, std::span<const Dim> shape) {
  std::vector<float> out;
  if (i >= inputs.size() || inputs[i] == nullptr) return out;
  walk<1>(shape, {broadcast_strides(inputs[i]->shape(), shape)},
          [&](const auto& at) { out.push_back(inputs[i]->data<float>()[static_cast<std::size_t>(at[0])]); });
  return out;
}

Result<void> evaluate_layer_normalization(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const Tensor& x = *inputs[0];
  const std::size_t axis = axis_index(node.attributes.get_int("axis", -1), x.shape().size());
  const std::span<const Dim> normalized = std::span(x.shape()).subspan(axis);
  const std::vector<float> scale = spread(inputs, 1, normalized);
  const std::vector<float> bias = spread(inputs, 2, normalized);
  const double epsilon = node.attributes.get_float("epsilon", 1e-5F);
  const auto from = x.data<float>();
  const auto to = outputs[0].mutable_data<float>();
  const auto block = static_cast<std::size_t>(*element_count(normalized));
  for (std::size_t start = 0; block > 0 && start < from.size(); start += block) {
    const Moments m = moments(from.subspan(start, block), epsilon);
    for (std::size_t i = 0; i < block; ++i) {
      const double y = (from[start + i] - m.mean) * m.inverse_deviation * (scale.empty() ? 1.0 : scale[i]);
      to[start + i] = static_cast<float>(y + (bias.empty() ? 0.0 : bias[i]));
    }
    const std::size_t row = start / block;
    if (outputs.size() > 1) outputs[1].mutable_data<float>()[row] = static_cast<float>(m.mean);
    if (outputs.size() > 2) outputs[2].mutable_data<float>()[row] = static_cast<float>(m.inverse_deviation);
  }
  return {};
}

bool is_all(const Tensor* tensor, float wanted) {
  return tensor != nullptr && tensor->type() == DataType::kF32 &&
         std::ranges::all_of(tensor->data<float>(), [=](float x) { return x == wanted; });
}

// x -> (x - mean) / sqrt(mean of squares + epsilon), over the axes from `axis` on.
Result<Operand> lower_centred(SubgraphBuilder& builder, Operand x, std::size_t axis, float epsilon, Operand output) {
  const Dims dims = builder.dims(x);
  Dims reduced = dims;
  std::vector<std::size_t> axes;
  for (std::size_t i = axis; i < dims.size(); ++i) {
    axes.push_back(i);
    reduced[i] = 1;
  }
  const auto [mean, variance, raised, inverse] = KINGLET_TRY(builder.temporaries<4>(reduced));
  const auto [centred, squares] = KINGLET_TRY(builder.temporaries<2>(dims));
  const Operand offset = KINGLET_TRY(builder.scalar(epsilon));
  KINGLET_TRY(builder.reduce(xnn_reduce_mean, axes, true, x, mean));
  KINGLET_TRY(builder.binary(xnn_binary_subtract, x, mean, centred));
  KINGLET_TRY(builder.unary(xnn_unary_square, {}, centred, squares));
  KINGLET_TRY(builder.reduce(xnn_reduce_mean, axes, true, squares, variance));
  KINGLET_TRY(builder.binary(xnn_binary_add, variance, offset, raised));
  KINGLET_TRY(builder.unary(xnn_unary_reciprocal_square_root, {}, raised, inverse));
  KINGLET_TRY(builder.binary(xnn_binary_multiply, centred, inverse, output));
  return output;
}

Result<bool> lower_layer_normalization(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Shape& shape = *graph.value(node.inputs[0]).shape;
  if (shape.empty() || !makes_only_first(node)) return false;
  const bool scales = !is_all(graph.constant(node.inputs[1]), 1);
  const bool shifts = is_given(node, 2) && !is_all(graph.constant(node.inputs[2]), 0);
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], Layout::kLogical));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  const Dims dims = builder.dims(input);
  const Operand normal = scales || shifts ? KINGLET_TRY(builder.temporary(dims)) : output;
  KINGLET_TRY(lower_centred(builder, input, axis_index(node.attributes.get_int("axis", -1), shape.size()),
                            node.attributes.get_float("epsilon", 1e-5F), normal));
  const Operand scaled = scales && shifts ? KINGLET_TRY(builder.temporary(dims)) : scales ? output : normal;
  if (scales) {
    const Operand scale = KINGLET_TRY(builder.input(node.inputs[1], Layout::kLogical));
    KINGLET_TRY(builder.binary(xnn_binary_multiply, normal, scale, scaled));
  }
  if (shifts) {
    const Operand bias = KINGLET_TRY(builder.input(node.inputs[2], Layout::kLogical));
    KINGLET_TRY(builder.binary(xnn_binary_add, scaled, bias, output));
  }
  return true;
}

}  // namespace

const OpParts kBatchNormalization{.normalize = normalize_batch_normalization,
                                  .infer = infer_batch_normalization,
                                  .evaluate = evaluate_batch_normalization,
                                  .lower = lower_batch_normalization,
                                  .traits = {.dims = DimRule::kLikeFirst, .takes_clip = true}};
const OpParts kInstanceNormalization{.infer = infer_instance_normalization,
                                     .evaluate = evaluate_instance_normalization,
                                     .traits = {.dims = DimRule::kLikeFirst}};
const OpParts kGroupNormalization{.normalize = normalize_group_normalization,
                                  .infer = infer_group_normalization,
                                  .evaluate = evaluate_group_normalization,
                                  .traits = {.dims = DimRule::kLikeFirst}};
const OpParts kLayerNormalization{.infer = infer_layer_normalization,
                                  .evaluate = evaluate_layer_normalization,
                                  .lower = lower_layer_normalization,
                                  .traits = {.dims = DimRule::kLikeFirst}};

}  // namespace kinglet::engine::ops
