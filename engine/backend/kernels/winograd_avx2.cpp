// SPDX-License-Identifier: Apache-2.0
// Why: the form of the Winograd kernel for processors with AVX2 and FMA. Compiled for them (engine/CMakeLists.txt).
#if defined(__x86_64__)
#include <immintrin.h>

#include "engine/backend/kernels/winograd_transforms.h"

namespace kinglet::engine::kernels::winograd {
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
  static Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
  static Vector fnma(Vector a, Vector b, Vector c) { return _mm256_fnmadd_ps(a, b, c); }
  // The second operand comes back where one is not a number.
  static Vector max(Vector a, Vector b) { return _mm256_max_ps(b, a); }
  static Vector min(Vector a, Vector b) { return _mm256_min_ps(b, a); }
};

}  // namespace

constexpr Form kAvx2{.lanes = Avx2::kLanes,
                     .tiles = 6,
                     .two = kTransforms<Avx2, 2>,
                     .four = kTransforms<Avx2, 4>,
                     .multiply = {{multiply<Avx2, 1, 1>, multiply<Avx2, 2, 1>, multiply<Avx2, 3, 1>,
                                   multiply<Avx2, 4, 1>, multiply<Avx2, 5, 1>, multiply<Avx2, 6, 1>},
                                  {multiply<Avx2, 1, 2>, multiply<Avx2, 2, 2>, multiply<Avx2, 3, 2>,
                                   multiply<Avx2, 4, 2>, multiply<Avx2, 5, 2>, multiply<Avx2, 6, 2>}}};

}  // namespace kinglet::engine::kernels::winograd
#endif
