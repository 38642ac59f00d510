// SPDX-License-Identifier: Apache-2.0
// Why: Winograd's products on ARM are the loop of woven rows (woven/neon.cpp): a group's tiles lie as the rows of a
// panel do. Written once for floats and for float16.
#pragma once

#include <cstddef>
#include <utility>

#include "engine/backend/kernels/winograd/form.h"
#include "engine/backend/kernels/winograd/transforms.h"
#include "engine/backend/kernels/woven/form.h"

namespace kinglet::engine::kernels::winograd {

template <typename Simd>
inline constexpr std::size_t kSumStep = woven::kWovenRows * kMostVectors * Simd::kLanes;

// Of one sum, in as many as are added up one after the other, and of channels that fill no vector.
template <typename Simd, const woven::Form<typename Simd::Number>& form, std::size_t kTiles, std::size_t kVectors>
void multiply_in_some(const typename Simd::Number* tiles, const typename Simd::Number* weights, std::size_t channels,
                      typename Simd::Number* sums) {
  using Number = typename Simd::Number;
  constexpr std::size_t kEach = Simd::kLanes;
  constexpr std::size_t kRow = kVectors * kEach;
  constexpr std::size_t kMostParts = kMostSummed<Number> / kEach;
  constexpr Number kNothing[kRow] = {};
  const std::size_t parts = channels / kEach;
  std::size_t done = 0;
  do {
    const std::size_t some = parts - done < kMostParts ? parts - done : kMostParts;
    form.multiply[kVectors - 1][kTiles - 1]({.panel = tiles + done * kTiles * kEach,
                                             .laid = nullptr,
                                             .parts = some,
                                             .weights = weights + done * kEach * kRow,
                                             .bias = kNothing,
                                             .blocks = 1,
                                             .output = sums,
                                             .added = done == 0 ? nullptr : sums,
                                             .step = kRow,
                                             .least = nullptr,
                                             .most = nullptr});
    done += some;
  } while (done < parts);
  for (std::size_t channel = parts * kEach; channel < channels; ++channel) {
    const Number* numbers = tiles + parts * kTiles * kEach + channel % kEach;
    for (std::size_t i = 0; i < kTiles * kVectors; ++i) {
      const auto number = Simd::set(numbers[i / kVectors * kEach]);
      const auto factors = Simd::load(weights + channel * kRow + i % kVectors * kEach);
      Number* sum = sums + i * kEach;
      Simd::store(sum, Simd::fma(factors, number, Simd::load(sum)));
    }
  }
}

template <typename Simd, const woven::Form<typename Simd::Number>& form, std::size_t kTiles, std::size_t kVectors>
void multiply_woven(const Product<typename Simd::Number>& of) {
  constexpr std::size_t kRow = kVectors * Simd::kLanes;
  if (of.channels % Simd::kLanes == 0 && of.channels <= kMostSummed<typename Simd::Number>) {
    return form.multiply_panels[kVectors - 1][kTiles - 1]({.panel = of.tiles,
                                                           .panel_step = of.tiles_step,
                                                           .parts = of.channels / Simd::kLanes,
                                                           .weights = of.weights,
                                                           .sums = of.sums,
                                                           .sums_step = kSumStep<Simd>,
                                                           .count = of.count});
  }
  for (std::size_t sum = 0; sum < of.count; ++sum) {
    multiply_in_some<Simd, form, kTiles, kVectors>(of.tiles + sum * of.tiles_step,
                                                   of.weights + sum * of.channels * kRow, of.channels,
                                                   of.sums + sum * kSumStep<Simd>);
  }
}

template <typename Simd, const woven::Form<typename Simd::Number>& form>
consteval Form<typename Simd::Number> woven_form() {
  auto winograd = form_without_products<Simd, woven::kWovenRows, kMostVectors>();
  [&winograd]<std::size_t... kBefore>(std::index_sequence<kBefore...>) {
    ((winograd.multiply[0][kBefore] = multiply_woven<Simd, form, kBefore + 1, 1>), ...);
    ((winograd.multiply[1][kBefore] = multiply_woven<Simd, form, kBefore + 1, 2>), ...);
    ((winograd.multiply[2][kBefore] = multiply_woven<Simd, form, kBefore + 1, 3>), ...);
  }(std::make_index_sequence<woven::kWovenRows>());
  return winograd;
}

}  // namespace kinglet::engine::kernels::winograd
