// SPDX-License-Identifier: Apache-2.0
// Why: the form of the SiLU kernel that any processor has: the twin of the others.
#include <bit>
#include <cmath>
#include <cstdint>

#include "engine/backend/kernels/silu_form.h"
#include "engine/backend/kernels/silu_numbers.h"

namespace kinglet::engine::kernels::silu {
namespace {

struct Scalar {
  using Vector = float;
  static constexpr std::size_t kLanes = 1;
  static float load(const float* from) { return *from; }
  static void store(float* to, float number) { *to = number; }
  static float set(float number) { return number; }
  static float add(float a, float b) { return a + b; }
  static float subtract(float a, float b) { return a - b; }
  static float multiply(float a, float b) { return a * b; }
  static float divide(float a, float b) { return a / b; }
  static float fma(float a, float b, float c) { return std::fma(a, b, c); }
  // The first operand comes back where it is not a number.
  static float max(float a, float b) { return a < b ? b : a; }
  static float min(float a, float b) { return b < a ? b : a; }
  static float rounded(float a) { return std::rint(a); }
  // By the exponent alone: what comes out must be a number with all its digits.
  static float times_two_to(float a, float n) {
    if (std::isnan(n)) return n;
    return std::bit_cast<float>(std::bit_cast<std::int32_t>(a) + static_cast<std::int32_t>(n) * (1 << 23));
  }
};

}  // namespace

void run_scalar(const float* from, float* to, std::size_t count) { run<Scalar>(from, to, count); }

}  // namespace kinglet::engine::kernels::silu
