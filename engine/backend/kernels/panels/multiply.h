// SPDX-License-Identifier: Apache-2.0
// Why: the sums of a panel, written once for vectors of any width: a form (form.h) gives its vector, so that all forms
// do the same arithmetic in the same order and give the same bits. For processors that read one number into all lanes
// as they multiply.
#pragma once

#include <cstddef>
#include <utility>

#include "engine/backend/kernels/panels/form.h"
#include "engine/backend/kernels/vectors/unroll.h"

namespace kinglet::engine::kernels::panels {

// Of kRows rows and kVectors vectors of outputs.
template <typename Simd, std::size_t kRows, std::size_t kVectors>
struct Strip {
  using V = typename Simd::Vector;
  static constexpr std::size_t kWidth = kVectors * Simd::kLanes;

  V sums[kRows][kVectors];

  void begin(const Product& of, std::size_t first) {
    KINGLET_UNROLL
    for (std::size_t row = 0; row < kRows; ++row) {
      const float* from = of.bias == nullptr ? of.sums + row * of.step : of.bias;
      KINGLET_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) sums[row][v] = Simd::load(from + first + v * Simd::kLanes);
    }
  }

  void multiply(const Product& of, std::size_t first, const std::byte* ahead) {
    const float* rows = of.rows;
    const float* weights = of.weights + first;
    for (std::size_t quad = 0; quad < of.quads; ++quad, rows += kRows * kQuad) {
      if (ahead != nullptr) {
        ask_for<kAheadOfQuad * kLineBytes>(ahead, 0);
        ahead += kAheadOfQuad * kLineBytes;
      }
      KINGLET_UNROLL
      for (std::size_t i = 0; i < kQuad; ++i, weights += kOutputs) {
        V factors[kVectors];
        KINGLET_UNROLL
        for (std::size_t v = 0; v < kVectors; ++v) factors[v] = Simd::load(weights + v * Simd::kLanes);
        KINGLET_UNROLL
        for (std::size_t row = 0; row < kRows; ++row) {
          const V number = Simd::set(rows[row * kQuad + i]);
          KINGLET_UNROLL
          for (std::size_t v = 0; v < kVectors; ++v) sums[row][v] = Simd::fma(number, factors[v], sums[row][v]);
        }
      }
    }
  }

  void end(const End& end, std::size_t step, std::size_t first) {
    const V least = Simd::set(end.least);
    const V most = Simd::set(end.most);
    KINGLET_UNROLL
    for (std::size_t row = 0; row < kRows; ++row) {
      KINGLET_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) {
        V& sum = sums[row][v];
        if (end.added != nullptr) sum = Simd::add(sum, Simd::load(end.added + row * step + first + v * Simd::kLanes));
        sum = Simd::min(Simd::max(sum, least), most);
      }
    }
  }

  void store(const Product& of, std::size_t first) const {
    KINGLET_UNROLL
    for (std::size_t row = 0; row < kRows; ++row) {
      KINGLET_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v)
        Simd::store(of.sums + row * of.step + first + v * Simd::kLanes, sums[row][v]);
    }
  }
};

template <typename Simd, std::size_t kRows, std::size_t kVectors>
void multiply(const Product& of) {
  using S = Strip<Simd, kRows, kVectors>;
  const std::byte* ahead = of.ahead;
  for (std::size_t first = 0; first < kOutputs; first += S::kWidth) {
    S strip;
    strip.begin(of, first);
    strip.multiply(of, first, ahead);
    if (of.end != nullptr) strip.end(*of.end, of.step, first);
    strip.store(of, first);
    if (ahead != nullptr) ahead += of.quads * kAheadOfQuad * kLineBytes;
  }
}

template <typename Simd, std::size_t kRows, std::size_t kVectors>
consteval Form form_of() {
  return [&]<std::size_t... kBefore>(std::index_sequence<kBefore...>) {
    return Form{.rows = kRows,
                .strips = kOutputs / (kVectors * Simd::kLanes),
                .multiply = {multiply<Simd, kBefore + 1, kVectors>...}};
  }(std::make_index_sequence<kRows>());
}

}  // namespace kinglet::engine::kernels::panels
