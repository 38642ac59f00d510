// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear and DequantizeLinear, per tensor, per axis or per block: y = saturate(round_half_even(x / scale) +
// zero_point), x = (y - zero_point) * scale.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/format.h"
#include "engine/ops/common.h"
#include "engine/ops/families/quantize16.h"
#include "engine/ops/levels.h"
#include "engine/ops/lower.h"
#include "engine/ops/normalize.h"
#include "engine/ops/quantized.h"
#include "engine/ops/rows.h"

namespace kinglet::engine::ops {
namespace {

// Scale and zero point are scalars, or vectors along the axis, or have one number for each block of it.
Result<void> need_blocks(const InferContext& context, const Shape& x, const Shape& scale, std::int64_t block) {
  const std::size_t axis = KINGLET_TRY(checked_axis(context, context.attributes().get_int("axis", 1), x.size()));
  bool fits = scale.size() == x.size();
  for (std::size_t i = 0; fits && i < x.size(); ++i) {
    if (x[i] == kUnknownDim || scale[i] == kUnknownDim) continue;
    const bool last_is_partial = x[i] > 0 && scale[i] > 0 && (x[i] - 1) / block == scale[i] - 1;
    fits = i == axis ? last_is_partial || (x[i] == 0 && scale[i] == 0) : x[i] == scale[i];
  }
  if (fits) return {};
  return context.fail(format_text("scale {} does not have one number for each {} of axis {} of {}", to_string(scale),
                                  block, axis, to_string(x)));
}

Result<void> need_parameters(const InferContext& context) {
  const std::optional<Shape>& x = context.input_shape(0);
  const std::optional<Shape>& scale = context.input_shape(1);
  const std::int64_t block = KINGLET_TRY(checked_int(context, "block_size", 0, 0, kMaxDim));
  if (context.has_input(2) && scale && context.input_shape(2) &&
      element_count(*scale) != element_count(*context.input_shape(2))) {
    return context.fail(format_text("scale {} and zero point {} differ in shape", to_string(*scale),
                                    to_string(*context.input_shape(2))));
  }
  if (x && scale && block > 0) return need_blocks(context, *x, *scale, block);
  if (!x || !scale || element_count(*scale) == 1) return {};
  if (scale->size() != 1)
    return context.fail(format_text("scale has shape {}, expected a scalar or a vector", to_string(*scale)));
  const std::size_t axis = KINGLET_TRY(checked_axis(context, context.attributes().get_int("axis", 1), x->size()));
  if ((*x)[axis] == (*scale)[0] || (*x)[axis] == kUnknownDim || (*scale)[0] == kUnknownDim) return {};
  return context.fail(format_text("{} scales for axis {} of {}", (*scale)[0], axis, to_string(*x)));
}

// ONNX's numbers of types.
Result<DataType> quantized_type(const InferContext& context) {
  if (context.has_input(2)) {
    KINGLET_TRY(need_type(context, 2, kBytes));
    return context.input_type(2);
  }
  const std::int64_t type = context.attributes().get_int("output_dtype", 0);
  if (type == 0 || type == 2) return DataType::kU8;
  if (type == 3) return DataType::kI8;
  return context.refuse(format_text("output_dtype {} is not supported, only uint8 (2) and int8 (3)", type));
}

Result<void> normalize_quantize(Graph& graph, NodeId id, std::int64_t /*opset*/) { return take_out_16_bits(graph, id); }

Result<void> infer_quantize(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, {DataType::kF32, DataType::kF16, DataType::kI32}));
  KINGLET_TRY(need_type(context, 1, kFloats));
  KINGLET_TRY(need_parameters(context));
  context.set_output(0, KINGLET_TRY(quantized_type(context)), context.input_shape(0));
  return {};
}

Result<void> infer_dequantize(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, {DataType::kI8, DataType::kU8, DataType::kI32}));
  KINGLET_TRY(need_type(context, 1, kFloats));
  if (context.has_input(2)) KINGLET_TRY(need_type_of(context, 2, 0));
  KINGLET_TRY(need_parameters(context));
  context.set_output(0, context.input_type(1), context.input_shape(0));
  return {};
}

// f(flat index, index into scale and zero point)
template <typename F>
void for_each_scaled(const Node& node, const Tensor& x, const Tensor& scale, F f) {
  const auto count = static_cast<std::size_t>(x.element_count());
  if (scale.element_count() == 1) {
    for (std::size_t i = 0; i < count; ++i) f(i, std::size_t{0});
    return;
  }
  const std::size_t axis = axis_index(node.attributes.get_int("axis", 1), x.shape().size());
  const AxisView view = view_axis(x.shape(), axis);
  const auto inner = static_cast<std::size_t>(view.inner);
  const auto length = static_cast<std::size_t>(view.length);
  const auto block = static_cast<std::size_t>(node.attributes.get_int("block_size", 0));
  if (block == 0) {
    for (std::size_t i = 0; i < count; ++i) f(i, i / inner % length);
    return;
  }
  const auto blocks = static_cast<std::size_t>(scale.shape()[axis]);
  for (std::size_t i = 0; i < count; ++i) {
    f(i, (i / (inner * length) * blocks + i / inner % length / block) * inner + i % inner);
  }
}

