// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/normalise.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#if defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace kinglet::camera {

using engine::DataType;
using engine::TensorLayout;

namespace {

using ByteTable = std::array<std::uint8_t, 256>;

#if defined(__ARM_NEON) && defined(__aarch64__)

constexpr std::size_t kLanes = 16;
constexpr std::size_t kBlock = 32;  // pixels for which a table stays in registers; 224 and 192 are whole blocks

// The four quarters of a table; an index beyond one keeps what was found before.
void look_up_block(const ByteTable& table, const std::uint8_t* from, std::uint8_t* to) {
  const uint8x16x4_t first = vld1q_u8_x4(table.data());
  const uint8x16x4_t second = vld1q_u8_x4(table.data() + 64);
  const uint8x16x4_t third = vld1q_u8_x4(table.data() + 128);
  const uint8x16x4_t fourth = vld1q_u8_x4(table.data() + 192);
  const uint8x16_t quarter = vdupq_n_u8(64);
  for (std::size_t i = 0; i < kBlock; i += kLanes) {
    uint8x16_t index = vld1q_u8(from + i);
    uint8x16_t found = vqtbl4q_u8(first, index);
    found = vqtbx4q_u8(found, second, index = vsubq_u8(index, quarter));
    found = vqtbx4q_u8(found, third, index = vsubq_u8(index, quarter));
    found = vqtbx4q_u8(found, fourth, vsubq_u8(index, quarter));
    vst1q_u8(to + i, found);
  }
}

// How many pixels it made: whole blocks.
std::size_t look_up_blocks(const std::array<ByteTable, 3>& tables, const std::array<const std::uint8_t*, 3>& from,
                           std::size_t count, std::uint8_t* to) {
  std::array<std::array<std::uint8_t, kBlock>, 3> found;
  std::size_t x = 0;
  for (; x + kBlock <= count; x += kBlock) {
    for (std::size_t c = 0; c < 3; ++c) look_up_block(tables[c], from[c] + x, found[c].data());
    for (std::size_t i = 0; i < kBlock; i += kLanes) {
      const uint8x16x3_t pixels{vld1q_u8(&found[0][i]), vld1q_u8(&found[1][i]), vld1q_u8(&found[2][i])};
      vst3q_u8(to + 3 * (x + i), pixels);
    }
  }
  return x;
}

#else

std::size_t look_up_blocks(const std::array<ByteTable, 3>& /*tables*/,
                           const std::array<const std::uint8_t*, 3>& /*from*/, std::size_t /*count*/,
                           std::uint8_t* /*to*/) {
  return 0;
}

#endif

}  // namespace

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
    std::size_t done = 0;
    if constexpr (kStep == 1 && sizeof(T) == 1) done = look_up_blocks(table, from, width, to);
    to += 3 * done;
    for (std::size_t x = done; x < width; ++x, to += 3) {
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
