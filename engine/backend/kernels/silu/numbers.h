// SPDX-License-Identifier: Apache-2.0
// Why: SiLU's arithmetic, written once over a vector type, so that every form has the bits of its twin. Each file that
// has a vector type includes this; nothing else does.
//
//   silu(x) = x / (1 + exp(-x)),   exp(-x) = 2^n * exp(2z),   n = -x / ln 2 to the nearest whole number
//   exp(2z) = (z coth z + z) / (z coth z - z) = (E + g) / (E - g),   E = g^4 + p g^2 + q
//
// with z in [-ln 2 / 4, ln 2 / 4] and g = -z * 2 kStep / ln 2. coth's series has E's form for the right step alone,
// which leaves no factor but 1: then silu(x) = x (E - g) / ((E - g) + 2^n (E + g)), one division and no power series.
// The step was chosen among those of 16 bits, whose multiples by n are exact, for kSlope, which is kStep / ln 2 within
// 1e-10; p and q by the least largest error, 9.4e-9 of exp.
#pragma once

#include <cstddef>

namespace kinglet::engine::kernels::silu {

// Below it the answer is that of it, -2e-37. Above the other exp(-x) adds nothing to 1.
inline constexpr float kLeast = -89;
inline constexpr float kMost = 64;

inline constexpr float kOctaves = -0x1.715476p+0F;  // -1 / ln 2
inline constexpr float kStep = 0x1.8df4p-4F;
inline constexpr float kSlope = 0x1.1f1p-3F;
inline constexpr float kP = -0x1.3064e2p+0F;
inline constexpr float kQ = -0x1.1f1p-2F;

template <typename Simd>
typename Simd::Vector silu_of(typename Simd::Vector x) {
  using Vector = typename Simd::Vector;
  const Vector high = Simd::max(x, Simd::set(kLeast));
  const Vector inner = Simd::min(high, Simd::set(kMost));
  const Vector n = Simd::rounded(Simd::multiply(inner, Simd::set(kOctaves)));
  const Vector g = Simd::fma(inner, Simd::set(kSlope), Simd::multiply(n, Simd::set(kStep)));
  const Vector square = Simd::multiply(g, g);
  const Vector factor = Simd::add(square, Simd::set(kP));
  const Vector above = Simd::fma(square, factor, Simd::add(Simd::set(kQ), g));
  const Vector below = Simd::fma(square, factor, Simd::subtract(Simd::set(kQ), g));
  const Vector sum = Simd::add(below, Simd::times_two_to(above, n));
  return Simd::divide(Simd::multiply(high, below), sum);
}

template <typename Simd>
void run(const float* from, float* to, std::size_t count) {
  constexpr std::size_t kAtOnce = 4;  // vectors: as long as one waits for its division, others go on
  constexpr std::size_t kStride = kAtOnce * Simd::kLanes;
  using Vector = typename Simd::Vector;
  for (const float* const end = from + count / kStride * kStride; from != end; from += kStride, to += kStride) {
    Vector numbers[kAtOnce];
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kAtOnce; ++i) numbers[i] = silu_of<Simd>(Simd::load(from + i * Simd::kLanes));
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kAtOnce; ++i) Simd::store(to + i * Simd::kLanes, numbers[i]);
  }
  count %= kStride;
  for (; count >= Simd::kLanes; count -= Simd::kLanes, from += Simd::kLanes, to += Simd::kLanes)
    Simd::store(to, silu_of<Simd>(Simd::load(from)));
  if (count == 0) return;
  float last[Simd::kLanes];
  Simd::store(last, silu_of<Simd>(Simd::load(from)));
  for (std::size_t i = 0; i < count; ++i) to[i] = last[i];
}

}  // namespace kinglet::engine::kernels::silu
