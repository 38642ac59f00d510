// SPDX-License-Identifier: Apache-2.0
// Why: the form of the Winograd kernel of 8 bits for processors with AVX2: up to six tiles by sixteen outputs, two
// channels a product. Compiled for them (engine/CMakeLists.txt).
#if defined(__x86_64__)
#include <immintrin.h>

#include "engine/backend/kernels/vectors/ahead.h"
#include "engine/backend/kernels/vectors/avx2_levels.h"
#include "engine/backend/kernels/winograd_s8/transforms.h"

namespace kinglet::engine::kernels::winograd_s8 {
namespace {

constexpr std::size_t kOfRegister = 8;
constexpr std::size_t kRegisters = kPairedLanes / kOfRegister;  // of a tile's sums

__m256i two_channels(const std::int16_t* from) {
  std::int32_t both = 0;
  __builtin_memcpy(&both, from, sizeof both);
  return _mm256_set1_epi32(both);
}

template <std::size_t kTiles>
void multiply(const Product& of) {
  const std::int16_t* numbers = of.tiles;
  const std::int16_t* weights = of.weights;
  __m256i sums[kTiles][kRegisters];
  KINGLET_UNROLL
  for (std::size_t tile = 0; tile < kTiles; ++tile) {
    KINGLET_UNROLL
    for (std::size_t i = 0; i < kRegisters; ++i) sums[tile][i] = _mm256_setzero_si256();
  }
  for (std::size_t vector = 0; vector < of.vectors; ++vector, numbers += kTiles * kPairedLanes) {
    for (std::size_t channel = 0; channel < kPairedLanes; channel += kTogether, weights += kTogether * kPairedLanes) {
      __m256i factors[kRegisters];
      ask_for<sizeof factors>(weights, kBytesAhead);
      KINGLET_UNROLL
      for (std::size_t i = 0; i < kRegisters; ++i)
        factors[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights + i * kTogether * kOfRegister));
      KINGLET_UNROLL
      for (std::size_t tile = 0; tile < kTiles; ++tile) {
        const __m256i both = two_channels(numbers + tile * kPairedLanes + channel);
        KINGLET_UNROLL
        for (std::size_t i = 0; i < kRegisters; ++i)
          sums[tile][i] = _mm256_add_epi32(sums[tile][i], _mm256_madd_epi16(both, factors[i]));
      }
    }
  }
  KINGLET_UNROLL
  for (std::size_t tile = 0; tile < kTiles; ++tile) {
    KINGLET_UNROLL
    for (std::size_t i = 0; i < kRegisters; ++i) {
      auto* to = reinterpret_cast<__m256i*>(of.sums + tile * kPairedLanes + i * kOfRegister);
      _mm256_storeu_si256(to, sums[tile][i]);
    }
  }
}

void levels(const LevelsOfTile& of) {
  const Avx2Levels levels(*of.bounds);
  for (std::size_t at = 0; at < kOutputs * kPairedLanes; at += kPairedLanes) {
    const auto* sums = reinterpret_cast<const __m256i*>(of.sums + at);
    levels.store(_mm256_loadu_si256(sums), _mm256_loadu_si256(sums + 1), of.factors, of.to + at);
  }
}

}  // namespace

constexpr Form kAvx2{.input = transform_input<VectorsOf<kPairedLanes>>,
                     .multiply = {multiply<1>, multiply<2>, multiply<3>, multiply<4>, multiply<5>, multiply<6>},
                     .output = transform_output<VectorsOf<kPairedLanes>>,
                     .levels = levels};

}  // namespace kinglet::engine::kernels::winograd_s8
#endif
