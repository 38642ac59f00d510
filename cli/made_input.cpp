// SPDX-License-Identifier: Apache-2.0
#include "cli/made_input.h"

#include <cmath>
#include <numbers>

#include "engine/graph/float16.h"

namespace kinglet::cli {
namespace {

double uniform(std::mt19937& random) { return (static_cast<double>(random()) + 0.5) / 4294967296.0; }

// Box and Muller: std::normal_distribution may differ between libraries.
float normal(std::mt19937& random) {
  const double radius = std::sqrt(-2 * std::log(uniform(random)));
  return static_cast<float>(radius * std::cos(2 * std::numbers::pi * uniform(random)));
}

}  // namespace

engine::Tensor made_tensor(const engine::TensorInfo& info, std::mt19937& random) {
  engine::Tensor tensor(info.type, info.shape);
  with_element(info.type, [&]<typename T>() {
    for (T& value : tensor.mutable_data<T>()) {
      if constexpr (std::is_same_v<T, float>) {
        value = normal(random);
      } else if constexpr (std::is_same_v<T, engine::Half>) {
        value = engine::to_half(normal(random));
      } else {
        constexpr bool kIsByte = sizeof(T) == 1 && !std::is_same_v<T, bool>;
        value = static_cast<T>(random() >> (kIsByte ? 24U : 31U));
      }
    }
  });
  return tensor;
}

}  // namespace kinglet::cli
