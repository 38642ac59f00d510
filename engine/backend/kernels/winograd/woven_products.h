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

template <typename Simd, const woven::Form<typename Simd::Number>& form, std::size_t kTiles, std::size_t kVectors>
void multiply_woven(const Product<typename Simd::Number>& of) {
  using Number = typename Simd::Number;
  constexpr std::size_t kEach = Simd::kLanes;
  constexpr std::size_t kRow = kVectors * kEach;
  constexpr std::size_t kMostParts = kMostSummed<Number> / kEach;
  constexpr Number kNothing[kRow] = {};
  const std::size_t parts = of.channels / kEach;
  std::size_t done = 0;
  do {
    const std::size_t some = parts - done < kMostParts ? parts - done : kMostParts;
    form.multiply[kVectors - 1][kTiles - 1]({.panel = of.tiles + done * kTiles * kEach,
                                             .laid = nullptr,
                                             .parts = some,
                                             .weights = of.weights + done * kEach * kRow,
                                             .bias = kNothing,
                                             .blocks = 1,
                                             .output = of.sums,
                                             .added = done == 0 ? nullptr : of.sums,
                                             .step = kRow,
                                             .least = nullptr,
                                             .most = nullptr});
    done += some;
  } while (done < parts);
  // Channels that fill no vector.
  for (std::size_t channel = parts * kEach; channel < of.channels; ++channel) {
    const Number* numbers = of.tiles + parts * kTiles * kEach + channel % kEach;
    for (std::size_t i = 0; i < kTiles * kVectors; ++i) {
      const auto number = Simd::set(numbers[i / kVectors * kEach]);
      const auto factors = Simd::load(of.weights + channel * kRow + i % kVectors * kEach);
      Number* sum = of.sums + i * kEach;
      Simd::store(sum, Simd::fma(factors, number, Simd::load(sum)));
    }
  }
}

template <typename Simd, const woven::Form<typename Simd::Number>& form>
consteval Form<typename Simd::Number> woven_form() {
  return []<std::size_t... kBefore>(std::index_sequence<kBefore...>) {
    return Form<typename Simd::Number>{
        .lanes = Simd::kLanes,
        .tiles = woven::kWovenRows,
        .two = kTransforms<Simd, kTwo>,
        .four = kTransforms<Simd, kFour>,
        .strided_two = kTransforms<Simd, kStridedTwo>,
        .multiply = {{multiply_woven<Simd, form, kBefore + 1, 1>...}, {multiply_woven<Simd, form, kBefore + 1, 2>...}}};
  }(std::make_index_sequence<woven::kWovenRows>());
}

}  // namespace kinglet::engine::kernels::winograd
