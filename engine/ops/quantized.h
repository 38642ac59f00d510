// SPDX-License-Identifier: Apache-2.0
// Why: what operators on quantised numbers (x = (q - zero_point) * scale, q of 8 bits) share. Rounding is to nearest,
// ties to even; products of scales are taken in float, as ONNX Runtime takes them, so that answers agree to the bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/graph/quantization.h"
#include "engine/ops/common.h"

namespace kinglet::engine::ops {

// Where a node lists a quantised tensor.
struct QuantizedInput {
  std::size_t x, scale, zero_point;
};

// One scale and one zero point (or none) that go with the type of `type_of`. kBadData otherwise.
[[nodiscard]] Result<void> need_quantization(const InferContext& context, std::size_t scale, std::size_t zero_point,
                                             DataType type);
// x of 8 bits with its scale and zero point.
[[nodiscard]] Result<void> need_quantized(const InferContext& context, QuantizedInput input);

// f.template operator()<T>() for std::int8_t or std::uint8_t.
template <typename F>
decltype(auto) visit_bytes(DataType type, F&& f) {
  if (type == DataType::kI8) return f.template operator()<std::int8_t>();
  KINGLET_CHECK(type == DataType::kU8);
  return f.template operator()<std::uint8_t>();
}

// For evaluate, after infer has checked: the number of a scalar scale, and of a zero point (0 when absent).
[[nodiscard]] inline const Tensor* input_or_null(Inputs inputs, std::size_t i) {
  return i < inputs.size() ? inputs[i] : nullptr;
}
[[nodiscard]] float scale_of(Inputs inputs, std::size_t i);
[[nodiscard]] std::int32_t zero_point_of(Inputs inputs, std::size_t i);

// The 8-bit numbers of x as integers; minus the zero points, whose strides are those of `zero_shape` under x's shape.
[[nodiscard]] std::vector<std::int32_t> shifted(const Tensor& x, const Tensor* zero_point, const Shape& zero_shape);

// `level` is a whole number or NaN (the smallest).
template <typename T>
T saturate(float level) {
  constexpr auto kLow = static_cast<float>(std::numeric_limits<T>::min());
  constexpr auto kHigh = static_cast<float>(std::numeric_limits<T>::max());
  return level > kLow ? static_cast<T>(std::min(level, kHigh)) : std::numeric_limits<T>::min();
}

// A sum of products in the output's scale: rounded first, then moved to the zero point.
template <typename T>
T requantized(std::int32_t sum, float scale, std::int32_t zero_point) {
  return saturate<T>(std::nearbyint(static_cast<float>(sum) * scale) + static_cast<float>(zero_point));
}

// QuantizeLinear of one number.
template <typename T>
T quantized(float x, float scale, std::int32_t zero_point) {
  return saturate<T>(std::nearbyint(x / scale) + static_cast<float>(zero_point));
}

using Quantization = LinearQuantization;

// DynamicQuantizeLinear: scale and zero point (of u8) that cover x and 0.
struct DynamicQuantization {
  float scale = 1;
  std::uint8_t zero_point = 0;
};
[[nodiscard]] DynamicQuantization dynamic_quantization(std::span<const float> x);

}  // namespace kinglet::engine::ops
