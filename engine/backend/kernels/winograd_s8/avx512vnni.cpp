// SPDX-License-Identifier: Apache-2.0
// Why: the form of the Winograd kernel of 8 bits for processors with AVX-512 VNNI: eight tiles by 32 outputs, two
// channels a product. Compiled for them (engine/CMakeLists.txt).
#if defined(__x86_64__)
#include <immintrin.h>

#include "engine/backend/kernels/winograd_s8/transforms.h"

namespace kinglet::engine::kernels::winograd_s8 {
namespace {

constexpr std::size_t kOfRegister = 16;
constexpr std::size_t kRegisters = kWideLanes / kOfRegister;  // of a tile's sums

__m512i two_channels(const std::int16_t* from) {
  std::int32_t both = 0;
  __builtin_memcpy(&both, from, sizeof both);
  return _mm512_set1_epi32(both);
}

template <std::size_t kTiles>
void multiply(const Product& of) {
  const std::int16_t* numbers = of.tiles;
  const std::int16_t* weights = of.weights;
  __m512i sums[kTiles][kRegisters];
  KINGLET_UNROLL
  for (std::size_t tile = 0; tile < kTiles; ++tile) {
    KINGLET_UNROLL
    for (std::size_t i = 0; i < kRegisters; ++i) sums[tile][i] = _mm512_setzero_si512();
  }
  for (std::size_t vector = 0; vector < of.vectors; ++vector, numbers += kTiles * kWideLanes) {
    for (std::size_t channel = 0; channel < kWideLanes; channel += kTogether, weights += kTogether * kWideLanes) {
      __m512i factors[kRegisters];
      KINGLET_UNROLL
      for (std::size_t i = 0; i < kRegisters; ++i)
        factors[i] = _mm512_loadu_si512(weights + i * kTogether * kOfRegister);
      KINGLET_UNROLL
      for (std::size_t tile = 0; tile < kTiles; ++tile) {
        const __m512i both = two_channels(numbers + tile * kWideLanes + channel);
        KINGLET_UNROLL
        for (std::size_t i = 0; i < kRegisters; ++i)
          sums[tile][i] = _mm512_dpwssd_epi32(sums[tile][i], both, factors[i]);
      }
    }
  }
  KINGLET_UNROLL
  for (std::size_t tile = 0; tile < kTiles; ++tile) {
    KINGLET_UNROLL
    for (std::size_t i = 0; i < kRegisters; ++i)
      _mm512_storeu_si512(of.sums + tile * kWideLanes + i * kOfRegister, sums[tile][i]);
  }
}

// XNNPACK's rounding, as few_channels_s8 has it.
void levels(const LevelsOfTile& of) {
  const int zero = of.bounds->zero[0];
  const __m512 least = _mm512_set1_ps(static_cast<float>(of.bounds->least[0] - zero));
  const __m512 most = _mm512_set1_ps(static_cast<float>(of.bounds->most[0] - zero));
  for (std::size_t i = 0; i < kRegisters; ++i) {
    const __m512 factors = _mm512_loadu_ps(of.factors + i * kOfRegister);
    for (std::size_t at = i * kOfRegister; at < kOutputs * kWideLanes; at += kWideLanes) {
      const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_loadu_si512(of.sums + at)), factors);
      const __m512i above_zero = _mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(scaled, least), most));
      const __m128i bytes = _mm512_cvtepi32_epi8(_mm512_add_epi32(above_zero, _mm512_set1_epi32(zero)));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(of.to + at), bytes);
    }
  }
}

}  // namespace

constexpr Form kAvx512Vnni{.input = transform_input<VectorsOf<kWideLanes>>,
                           .multiply = {multiply<1>, multiply<2>, multiply<3>, multiply<4>, multiply<5>, multiply<6>,
                                        multiply<7>, multiply<8>},
                           .output = transform_output<VectorsOf<kWideLanes>>,
                           .levels = levels};

}  // namespace kinglet::engine::kernels::winograd_s8
#endif
