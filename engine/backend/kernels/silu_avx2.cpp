// SPDX-License-Identifier: Apache-2.0
// Why: the form of the SiLU kernel for processors with AVX2 and FMA. Compiled for them (engine/CMakeLists.txt).
#if defined(__x86_64__)
#include <immintrin.h>

#include "engine/backend/kernels/silu_form.h"
#include "engine/backend/kernels/silu_numbers.h"

namespace kinglet::engine::kernels::silu {
namespace {

struct Avx2 {
  using Vector = __m256;
  static constexpr std::size_t kLanes = 8;
  static Vector load(const float* from) { return _mm256_loadu_ps(from); }
  static void store(float* to, Vector numbers) { _mm256_storeu_ps(to, numbers); }
  static Vector set(float number) { return _mm256_set1_ps(number); }
  static Vector add(Vector a, Vector b) { return _mm256_add_ps(a, b); }
  static Vector subtract(Vector a, Vector b) { return _mm256_sub_ps(a, b); }
  static Vector multiply(Vector a, Vector b) { return _mm256_mul_ps(a, b); }
  static Vector divide(Vector a, Vector b) { return _mm256_div_ps(a, b); }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
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

void run_avx2(const float* from, float* to, std::size_t count) { run<Avx2>(from, to, count); }

}  // namespace kinglet::engine::kernels::silu
#endif
