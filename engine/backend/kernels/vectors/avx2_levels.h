// SPDX-License-Identifier: Apache-2.0
// Why: sums of 8-bit layers become levels, as processors with AVX2 have it for sixteen at once. Each file that includes
// it is compiled for its processor and has a copy of its own, so that nobody else gets to run it.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "engine/backend/kernels/vectors/level_bounds.h"

namespace kinglet::engine::kernels {
namespace {

// XNNPACK's rounding: the product in float, cut, to the nearest even level. Where bounds are open, bytes cut by
// themselves.
class Avx2Levels {
 public:
  explicit Avx2Levels(const LevelBounds& bounds)
      : least_(_mm256_set1_ps(static_cast<float>(bounds.least[0] - bounds.zero[0]))),
        most_(_mm256_set1_ps(static_cast<float>(bounds.most[0] - bounds.zero[0]))),
        zero_(_mm256_set1_epi16(bounds.zero[0])),
        is_open_(bounds.is_open) {}

  // Eight sums and the next eight, sixteen factors and levels.
  void store(__m256i first, __m256i second, const float* factors, std::int8_t* to) const {
    const __m256i both = _mm256_packs_epi32(above_zero(first, _mm256_loadu_ps(factors)),
                                            above_zero(second, _mm256_loadu_ps(factors + 8)));
    store_words(_mm256_permute4x64_epi64(both, 0b11'01'10'00), to);
  }
  // Eight sums, factors and levels.
  void store(__m256i sums, const float* factors, std::int8_t* to) const {
    const __m256i words = above_zero(sums, _mm256_loadu_ps(factors));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to),
                     levels_of(_mm256_permute4x64_epi64(_mm256_packs_epi32(words, words), 0b11'01'10'00)));
  }
  // Sums and factors of outputs 0 to 3 and 8 to 11, and of the others.
  void store_halves(const __m256i (&sums)[2], const __m256i (&factors)[2], std::int8_t* to) const {
    store_words(_mm256_packs_epi32(above_zero(sums[0], _mm256_castsi256_ps(factors[0])),
                                   above_zero(sums[1], _mm256_castsi256_ps(factors[1]))),
                to);
  }

 private:
  void store_words(__m256i words, std::int8_t* to) const {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), levels_of(words));
  }
  [[nodiscard]] __m128i levels_of(__m256i words) const {
    const __m256i levels = _mm256_adds_epi16(words, zero_);
    return _mm_packs_epi16(_mm256_castsi256_si128(levels), _mm256_extracti128_si256(levels, 1));
  }
  [[nodiscard]] __m256i above_zero(__m256i sums, __m256 factors) const {
    const __m256 scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(sums), factors);
    if (is_open_) return _mm256_cvtps_epi32(scaled);
    return _mm256_cvtps_epi32(_mm256_min_ps(_mm256_max_ps(scaled, least_), most_));
  }

  __m256 least_, most_;
  __m256i zero_;
  bool is_open_;
};

}  // namespace
}  // namespace kinglet::engine::kernels
