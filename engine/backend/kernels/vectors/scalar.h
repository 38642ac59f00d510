// SPDX-License-Identifier: Apache-2.0
// Why: the vector type of any processor, a number at a time: the twin of the others, for kernels whose arithmetic is
// written once. Each file that includes it is compiled for its processor and has a copy of its own, so that nobody else
// gets to run it.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace kinglet::engine::kernels {
namespace {

struct Scalar {
  using Number = float;
  using Vector = float;
  static constexpr std::size_t kLanes = 1;
  static float load(const float* from) { return *from; }
  static void store(float* to, float number) { *to = number; }
  static void store_first(float* /*to*/, float /*number*/, std::size_t /*count*/) {}  // one is all
  static float set(float number) { return number; }
  static float add(float a, float b) { return a + b; }
  static float subtract(float a, float b) { return a - b; }
  static float multiply(float a, float b) { return a * b; }
  static float divide(float a, float b) { return a / b; }
  static float fma(float a, float b, float c) { return std::fma(a, b, c); }
  static float fnma(float a, float b, float c) { return std::fma(-a, b, c); }
  // The first operand comes back where it is not a number.
#ifdef __aarch64__
  // Of -0 and 0 its instruction takes 0, that of x86-64 what came first.
  static float max(float a, float b) { return a <= b ? b : a; }
#else
  static float max(float a, float b) { return a < b ? b : a; }
#endif
  static float min(float a, float b) { return b < a ? b : a; }
  static float rounded(float a) { return std::rint(a); }
  // By the exponent alone: what comes out must be a number with all its digits.
  static float times_two_to(float a, float n) {
    if (std::isnan(n)) return n;
    return std::bit_cast<float>(std::bit_cast<std::int32_t>(a) + static_cast<std::int32_t>(n) * (1 << 23));
  }
};

}  // namespace
}  // namespace kinglet::engine::kernels
