// SPDX-License-Identifier: Apache-2.0
// Why: the form of the Winograd kernel for ARM's 64-bit processors, which all have these vectors.
#if defined(__aarch64__)
#include "engine/backend/kernels/vectors/neon.h"
#include "engine/backend/kernels/winograd/transforms.h"

namespace kinglet::engine::kernels::winograd {
namespace {

template <std::size_t kTiles, std::size_t kVectors>
using Sums = float32x4_t[kTiles][kVectors];

// One channel, whose numbers stand in a lane each.
template <int kLane, std::size_t kTiles, std::size_t kVectors>
void add_channel(Sums<kTiles, kVectors>& sums, const float32x4_t (&numbers)[kTiles], const float* weights) {
  float32x4_t factors[kVectors];
  KINGLET_UNROLL
  for (std::size_t v = 0; v < kVectors; ++v) factors[v] = vld1q_f32(weights + v * Neon::kLanes);
  KINGLET_UNROLL
  for (std::size_t tile = 0; tile < kTiles; ++tile) {
    KINGLET_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v)
      sums[tile][v] = vfmaq_laneq_f32(sums[tile][v], factors[v], numbers[tile], kLane);
  }
}

// Reads the numbers of four channels at once and multiplies by lane.
template <std::size_t kTiles, std::size_t kVectors>
void multiply_by_lanes(const Product& of) {
  constexpr std::size_t kRow = kVectors * Neon::kLanes;
  Sums<kTiles, kVectors> sums;
  clear<Neon>(sums);
  const float* tiles = of.tiles;
  const float* weights = of.weights;
  std::size_t left = of.channels;
  float32x4_t numbers[kTiles];
  for (; left >= Neon::kLanes; left -= Neon::kLanes) {
    KINGLET_UNROLL
    for (std::size_t tile = 0; tile < kTiles; ++tile) numbers[tile] = vld1q_f32(tiles + tile * Neon::kLanes);
    add_channel<0, kTiles, kVectors>(sums, numbers, weights);
    add_channel<1, kTiles, kVectors>(sums, numbers, weights + kRow);
    add_channel<2, kTiles, kVectors>(sums, numbers, weights + 2 * kRow);
    add_channel<3, kTiles, kVectors>(sums, numbers, weights + 3 * kRow);
    tiles += kTiles * Neon::kLanes;
    weights += Neon::kLanes * kRow;
  }
  for (std::size_t i = 0; i < left; ++i, weights += kRow) {
    KINGLET_UNROLL
    for (std::size_t tile = 0; tile < kTiles; ++tile) numbers[tile] = vdupq_n_f32(tiles[tile * Neon::kLanes + i]);
    add_channel<0, kTiles, kVectors>(sums, numbers, weights);
  }
  store_all<Neon>(of.sums, sums);
}

}  // namespace

constexpr Form kNeon{
    .lanes = Neon::kLanes,
    .tiles = 8,
    .two = kTransforms<Neon, 2>,
    .four = kTransforms<Neon, 4>,
    .multiply = {{multiply_by_lanes<1, 1>, multiply_by_lanes<2, 1>, multiply_by_lanes<3, 1>, multiply_by_lanes<4, 1>,
                  multiply_by_lanes<5, 1>, multiply_by_lanes<6, 1>, multiply_by_lanes<7, 1>, multiply_by_lanes<8, 1>},
                 {multiply_by_lanes<1, 2>, multiply_by_lanes<2, 2>, multiply_by_lanes<3, 2>, multiply_by_lanes<4, 2>,
                  multiply_by_lanes<5, 2>, multiply_by_lanes<6, 2>, multiply_by_lanes<7, 2>, multiply_by_lanes<8, 2>}}};

}  // namespace kinglet::engine::kernels::winograd
#endif
