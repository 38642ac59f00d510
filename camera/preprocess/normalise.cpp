// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/normalise.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace kinglet::camera {

using engine::DataType;
using engine::TensorLayout;

namespace {

using ByteTable = std::array<std::uint8_t, 256>;
using Divisor = Normalise::Divisor;

// By multiplication, corrected by what it leaves over: no division and no table a pixel.
float divide(const Divisor& by, std::size_t pixel) {
  const float value = static_cast<float>(pixel) - by.mean;
  const float guess = value * by.reciprocal;
  return std::fma(std::fma(-guess, by.deviation, value), by.reciprocal, guess);
}

#if defined(__ARM_NEON) && defined(__aarch64__)

constexpr std::size_t kLanes = 16;
constexpr std::size_t kTwice = 2 * kLanes;
constexpr std::size_t kRun = 8 * kTwice;  // pixels for which a table stays in registers; 224 and 192 are one run

// The four quarters of a table; an index beyond one keeps what was found before. `count`: whole steps.
void look_up_run(const ByteTable& table, const std::uint8_t* from, std::size_t count, std::uint8_t* to) {
  const uint8x16x4_t first = vld1q_u8_x4(table.data());
  const uint8x16x4_t second = vld1q_u8_x4(table.data() + 64);
  const uint8x16x4_t third = vld1q_u8_x4(table.data() + 128);
  const uint8x16x4_t fourth = vld1q_u8_x4(table.data() + 192);
  const uint8x16_t quarter = vdupq_n_u8(64);
  for (const std::uint8_t* end = from + count; from != end; from += kTwice, to += kTwice) {
    for (std::size_t i = 0; i < kTwice; i += kLanes) {
      uint8x16_t index = vld1q_u8(from + i);
      uint8x16_t found = vqtbl4q_u8(first, index);
      found = vqtbx4q_u8(found, second, index = vsubq_u8(index, quarter));
      found = vqtbx4q_u8(found, third, index = vsubq_u8(index, quarter));
      found = vqtbx4q_u8(found, fourth, vsubq_u8(index, quarter));
      vst1q_u8(to + i, found);
    }
  }
}

// How many pixels it made: whole steps.
std::size_t look_up_blocks(const std::array<ByteTable, 3>& tables, const std::array<const std::uint8_t*, 3>& from,
                           std::size_t count, std::uint8_t* to) {
  std::array<std::array<std::uint8_t, kRun>, 3> found;
  const std::size_t whole = count / kTwice * kTwice;
  for (std::size_t x = 0; x < whole; x += kRun) {
    const std::size_t run = std::min(kRun, whole - x);
    for (std::size_t c = 0; c < 3; ++c) look_up_run(tables[c], from[c] + x, run, found[c].data());
    for (std::size_t i = 0; i < run; i += kLanes, to += 3 * kLanes) {
      const uint8x16x3_t pixels{vld1q_u8(&found[0][i]), vld1q_u8(&found[1][i]), vld1q_u8(&found[2][i])};
      vst3q_u8(to, pixels);
    }
  }
  return whole;
}

using Quotients = std::array<float32x4_t, 4>;

// 16 pixels of one channel.
Quotients divide_block(const Divisor& by, const std::uint8_t* from) {
  const uint8x16_t bytes = vld1q_u8(from);
  const uint16x8_t low = vmovl_u8(vget_low_u8(bytes));
  const uint16x8_t high = vmovl_high_u8(bytes);
  const std::array<uint32x4_t, 4> pixels{vmovl_u16(vget_low_u16(low)), vmovl_high_u16(low),
                                         vmovl_u16(vget_low_u16(high)), vmovl_high_u16(high)};
  Quotients found;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const float32x4_t value = vsubq_f32(vcvtq_f32_u32(pixels[i]), vdupq_n_f32(by.mean));
    const float32x4_t guess = vmulq_n_f32(value, by.reciprocal);
    const float32x4_t rest = vfmsq_f32(value, guess, vdupq_n_f32(by.deviation));
    found[i] = vfmaq_f32(guess, rest, vdupq_n_f32(by.reciprocal));
  }
  return found;
}

