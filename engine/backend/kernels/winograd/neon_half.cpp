// SPDX-License-Identifier: Apache-2.0
// Why: the form of the Winograd kernel of float16 for ARM's processors that compute in it. Compiled for them
// (engine/CMakeLists.txt).
#if defined(__aarch64__)
#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "engine/backend/kernels/winograd/woven_products.h"
#include "engine/graph/data_type.h"

namespace kinglet::engine::kernels::winograd {
namespace {

// Numbers are copied, since to the compiler a Half and what its vectors hold are strangers.
struct NeonHalf {
  using Number = Half;
  using Vector = float16x8_t;
  static constexpr std::size_t kLanes = 8;
  static Vector load(const Half* from) {
    Vector numbers;
    __builtin_memcpy(&numbers, from, sizeof(numbers));
    return numbers;
  }
  static void store(Half* to, Vector numbers) { __builtin_memcpy(to, &numbers, sizeof(numbers)); }
  static Vector set(Half number) { return vreinterpretq_f16_u16(vdupq_n_u16(static_cast<std::uint16_t>(number))); }
  static Vector set(float number) { return vdupq_n_f16(static_cast<float16_t>(number)); }
  static Vector add(Vector a, Vector b) { return vaddq_f16(a, b); }
  static Vector subtract(Vector a, Vector b) { return vsubq_f16(a, b); }
  static Vector multiply(Vector a, Vector b) { return vmulq_f16(a, b); }
  static Vector fma(Vector a, Vector b, Vector c) { return vfmaq_f16(c, a, b); }
  static Vector fnma(Vector a, Vector b, Vector c) { return vfmsq_f16(c, a, b); }
  static Vector max(Vector a, Vector b) { return vmaxq_f16(a, b); }
  static Vector min(Vector a, Vector b) { return vminq_f16(a, b); }
};

}  // namespace

constexpr Form<Half> kNeonHalf = woven_form<NeonHalf, woven::kNeonHalf>();

}  // namespace kinglet::engine::kernels::winograd
#endif
