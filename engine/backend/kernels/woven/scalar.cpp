// SPDX-License-Identifier: Apache-2.0
// Why: the forms of the kernel of woven rows that any processor has: the twins of the others.
#include <cstring>

#include "engine/backend/kernels/vectors/scalar.h"
#include "engine/backend/kernels/vectors/scalar_half.h"
#include "engine/backend/kernels/woven/form.h"

namespace kinglet::engine::kernels::woven {
namespace {

template <typename Number>
struct Simd : Scalar {};
template <>
struct Simd<Half> : ScalarHalf {};

template <std::size_t kRows>
void weave(const Weave& of) {
  std::byte* to = of.panel;
  constexpr std::size_t kBytes = kQuad * sizeof(float);
  for (std::size_t vector = 0; vector < of.vectors; ++vector) {
    for (std::size_t row = 0; row < kRows; ++row, to += kBytes) std::memcpy(to, of.rows[row] + vector * kBytes, kBytes);
  }
}

template <typename Number>
Number number_of(const Product<Number>& of, std::size_t vector, std::size_t lane) {
  return of.panel[vector * kLanes<Number> + lane];
}
template <typename Number>
Number number_of(const ProductOfVectors<Number>& of, std::size_t vector, std::size_t lane) {
  return of.vectors[vector][of.begin + lane];
}

// One number of a row after the other, each for the whole block.
template <typename Number, std::size_t kVectors, std::size_t kRows, typename Of>
void add_up(const Of& of, std::size_t block, std::size_t row, Number* sums) {
  constexpr std::size_t kEach = kLanes<Number>;
  constexpr std::size_t kWidth = kVectors * kEach;
  for (std::size_t i = 0; i < kWidth; ++i) sums[i] = of.bias[block * kWidth + i];
  const Number* weights = of.weights + block * of.parts * kEach * kWidth;
  for (std::size_t k = 0; k < of.parts * kEach; ++k, weights += kWidth) {
    const Number number = number_of(of, k / kEach * kRows + row, k % kEach);
    for (std::size_t i = 0; i < kWidth; ++i) sums[i] = Simd<Number>::fma(number, weights[i], sums[i]);
  }
}

template <typename Number, std::size_t kVectors, std::size_t kRows, typename Of>
void multiply(const Of& of) {
  constexpr std::size_t kWidth = kVectors * kLanes<Number>;
  for (std::size_t block = 0; block < of.blocks; ++block) {
    for (std::size_t row = 0; row < kRows; ++row) {
      Number sums[kWidth];
      add_up<Number, kVectors, kRows>(of, block, row, sums);
      const std::size_t at = row * of.step + block * kWidth;
      for (std::size_t i = 0; i < kWidth; ++i) {
        if (of.added != nullptr) sums[i] = Simd<Number>::add(sums[i], of.added[at + i]);
        if (of.least != nullptr) sums[i] = Simd<Number>::max(sums[i], *of.least);
        if (of.most != nullptr) sums[i] = Simd<Number>::min(sums[i], *of.most);
        of.output[at + i] = sums[i];
      }
    }
  }
}

void narrow(const float* from, std::size_t count, Half* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = ScalarHalf::set(from[i]);
}

template <typename Number>
consteval Form<Number> scalar_form(decltype(Form<Number>::narrow) narrow = nullptr) {
  return form_of<Number>(
      []<std::size_t kRows>() { return weave<kRows>; },
      []<std::size_t kVectors, std::size_t kRows, typename Of>() { return multiply<Number, kVectors, kRows, Of>; },
      narrow);
}

}  // namespace

constexpr Form<float> kScalar = scalar_form<float>();
constexpr Form<Half> kScalarHalf = scalar_form<Half>(narrow);

}  // namespace kinglet::engine::kernels::woven
