// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/normalise.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace kinglet::camera {

using engine::DataType;
using engine::TensorLayout;

Normalise::Normalise(const engine::Recipe& recipe, const InputTensor& tensor)
    : type_(tensor.type), quantization_(tensor.quantization) {
  if (recipe.color_order == engine::ColorOrder::kBgr) source_ = {2, 1, 0};
  const auto scale = static_cast<float>(quantization_.scale);
  const int lowest = type_ == DataType::kI8 ? -128 : 0;
  for (std::size_t channel = 0; channel < 3; ++channel) {
    const auto mean = static_cast<float>(recipe.mean[channel]);
    const auto deviation = static_cast<float>(recipe.std[channel]);
    for (std::size_t pixel = 0; pixel < 256; ++pixel) {
      const float value = (static_cast<float>(pixel) - mean) / deviation;
      floats_[channel][pixel] = value;
      const float steps = std::nearbyint(value / scale) + static_cast<float>(quantization_.zero_point);
      const auto limited = std::clamp(steps, static_cast<float>(lowest), static_cast<float>(lowest + 255));
      bytes_[channel][pixel] = static_cast<std::uint8_t>(static_cast<int>(limited) & 0xFF);
    }
  }
}

bool Normalise::fits(const InputTensor& tensor) const {
  return tensor.type == type_ && tensor.quantization == quantization_;
}

template <typename T>
void Normalise::write(std::span<const std::uint8_t> rgb, std::size_t y, const InputTensor& tensor,
                      const std::array<std::array<T, 256>, 3>& table) const {
  const auto width = static_cast<std::size_t>(tensor.width);
  const std::size_t plane = width * static_cast<std::size_t>(tensor.height);
  auto* out = reinterpret_cast<T*>(tensor.bytes.data());
  const bool packed = tensor.layout == TensorLayout::kNhwc;
  const std::size_t step = packed ? 3 : 1;
  for (std::size_t channel = 0; channel < 3; ++channel) {
    const std::uint8_t* from = rgb.data() + source_[channel];
    T* to = out + (packed ? 3 * y * width + channel : channel * plane + y * width);
    const auto& values = table[channel];
    for (std::size_t x = 0; x < width; ++x) to[step * x] = values[from[3 * x]];
  }
}

void Normalise::write_row(std::span<const std::uint8_t> rgb, std::size_t y, const InputTensor& tensor) const {
  if (type_ == DataType::kF32) {
    write(rgb, y, tensor, floats_);
  } else {
    write(rgb, y, tensor, bytes_);
  }
}

}  // namespace kinglet::camera
