// SPDX-License-Identifier: Apache-2.0
#include "engine/passes/quantization.h"

#include <algorithm>
#include <cmath>

namespace kinglet::engine {
namespace {

bool same_constant(const Graph& graph, const Node& a, const Node& b, std::size_t input) {
  if (has_input(a, input) != has_input(b, input)) return false;
  if (!has_input(a, input)) return true;
  const Tensor* first = fixed_input(graph, a, input);
  const Tensor* second = fixed_input(graph, b, input);
  return first != nullptr && second != nullptr && first->bit_equal(*second);
}

bool is_invertible(const Tensor& scale) {
  constexpr float kLevels = 255;
  return scale.type() == DataType::kF32 && std::ranges::all_of(scale.to_floats(), [](float number) {
           return number > 0 && std::isnormal(number) && std::isfinite(number * kLevels);
         });
}

}  // namespace

bool undoes(const Graph& graph, const Node& quantize, const Node& dequantize) {
  const DataType type = graph.value(dequantize.inputs[0]).type;
  const Tensor* scale = fixed_input(graph, quantize, 1);
  return (type == DataType::kI8 || type == DataType::kU8) && graph.value(quantize.outputs[0]).type == type &&
         scale != nullptr && is_invertible(*scale) && same_constant(graph, quantize, dequantize, 1) &&
         same_constant(graph, quantize, dequantize, 2) &&
         quantize.attributes.get_int("axis", 1) == dequantize.attributes.get_int("axis", 1);
}

}  // namespace kinglet::engine
