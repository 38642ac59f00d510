// SPDX-License-Identifier: Apache-2.0
// Why: what a kernel of 8-bit convolutions keeps of a layer is one packed piece, so that the next start finds all of it
// and reads no weights: the numbers, and whether they fit 16 bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "engine/backend/kernels/convolution_parts.h"
#include "engine/backend/packed_weights.h"

namespace kinglet::engine::kernels {

// In the order of the piece, whose first bytes say whether the layer fits 16 bits.
template <typename Bias, typename Factor, typename Weight>
struct LayerS8Of {
  std::span<Bias> bias;
  std::span<Factor> factors;
  std::span<Weight> weights;
};
using LayerS8 = LayerS8Of<std::int32_t, float, std::int8_t>;
using PackedLayerS8 = LayerS8Of<const std::int32_t, const float, const std::int8_t>;

struct LayerS8Sizes {
  static constexpr std::size_t kHead = 64;

  std::size_t bias = 0, factors = 0, weights = 0;

  [[nodiscard]] std::size_t bytes() const {
    return kHead + bias * sizeof(std::int32_t) + factors * sizeof(float) + weights;
  }
  template <typename Layer, typename Byte>
  [[nodiscard]] Layer in(Byte* piece) const {
    auto* after_bias = piece + kHead + bias * sizeof(std::int32_t);
    auto* after_factors = after_bias + factors * sizeof(float);
    return {.bias = {reinterpret_cast<decltype(Layer::bias)::pointer>(piece + kHead), bias},
            .factors = {reinterpret_cast<decltype(Layer::factors)::pointer>(after_bias), factors},
            .weights = {reinterpret_cast<decltype(Layer::weights)::pointer>(after_factors), weights}};
  }
};

// Of a processor; `wide` for numbers that do not fit 16 bits. Both read the same packed ones.
template <typename Form>
struct FormsS8 {
  const Form* fits;
  const Form* wide;
};

struct FoundLayerS8 {
  PackedLayerS8 numbers;
  bool fits = false;  // fits_16_bits
};

// What was packed before by `maker`, or what pack(LayerS8) makes of zeros.
template <typename Pack>
FoundLayerS8 packed_layer_s8(PackedWeights& weights, std::uint64_t maker, const LayerS8Sizes& sizes,
                             const ConvolutionS8& work, const Pack& pack) {
  const std::byte* piece = packed_piece(weights, maker, sizes.bytes(), [&](std::span<std::byte> room) {
    std::memset(room.data(), 0, room.size());
    room[0] = std::byte{fits_16_bits(work)};
    pack(sizes.in<LayerS8>(room.data()));
  });
  return {.numbers = sizes.in<PackedLayerS8>(piece), .fits = piece[0] != std::byte{0}};
}

// No level of a layer is further from the one of zero: of `numbers` bytes times weights and the bias.
[[nodiscard]] inline double largest_level(const PackedLayerS8& layer, std::size_t numbers) {
  constexpr double kProduct = 128 * 128;
  double bias = 0, factor = 0;
  for (const std::int32_t one : layer.bias) bias = std::max(bias, std::abs(static_cast<double>(one)));
  for (const float one : layer.factors) factor = std::max(factor, std::abs(static_cast<double>(one)));
  return (bias + kProduct * static_cast<double>(numbers)) * factor;
}

}  // namespace kinglet::engine::kernels
