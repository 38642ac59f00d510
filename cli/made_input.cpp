// SPDX-License-Identifier: Apache-2.0
#include "cli/made_input.h"

#include <cmath>
#include <numbers>

#include "engine/graph/float16.h"

namespace kinglet::cli {
namespace {

using engine::DataType;

double uniform(std::mt19937& random) { return (static_cast<double>(random()) + 0.5) / 4294967296.0; }

// Box and Muller: std::normal_distribution may differ between libraries.
float normal(std::mt19937& random) {
  const double radius = std::sqrt(-2 * std::log(uniform(random)));
  return static_cast<float>(radius * std::cos(2 * std::numbers::pi * uniform(random)));
}

}  // namespace

engine::Tensor made_tensor(const engine::TensorInfo& info, std::mt19937& random) {
  engine::Tensor tensor(info.type, info.shape);
  switch (info.type) {
    case DataType::kF32:
      for (float& value : tensor.mutable_data<float>()) value = normal(random);
      break;
    case DataType::kF16:
      for (engine::Half& value : tensor.mutable_data<engine::Half>()) value = engine::to_half(normal(random));
      break;
    case DataType::kU8:
    case DataType::kI8:
      for (std::byte& value : tensor.mutable_bytes()) value = static_cast<std::byte>(random() >> 24U);
      break;
    case DataType::kI64:
      for (std::int64_t& value : tensor.mutable_data<std::int64_t>())
        value = static_cast<std::int64_t>(random() >> 31U);
      break;
    case DataType::kI32:
      for (std::int32_t& value : tensor.mutable_data<std::int32_t>())
        value = static_cast<std::int32_t>(random() >> 31U);
      break;
    case DataType::kBool:
      for (bool& value : tensor.mutable_data<bool>()) value = (random() >> 31U) != 0;
      break;
  }
  return tensor;
}

}  // namespace kinglet::cli
