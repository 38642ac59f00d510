// SPDX-License-Identifier: Apache-2.0
// Why: the form of the Winograd kernel that any processor has: the twin of the others.
#include <cmath>

#include "engine/backend/kernels/winograd_transforms.h"

namespace kinglet::engine::kernels::winograd {
namespace {

struct Scalar {
  using Vector = float;
  static constexpr std::size_t kLanes = 1;
  static float load(const float* from) { return *from; }
  static void store(float* to, float numbers) { *to = numbers; }
  static float set(float number) { return number; }
  static float add(float a, float b) { return a + b; }
  static float subtract(float a, float b) { return a - b; }
  static float multiply(float a, float b) { return a * b; }
  static float fma(float a, float b, float c) { return std::fma(a, b, c); }
  static float fnma(float a, float b, float c) { return std::fma(-a, b, c); }
  static float max(float a, float b) { return a < b ? b : a; }
  static float min(float a, float b) { return b < a ? b : a; }
};

}  // namespace

constexpr Form kScalar{.lanes = Scalar::kLanes,
                       .tiles = 3,
                       .two = kTransforms<Scalar, 2>,
                       .four = kTransforms<Scalar, 4>,
                       .multiply = {{multiply<Scalar, 1, 1>, multiply<Scalar, 2, 1>, multiply<Scalar, 3, 1>},
                                    {multiply<Scalar, 1, 2>, multiply<Scalar, 2, 2>, multiply<Scalar, 3, 2>}}};

}  // namespace kinglet::engine::kernels::winograd
