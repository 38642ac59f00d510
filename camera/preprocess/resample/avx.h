// SPDX-License-Identifier: Apache-2.0
// Why: what loops for AVX2 and AVX-512 have in common: how they are compiled, loads, and where they run. A function has
// its processor's instructions by an attribute; all else in these files runs everywhere.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstdint>
#include <span>

#define KINGLET_AVX2 __attribute__((target("avx2")))
#define KINGLET_AVX512 __attribute__((target("avx2,avx512f,avx512bw,avx512vl,avx512vnni")))

namespace kinglet::camera {

KINGLET_AVX2 inline __m256i load_32(const std::uint8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
KINGLET_AVX2 inline void store_32(std::uint8_t* to, __m256i value) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), value);
}

// Of kernels whose last ones are for AVX2 and for every processor, and the others for AVX-512: those that this one can
// run.
template <typename Kernels>
[[nodiscard]] std::span<const Kernels> those_here(std::span<const Kernels> all) {
  const bool avx512 = __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
                      __builtin_cpu_supports("avx512vnni") != 0;
  if (!avx512) all = all.last(2);
  if (!__builtin_cpu_supports("avx2")) all = all.last(1);
  return all;
}

}  // namespace kinglet::camera
#endif