// How many pixels they made: whole blocks.
std::size_t divide_blocks(const std::array<Divisor, 3>& by, const std::array<const std::uint8_t*, 3>& from,
                          std::size_t count, float* to) {
  std::size_t x = 0;
  for (; x + kLanes <= count; x += kLanes) {
    const Quotients first = divide_block(by[0], from[0] + x);
    const Quotients second = divide_block(by[1], from[1] + x);
    const Quotients third = divide_block(by[2], from[2] + x);
    for (std::size_t i = 0; i < first.size(); ++i) {
      vst3q_f32(to + 3 * (x + 4 * i), float32x4x3_t{first[i], second[i], third[i]});
    }
  }
  return x;
}

std::size_t divide_blocks(const Divisor& by, const std::uint8_t* from, std::size_t count, float* to) {
  std::size_t x = 0;
  for (; x + kLanes <= count; x += kLanes) {
    const Quotients found = divide_block(by, from + x);
    for (std::size_t i = 0; i < found.size(); ++i) vst1q_f32(to + x + 4 * i, found[i]);
  }
  return x;
}

#elif defined(__x86_64__)

#define KINGLET_VBMI __attribute__((target("avx512f,avx512bw,avx512vbmi")))

constexpr std::size_t kBlock = 64;

// Three channels of 64 pixels become 192 bytes: of each 64 of those, where red and green stand, then where blue does.
struct Weave {
  alignas(64) std::array<std::array<std::uint8_t, kBlock>, 3> red_green{};
  alignas(64) std::array<std::array<std::uint8_t, kBlock>, 3> blue{};
};
constexpr Weave make_weave() {
  Weave weave;
  for (std::size_t i = 0; i < 3 * kBlock; ++i) {
    const auto pixel = static_cast<std::uint8_t>(i / 3);
    const std::size_t channel = i % 3;
    const auto own = static_cast<std::uint8_t>(i % kBlock);
    weave.red_green[i / kBlock][own] = channel == 1 ? kBlock + pixel : pixel;
    weave.blue[i / kBlock][own] = channel == 2 ? kBlock + pixel : own;
  }
  return weave;
}
constexpr Weave kWeave = make_weave();

KINGLET_VBMI inline __m512i load_64(const std::uint8_t* from) { return _mm512_loadu_si512(from); }

KINGLET_VBMI inline __m512i look_up(const ByteTable& table, __m512i pixels) {
  const __m512i lower = _mm512_permutex2var_epi8(load_64(table.data()), pixels, load_64(table.data() + 64));
  const __m512i upper = _mm512_permutex2var_epi8(load_64(table.data() + 128), pixels, load_64(table.data() + 192));
  return _mm512_mask_blend_epi8(_mm512_movepi8_mask(pixels), lower, upper);
}

KINGLET_VBMI void look_up_block(const std::array<ByteTable, 3>& tables, const std::array<const std::uint8_t*, 3>& from,
                                std::size_t x, std::uint8_t* to) {
  const __m512i red = look_up(tables[0], load_64(from[0] + x));
  const __m512i green = look_up(tables[1], load_64(from[1] + x));
  const __m512i blue = look_up(tables[2], load_64(from[2] + x));
  for (std::size_t i = 0; i < 3; ++i) {
    const __m512i two = _mm512_permutex2var_epi8(red, load_64(kWeave.red_green[i].data()), green);
    const __m512i all = _mm512_permutex2var_epi8(two, load_64(kWeave.blue[i].data()), blue);
    _mm512_storeu_si512(to + 3 * x + i * kBlock, all);
  }
}

// How many pixels it made: all or none. The last block ends with the row and repeats some.
std::size_t look_up_blocks(const std::array<ByteTable, 3>& tables, const std::array<const std::uint8_t*, 3>& from,
                           std::size_t count, std::uint8_t* to) {
  if (count < kBlock || __builtin_cpu_supports("avx512vbmi") == 0) return 0;
  std::size_t x = 0;
  for (; x + kBlock <= count; x += kBlock) look_up_block(tables, from, x, to);
  if (x < count) look_up_block(tables, from, count - kBlock, to);
  return count;
}

#else

std::size_t look_up_blocks(const std::array<ByteTable, 3>& /*tables*/,
                           const std::array<const std::uint8_t*, 3>& /*from*/, std::size_t /*count*/,
                           std::uint8_t* /*to*/) {
  return 0;
}

