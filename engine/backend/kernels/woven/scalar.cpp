// SPDX-License-Identifier: Apache-2.0
// Why: the form of the kernel of woven rows that any processor has: the twin of the others.
#include <cmath>

#include "engine/backend/kernels/woven/form.h"

namespace kinglet::engine::kernels::woven {
namespace {

template <std::size_t kRows>
void weave(const Weave& of) {
  float* to = of.panel;
  for (std::size_t quad = 0; quad < of.quads; ++quad) {
    for (std::size_t row = 0; row < kRows; ++row) {
      for (std::size_t i = 0; i < kQuad; ++i) *to++ = of.rows[row][quad * kQuad + i];
    }
  }
}

// One number of a row after the other, each for the whole block.
template <std::size_t kVectors, std::size_t kRows>
void add_up(const Product& of, std::size_t block, std::size_t row, float (&sums)[kVectors * kQuad]) {
  constexpr std::size_t kWidth = kVectors * kQuad;
  for (std::size_t i = 0; i < kWidth; ++i) sums[i] = of.bias[block * kWidth + i];
  const float* weights = of.weights + block * of.quads * kQuad * kWidth;
  for (std::size_t k = 0; k < of.quads * kQuad; ++k, weights += kWidth) {
    const float number = of.panel[(k / kQuad * kRows + row) * kQuad + k % kQuad];
    for (std::size_t i = 0; i < kWidth; ++i) sums[i] = std::fma(number, weights[i], sums[i]);
  }
}

template <std::size_t kVectors, std::size_t kRows>
void multiply(const Product& of) {
  constexpr std::size_t kWidth = kVectors * kQuad;
  for (std::size_t block = 0; block < of.blocks; ++block) {
    for (std::size_t row = 0; row < kRows; ++row) {
      float sums[kWidth];
      add_up<kVectors, kRows>(of, block, row, sums);
      const std::size_t at = row * of.step + block * kWidth;
      for (std::size_t i = 0; i < kWidth; ++i) {
        if (of.added != nullptr) sums[i] += of.added[at + i];
        if (of.least != nullptr && sums[i] <= *of.least) sums[i] = *of.least;
        if (of.most != nullptr && *of.most <= sums[i]) sums[i] = *of.most;
        of.output[at + i] = sums[i];
      }
    }
  }
}

}  // namespace

constexpr Form kScalar = form_of([]<std::size_t kRows>() { return weave<kRows>; },
                                 []<std::size_t kVectors, std::size_t kRows>() { return multiply<kVectors, kRows>; });

}  // namespace kinglet::engine::kernels::woven
