// SPDX-License-Identifier: Apache-2.0
// Why: what the tests of kernels of float16 share: layers whose numbers have float16, a run of one kernel, the
// rounding.
#pragma once

#include <cmath>
#include <limits>

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

inline std::vector<float> run_to_halves(const KernelRow& row, const Work& work, const Inputs& inputs,
                                        std::size_t outputs, int threads, Lies lies = Lies::kApart) {
  const TensorBuffer output = run_kernel(row, work, inputs, outputs * sizeof(Half), threads, lies);
  std::vector<float> out(outputs);
  std::ranges::transform(std::span(reinterpret_cast<const Half*>(output.data()), out.size()), out.begin(), to_float);
  return out;
}

inline std::vector<float> run_in_halves(const KernelRow& row, const Layer& layer, int threads,
                                        Lies lies = Lies::kApart) {
  std::vector<Tensor> halves{tensor_of_halves(layer.input)};
  if (layer.adds) halves.push_back(tensor_of_halves(layer.added));
  Inputs inputs;
  for (const Tensor& half : halves) inputs.push_back(half.bytes());
  return run_to_halves(row, layer.work().in_halves().value(), inputs, layer.outputs(), threads, lies);
}

// Of zeros either will do, since a row ends with zeros that fill a vector; of what is no number any.
inline bool same_halves(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// expect_bits_in_forms() of the layer in float16.
inline void expect_halves_in_forms(Forms forms, const Layer& rough, int threads, AnswerOf answer_of) {
  const Layer layer = in_halves(rough);
  const std::vector<float> expected = answers_of(layer, answer_of);
  const Work work = layer.work().in_halves().value();
  EXPECT_TRUE(row_named(forms[0]).offer(work)) << layer.text();
  for (const char* const form : forms_here(forms, work)) {
    for (const Lies lies : lies_of(row_named(form), work)) {
      EXPECT_TRUE(std::ranges::equal(run_in_halves(row_named(form), layer, threads, lies), expected, same_halves))
          << form << ", " << threads << " threads" << text_of(lies) << layer.text();
    }
  }
}

// Beyond the range of float16 in a sum, below its full precision, none.
inline float special_half(Random& random) {
  constexpr std::array kSpecial{0.0F, -0.0F, 6e-8F, -5e-5F, 6.1e-5F, 1e-3F, 0.7F, -3.0F, 250.0F, 65504.0F, -6e4F};
  return kSpecial[pick_of(random, 0, kSpecial.size() - 1)];
}

// Calls check(layer) four times, with such numbers and weights; the rarest of the numbers are usual ones, or infinite
// or none.
inline void for_special_halves(Random& random, const Layer& usual, const std::function<void(Layer&)>& check) {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN(), kAll = std::numeric_limits<float>::infinity();
  for (const float rare : {0.5F, kNone, kAll, -kAll}) {
    Layer layer = usual;
    std::ranges::generate(layer.input.mutable_data<float>(),
                          [&] { return pick_of(random, 0, 99) == 0 ? rare : special_half(random); });
    for (float& weight : layer.weights) weight = pick_of(random, 0, 3) == 0 ? special_half(random) / 64 : weight;
    check(layer);
  }
}

}  // namespace kinglet::engine::kernels
