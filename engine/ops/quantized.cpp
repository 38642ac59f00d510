// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/quantized.h"

#include "engine/base/format.h"

namespace kinglet::engine::ops {

Result<void> need_quantization(const InferContext& context, std::size_t scale, std::size_t zero_point, DataType type) {
  KINGLET_TRY(need_type(context, scale, kFloats));
  const auto one_number = [&](std::size_t i) -> Result<void> {
    const std::optional<Shape>& shape = context.input_shape(i);
    if (!shape || element_count(*shape).value_or(1) == 1) return {};
    return context.fail(format_text("input {} has shape {}, expected one number", i, to_string(*shape)));
  };
  KINGLET_TRY(one_number(scale));
  if (!context.has_input(zero_point)) return {};
  if (context.input_type(zero_point) != type) {
    return context.fail(format_text("zero point {} is {}, expected {}", zero_point,
                                    to_string(context.input_type(zero_point)), to_string(type)));
  }
  return one_number(zero_point);
}

Result<void> need_quantized(const InferContext& context, QuantizedInput input) {
  KINGLET_TRY(need_type(context, input.x, kBytes));
  return need_quantization(context, input.scale, input.zero_point, context.input_type(input.x));
}

float scale_of(Inputs inputs, std::size_t i) { return inputs[i]->data<float>()[0]; }

std::int32_t zero_point_of(Inputs inputs, std::size_t i) {
  const Tensor* tensor = input_or_null(inputs, i);
  if (tensor == nullptr) return 0;
  return visit_bytes(tensor->type(), [&]<typename T>() { return static_cast<std::int32_t>(tensor->data<T>()[0]); });
}

std::vector<std::int32_t> shifted(const Tensor& x, const Tensor* zero_point, const Shape& zero_shape) {
  std::vector<std::int32_t> out;
  out.reserve(static_cast<std::size_t>(x.element_count()));
  visit_bytes(x.type(), [&]<typename T>() { out.assign(x.data<T>().begin(), x.data<T>().end()); });
  if (zero_point == nullptr) return out;
  visit_bytes(zero_point->type(), [&]<typename T>() {
    const auto zeros = zero_point->data<T>();
    std::size_t i = 0;
    walk<1>(x.shape(), {broadcast_strides(zero_shape, x.shape())},
            [&](const auto& at) { out[i++] -= zeros[static_cast<std::size_t>(at[0])]; });
  });
  return out;
}

DynamicQuantization dynamic_quantization(std::span<const float> x) {
  float low = 0;
  float high = 0;
  for (const float value : x) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  DynamicQuantization found;
  if (high > low) found.scale = (high - low) / 255.0F;
  if (!(found.scale > 0)) found.scale = 1;  // too small for a float
  found.zero_point = saturate<std::uint8_t>(std::nearbyint(std::clamp(-low / found.scale, 0.0F, 255.0F)));
  return found;
}

}  // namespace kinglet::engine::ops