template <typename T>
void quantize(const Node& node, Inputs inputs, Tensor& y) {
  const bool shifted = inputs.size() > 2 && inputs[2] != nullptr;
  const auto zero_points = shifted ? inputs[2]->data<T>() : std::span<const T>{};
  const auto scales = inputs[1]->data<float>();
  const auto to = y.mutable_data<T>();
  const auto at = [&](std::size_t i, std::size_t channel, float x) {
    const double zero = shifted ? static_cast<double>(zero_points[channel]) : 0.0;
    const double level = std::nearbyint(static_cast<double>(x / scales[channel])) + zero;
    const double low = std::numeric_limits<T>::min();
    to[i] = level > low ? static_cast<T>(std::min(level, static_cast<double>(std::numeric_limits<T>::max())))
                        : std::numeric_limits<T>::min();  // NaN too
  };
  for_each_scaled(node, *inputs[0], *inputs[1], [&](std::size_t i, std::size_t channel) {
    at(i, channel,
       inputs[0]->type() == DataType::kI32 ? static_cast<float>(inputs[0]->data<std::int32_t>()[i])
                                           : inputs[0]->data<float>()[i]);
  });
}

Result<void> evaluate_quantize(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  if (outputs[0].type() == DataType::kI8) {
    quantize<std::int8_t>(node, inputs, outputs[0]);
  } else {
    quantize<std::uint8_t>(node, inputs, outputs[0]);
  }
  return {};
}

Result<void> evaluate_dequantize(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const bool shifted = inputs.size() > 2 && inputs[2] != nullptr;
  const auto scales = inputs[1]->data<float>();
  const auto to = outputs[0].mutable_data<float>();
  visit_type(inputs[0]->type(), [&]<typename T>() {
    if constexpr (std::is_integral_v<T> && sizeof(T) <= 4) {
      const auto from = inputs[0]->data<T>();
      const auto zero_points = shifted ? inputs[2]->data<T>() : std::span<const T>{};
      for_each_scaled(node, *inputs[0], *inputs[1], [&](std::size_t i, std::size_t channel) {
        const std::int64_t zero = shifted ? static_cast<std::int64_t>(zero_points[channel]) : 0;
        to[i] = static_cast<float>(static_cast<std::int64_t>(from[i]) - zero) * scales[channel];
      });
    }
  });
  return {};
}

// --- DynamicQuantizeLinear: x -> y, scale, zero point ---------------------------------------------------------------

Result<void> infer_dynamic_quantize(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, {DataType::kF32}));
  context.set_output(0, DataType::kU8, context.input_shape(0));
  context.set_output(1, DataType::kF32, Shape{});
  context.set_output(2, DataType::kU8, Shape{});
  return {};
}

Result<void> evaluate_dynamic_quantize(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  const auto x = inputs[0]->data<float>();
  const DynamicQuantization found = dynamic_quantization(x);
  const auto y = outputs[0].mutable_data<std::uint8_t>();
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = quantized<std::uint8_t>(x[i], found.scale, found.zero_point);
  if (outputs.size() > 1) outputs[1] = Tensor::of<float>({}, {found.scale});
  if (outputs.size() > 2) outputs[2] = Tensor::of<std::uint8_t>({}, {found.zero_point});
  return {};
}

Result<bool> lower_convert(SubgraphBuilder& builder, const Graph& graph, NodeId id, ValueId quantized) {
  const Node& node = graph.node(id);
  const auto named = quantization_at(graph, node, 1);
  if (!named || named != quantization_of(graph, quantized)) return false;
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], builder.layout(node.outputs[0])));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.convert(input, output));
  return true;
}

Result<bool> lower_quantize(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  return lower_convert(builder, graph, id, graph.node(id).outputs[0]);
}

Result<bool> lower_dequantize(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  return lower_convert(builder, graph, id, graph.node(id).inputs[0]);
}

}  // namespace

const OpParts kQuantizeLinear{.normalize = normalize_quantize,
                              .infer = infer_quantize,
                              .evaluate = evaluate_quantize,
                              .lower = lower_quantize,
                              .traits = {.dims = DimRule::kLikeFirst, .numbers = Numbers::kMoved}};
const OpParts kDynamicQuantizeLinear{.infer = infer_dynamic_quantize, .evaluate = evaluate_dynamic_quantize};
const OpParts kDequantizeLinear{.infer = infer_dequantize,
                                .evaluate = evaluate_dequantize,
                                .lower = lower_dequantize,
                                .traits = {.dims = DimRule::kLikeFirst, .numbers = Numbers::kMoved}};

}  // namespace kinglet::engine::ops
