// SPDX-License-Identifier: Apache-2.0
// Why: the vector type of processors with AVX2 and FMA, for kernels whose arithmetic is written once. Each
// file that includes it is compiled for its processor and has a copy of its own, so that nobody else gets to run it.
#pragma once

#include <immintrin.h>

#include <cstddef>

namespace kinglet::engine::kernels {
namespace {

struct Avx2 {
  using Number = float;
  using Vector = __m256;
  static constexpr std::size_t kLanes = 8;
  static Vector load(const float* from) { return _mm256_loadu_ps(from); }
  static void store(float* to, Vector numbers) { _mm256_storeu_ps(to, numbers); }
  // The first `count`, fewer than there are.
  static void store_first(float* to, Vector numbers, std::size_t count) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    _mm256_maskstore_ps(to, _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lanes), numbers);
  }
  static Vector set(float number) { return _mm256_set1_ps(number); }
  static Vector add(Vector a, Vector b) { return _mm256_add_ps(a, b); }
  static Vector subtract(Vector a, Vector b) { return _mm256_sub_ps(a, b); }
  static Vector multiply(Vector a, Vector b) { return _mm256_mul_ps(a, b); }
  static Vector divide(Vector a, Vector b) { return _mm256_div_ps(a, b); }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
  static Vector fnma(Vector a, Vector b, Vector c) { return _mm256_fnmadd_ps(a, b, c); }
  // The second operand comes back where one is not a number.
  static Vector max(Vector a, Vector b) { return _mm256_max_ps(b, a); }
  static Vector min(Vector a, Vector b) { return _mm256_min_ps(b, a); }
  static Vector rounded(Vector a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static Vector times_two_to(Vector a, Vector n) {
    const __m256i exponent = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(a), exponent));
  }
};

}  // namespace
}  // namespace kinglet::engine::kernels
