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

template <std::size_t kStep, typename T>
void Normalise::write(const std::array<const std::uint8_t*, 3>& rgb, std::size_t y, const InputTensor& tensor,
                      const std::array<std::array<T, 256>, 3>& table) const {
  const auto width = static_cast<std::size_t>(tensor.width);
  const std::size_t plane = width * static_cast<std::size_t>(tensor.height);
  auto* out = reinterpret_cast<T*>(tensor.bytes.data());
  const std::array<const std::uint8_t*, 3> from{rgb[source_[0]], rgb[source_[1]], rgb[source_[2]]};
  if (tensor.layout == TensorLayout::kNhwc) {
    T* to = out + 3 * y * width;
    for (std::size_t x = 0; x < width; ++x, to += 3) {
      to[0] = table[0][from[0][kStep * x]];
      to[1] = table[1][from[1][kStep * x]];
      to[2] = table[2][from[2][kStep * x]];
    }
    return;
  }
  for (std::size_t channel = 0; channel < 3; ++channel) {
    T* to = out + channel * plane + y * width;
    for (std::size_t x = 0; x < width; ++x) to[x] = table[channel][from[channel][kStep * x]];
  }
}

template <std::size_t kStep>
void Normalise::write_row(const std::array<const std::uint8_t*, 3>& rgb, std::size_t y,
                          const InputTensor& tensor) const {
  if (type_ == DataType::kF32) {
    write<kStep>(rgb, y, tensor, floats_);
  } else {
    write<kStep>(rgb, y, tensor, bytes_);
  }
}

template void Normalise::write_row<1>(const std::array<const std::uint8_t*, 3>& rgb, std::size_t y,
                                      const InputTensor& tensor) const;
template void Normalise::write_row<3>(const std::array<const std::uint8_t*, 3>& rgb, std::size_t y,
                                      const InputTensor& tensor) const;

}  // namespace kinglet::camera
