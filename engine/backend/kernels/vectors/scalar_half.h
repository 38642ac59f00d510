// SPDX-License-Identifier: Apache-2.0
// Why: arithmetic of float16 as ARM has it while small numbers are flushed, on any processor: rounded once, and what is
// too small for full precision is zero, before the rounding. Sums and products of two are exact in double wherever it
// matters to the rounding. For the twins of kernels of float16.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "engine/graph/float16.h"

namespace kinglet::engine::kernels {
namespace {

struct ScalarHalf {
  using Number = Half;
  using Vector = Half;
  static constexpr std::size_t kLanes = 1;
  static Half load(const Half* from) { return *from; }
  static void store(Half* to, Half number) { *to = number; }
  static void store_first(Half* /*to*/, Half /*number*/, std::size_t /*count*/) {}  // one is all
  static Half set(Half number) { return number; }
  static Half set(float number) { return to_half(number); }
  static Half add(Half a, Half b) { return rounded(wide(a) + wide(b)); }
  static Half subtract(Half a, Half b) { return rounded(wide(a) - wide(b)); }
  static Half multiply(Half a, Half b) { return rounded(wide(a) * wide(b)); }
  static Half fma(Half a, Half b, Half c) { return rounded(wide(a) * wide(b) + wide(c)); }
  static Half fnma(Half a, Half b, Half c) { return rounded(wide(c) - wide(a) * wide(b)); }
  // A first operand that is no number stays so, a second one gives the first; of two zeros -0 is the smaller one.
  static Half max(Half a, Half b) {
    const double x = wide(a), y = wide(b);
    return to_half(static_cast<float>(x < y || (x == y && std::signbit(x)) ? y : x));
  }
  static Half min(Half a, Half b) {
    const double x = wide(a), y = wide(b);
    return to_half(static_cast<float>(y < x || (x == y && !std::signbit(x)) ? y : x));
  }

 private:
  static double flushed(double x) { return std::abs(x) < 0x1p-14 ? std::copysign(0.0, x) : x; }
  static double wide(Half number) { return flushed(double{to_float(number)}); }
  // To the nearest of 11 bits, to the even one half way.
  static Half rounded(double exact) {
    constexpr unsigned kDropped = 42;  // of 53
    constexpr std::uint64_t kBelow = (std::uint64_t{1} << kDropped) - 1;
    const auto bits = std::bit_cast<std::uint64_t>(flushed(exact));
    const std::uint64_t near = bits + (kBelow >> 1U) + (bits >> kDropped & 1U);
    return to_half(static_cast<float>(std::bit_cast<double>(near & ~kBelow)));
  }
};

}  // namespace
}  // namespace kinglet::engine::kernels
