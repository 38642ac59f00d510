// SPDX-License-Identifier: Apache-2.0
// Why: the form of the Winograd kernel for processors with AVX-512. Compiled for them (engine/CMakeLists.txt).
#if defined(__x86_64__)
#include <immintrin.h>

#include "engine/backend/kernels/winograd_transforms.h"

namespace kinglet::engine::kernels::winograd {
namespace {

struct Avx512 {
  using Vector = __m512;
  static constexpr std::size_t kLanes = 16;
  static Vector load(const float* from) { return _mm512_loadu_ps(from); }
  static void store(float* to, Vector numbers) { _mm512_storeu_ps(to, numbers); }
  static Vector set(float number) { return _mm512_set1_ps(number); }
  static Vector add(Vector a, Vector b) { return _mm512_add_ps(a, b); }
  static Vector subtract(Vector a, Vector b) { return _mm512_sub_ps(a, b); }
  static Vector multiply(Vector a, Vector b) { return _mm512_mul_ps(a, b); }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
  static Vector fnma(Vector a, Vector b, Vector c) { return _mm512_fnmadd_ps(a, b, c); }
  // The second operand comes back where one is not a number.
  static Vector max(Vector a, Vector b) { return _mm512_max_ps(b, a); }
  static Vector min(Vector a, Vector b) { return _mm512_min_ps(b, a); }
};

}  // namespace

constexpr Form kAvx512{
    .lanes = Avx512::kLanes,
    .tiles = 12,
    .two = kTransforms<Avx512, 2>,
    .four = kTransforms<Avx512, 4>,
    .multiply = {{multiply<Avx512, 1, 1>, multiply<Avx512, 2, 1>, multiply<Avx512, 3, 1>, multiply<Avx512, 4, 1>,
                  multiply<Avx512, 5, 1>, multiply<Avx512, 6, 1>, multiply<Avx512, 7, 1>, multiply<Avx512, 8, 1>,
                  multiply<Avx512, 9, 1>, multiply<Avx512, 10, 1>, multiply<Avx512, 11, 1>, multiply<Avx512, 12, 1>},
                 {multiply<Avx512, 1, 2>, multiply<Avx512, 2, 2>, multiply<Avx512, 3, 2>, multiply<Avx512, 4, 2>,
                  multiply<Avx512, 5, 2>, multiply<Avx512, 6, 2>, multiply<Avx512, 7, 2>, multiply<Avx512, 8, 2>,
                  multiply<Avx512, 9, 2>, multiply<Avx512, 10, 2>, multiply<Avx512, 11, 2>, multiply<Avx512, 12, 2>}}};

}  // namespace kinglet::engine::kernels::winograd
#endif
