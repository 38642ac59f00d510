// SPDX-License-Identifier: Apache-2.0
// Why: the form of the Winograd kernel for ARM's 64-bit processors, which all have these vectors.
#if defined(__aarch64__)
#include "engine/backend/kernels/vectors/neon.h"
#include "engine/backend/kernels/winograd/transforms.h"
#include "engine/backend/kernels/woven/form.h"

namespace kinglet::engine::kernels::winograd {
namespace {

// A group's tiles lie as the rows of a panel do.
template <std::size_t kTiles, std::size_t kVectors>
void multiply_woven(const Product& of) {
  constexpr std::size_t kRow = kVectors * Neon::kLanes;
  constexpr float kNothing[kRow] = {};
  const std::size_t quads = of.channels / woven::kQuad;
  woven::kNeon.multiply[kVectors - 1][kTiles - 1]({.panel = of.tiles,
                                                   .parts = quads,
                                                   .weights = of.weights,
                                                   .bias = kNothing,
                                                   .blocks = 1,
                                                   .output = of.sums,
                                                   .added = nullptr,
                                                   .step = kRow,
                                                   .least = nullptr,
                                                   .most = nullptr});
  // Channels that fill no quad.
  for (std::size_t channel = quads * woven::kQuad; channel < of.channels; ++channel) {
    const float* numbers = of.tiles + quads * kTiles * woven::kQuad + channel % woven::kQuad;
    for (std::size_t i = 0; i < kTiles * kVectors; ++i) {
      const float32x4_t number = vdupq_n_f32(numbers[i / kVectors * woven::kQuad]);
      const float32x4_t factors = vld1q_f32(of.weights + channel * kRow + i % kVectors * Neon::kLanes);
      float* sum = of.sums + i * Neon::kLanes;
      vst1q_f32(sum, vfmaq_f32(vld1q_f32(sum), factors, number));
    }
  }
}

}  // namespace

constexpr Form kNeon{
    .lanes = Neon::kLanes,
    .tiles = woven::kMostRows,
    .two = kTransforms<Neon, 2>,
    .four = kTransforms<Neon, 4>,
    .multiply = {{multiply_woven<1, 1>, multiply_woven<2, 1>, multiply_woven<3, 1>, multiply_woven<4, 1>,
                  multiply_woven<5, 1>, multiply_woven<6, 1>, multiply_woven<7, 1>},
                 {multiply_woven<1, 2>, multiply_woven<2, 2>, multiply_woven<3, 2>, multiply_woven<4, 2>,
                  multiply_woven<5, 2>, multiply_woven<6, 2>, multiply_woven<7, 2>}}};

}  // namespace kinglet::engine::kernels::winograd
#endif
