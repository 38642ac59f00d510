// SPDX-License-Identifier: Apache-2.0
// Why: the vector type of processors with AVX-512, for kernels whose arithmetic is written once. Each
// file that includes it is compiled for its processor and has a copy of its own, so that nobody else gets to run it.
#pragma once

#include <immintrin.h>

#include <cstddef>

namespace kinglet::engine::kernels {
namespace {

struct Avx512 {
  using Number = float;
  using Vector = __m512;
  static constexpr std::size_t kLanes = 16;
  static Vector load(const float* from) { return _mm512_loadu_ps(from); }
  static void store(float* to, Vector numbers) { _mm512_storeu_ps(to, numbers); }
  // The first `count`, fewer than there are.
  static void store_first(float* to, Vector numbers, std::size_t count) {
    _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1U << count) - 1), numbers);
  }
  static Vector set(float number) { return _mm512_set1_ps(number); }
  static Vector add(Vector a, Vector b) { return _mm512_add_ps(a, b); }
  static Vector subtract(Vector a, Vector b) { return _mm512_sub_ps(a, b); }
  static Vector multiply(Vector a, Vector b) { return _mm512_mul_ps(a, b); }
  static Vector divide(Vector a, Vector b) { return _mm512_div_ps(a, b); }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
  static Vector fnma(Vector a, Vector b, Vector c) { return _mm512_fnmadd_ps(a, b, c); }
  // The second operand comes back where one is not a number.
  static Vector max(Vector a, Vector b) { return _mm512_max_ps(b, a); }
  static Vector min(Vector a, Vector b) { return _mm512_min_ps(b, a); }
  static Vector rounded(Vector a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static Vector times_two_to(Vector a, Vector n) {
    const __m512i exponent = _mm512_slli_epi32(_mm512_cvtps_epi32(n), 23);
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(a), exponent));
  }
};

}  // namespace
}  // namespace kinglet::engine::kernels