#endif

#if !defined(__ARM_NEON) || !defined(__aarch64__)

std::size_t divide_blocks(const std::array<Divisor, 3>& /*by*/, const std::array<const std::uint8_t*, 3>& /*from*/,
                          std::size_t /*count*/, float* /*to*/) {
  return 0;
}

std::size_t divide_blocks(const Divisor& /*by*/, const std::uint8_t* /*from*/, std::size_t /*count*/, float* /*to*/) {
  return 0;
}

#endif

}  // namespace

Normalise::Normalise(const engine::Recipe& recipe, const engine::PictureInput& tensor, double gain)
    : type_(tensor.type), quantization_(tensor.quantization) {
  if (recipe.color_order == engine::ColorOrder::kBgr) source_ = {2, 1, 0};
  const auto scale = static_cast<float>(quantization_.scale);
  const int lowest = type_ == DataType::kI8 ? -128 : 0;
  for (std::size_t channel = 0; channel < 3; ++channel) {
    const auto mean = static_cast<float>(recipe.mean[channel]);
    const auto deviation = static_cast<float>(recipe.std[channel]);
    divisors_[channel] = {.mean = mean, .deviation = deviation, .reciprocal = 1 / deviation};
    for (std::size_t pixel = 0; pixel < 256; ++pixel) {
      const double shown = std::min(255.0, std::nearbyint(gain * static_cast<double>(pixel)));
      const float value = (static_cast<float>(shown) - mean) / deviation;
      floats_[channel][pixel] = value;
      divides_ = divides_ && divide(divisors_[channel], pixel) == value;
      const float steps = std::nearbyint(value / scale) + static_cast<float>(quantization_.zero_point);
      const auto limited = std::clamp(steps, static_cast<float>(lowest), static_cast<float>(lowest + 255));
      bytes_[channel][pixel] = static_cast<std::uint8_t>(static_cast<int>(limited) & 0xFF);
    }
  }
}

bool Normalise::fits(const engine::PictureInput& tensor) const {
  return tensor.type == type_ && tensor.quantization == quantization_;
}

template <std::size_t kStep, typename T>
void Normalise::write(const std::array<const std::uint8_t*, 3>& rgb, std::size_t y, const engine::PictureInput& tensor,
                      const std::array<std::array<T, 256>, 3>& table) const {
  const auto width = static_cast<std::size_t>(tensor.width);
  const std::size_t plane = width * static_cast<std::size_t>(tensor.height);
  auto* out = reinterpret_cast<T*>(tensor.bytes.data());
  const std::array<const std::uint8_t*, 3> from{rgb[source_[0]], rgb[source_[1]], rgb[source_[2]]};
  if (tensor.layout == TensorLayout::kNhwc) {
    T* to = out + 3 * y * width;
    std::size_t done = 0;
    if constexpr (kStep == 1 && sizeof(T) == 1) done = look_up_blocks(table, from, width, to);
    if constexpr (kStep == 1 && sizeof(T) != 1) done = divides_ ? divide_blocks(divisors_, from, width, to) : 0;
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
    std::size_t done = 0;
    if constexpr (kStep == 1 && sizeof(T) != 1) {
      if (divides_) done = divide_blocks(divisors_[channel], from[channel], width, to);
    }
    for (std::size_t x = done; x < width; ++x) to[x] = table[channel][from[channel][kStep * x]];
  }
}

template <std::size_t kStep>
void Normalise::write_row(const std::array<const std::uint8_t*, 3>& rgb, std::size_t y,
                          const engine::PictureInput& tensor) const {
  if (type_ == DataType::kF32) {
    write<kStep>(rgb, y, tensor, floats_);
  } else {
    write<kStep>(rgb, y, tensor, bytes_);
  }
}

template void Normalise::write_row<1>(const std::array<const std::uint8_t*, 3>& rgb, std::size_t y,
                                      const engine::PictureInput& tensor) const;
template void Normalise::write_row<3>(const std::array<const std::uint8_t*, 3>& rgb, std::size_t y,
                                      const engine::PictureInput& tensor) const;

}  // namespace kinglet::camera
