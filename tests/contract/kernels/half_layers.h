// SPDX-License-Identifier: Apache-2.0
// Why: what the tests of kernels of float16 share: layers whose numbers have float16, a run of one kernel, the
// rounding.
#pragma once

#include <cmath>

#include "engine/graph/float16.h"
#include "tests/contract/kernels/float_layers.h"

namespace kinglet::engine::kernels {

// As ARM has it while small numbers are flushed: what is too small for full precision is zero, before it is rounded.
inline double without_small(double number) { return std::abs(number) < 0x1p-14 ? std::copysign(0.0, number) : number; }
inline double half_of(double exact) {
  __extension__ using Native = _Float16;
  return without_small(static_cast<double>(static_cast<Native>(without_small(exact))));
}

inline Layer in_halves(Layer layer) {
  const auto round = [](std::span<float> numbers) {
    for (float& number : numbers) number = to_float(to_half(number));
  };
  round(layer.weights);
  round(layer.bias);
  round(layer.input.mutable_data<float>());
  if (layer.adds) round(layer.added.mutable_data<float>());
  return layer;
}

inline Tensor tensor_of_halves(const Tensor& floats) {
  Tensor halves(DataType::kF16, floats.shape());
  std::ranges::transform(floats.data<float>(), halves.mutable_data<Half>().begin(), to_half);
  return halves;
}

inline std::vector<float> run_in_halves(const KernelRow& row, const Layer& layer, int threads,
                                        Lies lies = Lies::kApart) {
  std::vector<Tensor> halves{tensor_of_halves(layer.input)};
  if (layer.adds) halves.push_back(tensor_of_halves(layer.added));
  std::vector<std::span<const std::byte>> inputs;
  for (const Tensor& half : halves) inputs.push_back(half.bytes());
  const Work work = layer.work().in_halves().value();
  const TensorBuffer output = run_kernel(row, work, inputs, layer.outputs() * sizeof(Half), threads, lies);
  std::vector<float> out(layer.outputs());
  std::ranges::transform(std::span(reinterpret_cast<const Half*>(output.data()), out.size()), out.begin(), to_float);
  return out;
}

// Of zeros either will do, since a row ends with zeros that fill a vector; of what is no number any.
inline bool same_halves(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace kinglet::engine::kernels
