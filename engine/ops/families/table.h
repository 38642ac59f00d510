// SPDX-License-Identifier: Apache-2.0
// Why: an operator of one 8-bit tensor (x, scale, zero point, y scale, y zero point) is a table: what its real form
// makes of each of 256 numbers. A family that has the real form gets the 8-bit one from here.
#pragma once

#include <array>

#include "engine/ops/quantized.h"

namespace kinglet::engine::ops {

inline constexpr std::size_t kByteLevels = 256;
using RealNumbers = std::array<float, kByteLevels>;  // by the level's bits

[[nodiscard]] Quantization quantization_at(Inputs inputs, std::size_t scale);

// The numbers that the levels of an 8-bit type stand for.
[[nodiscard]] RealNumbers numbers_of_levels(DataType type, Quantization from);

// y = the level of the number that `numbers` has for each level of x.
void look_up(const Tensor& x, const RealNumbers& numbers, Quantization to, Tensor& y);

// The same for a function of a number.
template <typename F>
void through_table(const Tensor& x, Quantization from, Quantization to, Tensor& y, F f) {
  RealNumbers numbers = numbers_of_levels(x.type(), from);
  for (float& number : numbers) number = static_cast<float>(f(static_cast<double>(number)));
  look_up(x, numbers, to, y);
}

// The type of the result: that of its zero point, or else of x.
[[nodiscard]] Result<DataType> output_type(const InferContext& context, std::size_t x, std::size_t scale,
                                           std::size_t zero_point);
[[nodiscard]] Result<void> infer_qlinear_unary(InferContext& context);

// As a row's `evaluate`, of the `evaluate` of the real form.
[[nodiscard]] Result<void> evaluate_table(decltype(Op::evaluate) real, const Node& node, Inputs inputs,
                                          std::span<Tensor> outputs);
template <decltype(Op::evaluate) kReal>
[[nodiscard]] Result<void> evaluate_table(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  return evaluate_table(kReal, node, inputs, outputs);
}

}  // namespace kinglet::engine::ops
