// SPDX-License-Identifier: Apache-2.0
// Why: the vector type of ARM's 64-bit processors, for kernels whose arithmetic is written once. Each
// file that includes it is compiled for its processor and has a copy of its own, so that nobody else gets to run it.
#pragma once

#include <arm_neon.h>

#include <cstddef>

namespace kinglet::engine::kernels {
namespace {

struct Neon {
  using Number = float;
  using Vector = float32x4_t;
  static constexpr std::size_t kLanes = 4;
  static Vector load(const float* from) { return vld1q_f32(from); }
  static void store(float* to, Vector numbers) { vst1q_f32(to, numbers); }
  static Vector set(float number) { return vdupq_n_f32(number); }
  static Vector add(Vector a, Vector b) { return vaddq_f32(a, b); }
  static Vector subtract(Vector a, Vector b) { return vsubq_f32(a, b); }
  static Vector multiply(Vector a, Vector b) { return vmulq_f32(a, b); }
  static Vector divide(Vector a, Vector b) { return vdivq_f32(a, b); }
  static Vector fma(Vector a, Vector b, Vector c) { return vfmaq_f32(c, a, b); }
  static Vector fnma(Vector a, Vector b, Vector c) { return vfmsq_f32(c, a, b); }
  static Vector max(Vector a, Vector b) { return vmaxq_f32(a, b); }
  static Vector min(Vector a, Vector b) { return vminq_f32(a, b); }
  static Vector rounded(Vector a) { return vrndnq_f32(a); }
  // Becomes a whole number with 23 places behind the point: in the place of an exponent at once.
  static Vector times_two_to(Vector a, Vector n) {
    return vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(a), vcvtq_n_s32_f32(n, 23)));
  }
};

}  // namespace
}  // namespace kinglet::engine::kernels
