// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/families/table.h"

namespace kinglet::engine::ops {

Quantization quantization_at(Inputs inputs, std::size_t scale) {
  return {.scale = scale_of(inputs, scale), .zero_point = zero_point_of(inputs, scale + 1)};
}

RealNumbers numbers_of_levels(DataType type, Quantization from) {
  RealNumbers numbers{};
  visit_bytes(type, [&]<typename X>() {
    for (std::size_t i = 0; i < kByteLevels; ++i) {
      const auto level = static_cast<X>(static_cast<std::uint8_t>(i));
      numbers[i] = static_cast<float>(level - from.zero_point) * from.scale;
    }
  });
  return numbers;
}

void look_up(const Tensor& x, const RealNumbers& numbers, Quantization to, Tensor& y) {
  visit_bytes(x.type(), [&]<typename X>() {
    visit_bytes(y.type(), [&]<typename Y>() {
      std::array<Y, kByteLevels> table{};
      for (std::size_t i = 0; i < kByteLevels; ++i) table[i] = quantized<Y>(numbers[i], to.scale, to.zero_point);
      const auto levels = x.data<X>();
      const auto out = y.mutable_data<Y>();
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = table[static_cast<std::uint8_t>(levels[i])];
    });
  });
}

Result<DataType> output_type(const InferContext& context, std::size_t x, std::size_t scale, std::size_t zero_point) {
  if (context.has_input(zero_point)) KINGLET_TRY(need_type(context, zero_point, kBytes));
  const DataType type = context.input_type(context.has_input(zero_point) ? zero_point : x);
  KINGLET_TRY(need_quantization(context, scale, zero_point, type));
  return type;
}

Result<void> infer_qlinear_unary(InferContext& context) {
  KINGLET_TRY(need_quantized(context, {.x = 0, .scale = 1, .zero_point = 2}));
  context.set_output(0, KINGLET_TRY(output_type(context, 0, 3, 4)), context.input_shape(0));
  return {};
}

Result<void> evaluate_table(decltype(Op::evaluate) real, const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const RealNumbers numbers = numbers_of_levels(inputs[0]->type(), quantization_at(inputs, 1));
  const Tensor x = Tensor::of<float>({kByteLevels}, std::span<const float>(numbers));
  std::array results{Tensor(DataType::kF32, {kByteLevels})};
  KINGLET_TRY(real(node, std::array{&x}, results));
  RealNumbers made{};
  std::ranges::copy(results[0].data<float>(), made.begin());
  look_up(*inputs[0], made, quantization_at(inputs, 3), outputs[0]);
  return {};
}

}  // namespace kinglet::engine::ops
