// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/yuv_resample.h"

#include <algorithm>
#include <cmath>

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace kinglet::camera {
namespace {

constexpr int kBits = 13;
constexpr std::int32_t kHalf = 1 << (kBits - 1);
constexpr int kNoColor = 128;  // of U and V

std::int16_t to_fixed(double factor) { return static_cast<std::int16_t>(std::lround(factor * (1 << kBits))); }

std::uint8_t to_byte(std::int32_t value) { return static_cast<std::uint8_t>(std::clamp(value >> kBits, 0, 255)); }

}  // namespace

YuvFactors make_yuv_factors(ColorMatrix matrix, ColorRange range) {
  const double red = matrix == ColorMatrix::kBt601 ? 0.299 : 0.2126;
  const double blue = matrix == ColorMatrix::kBt601 ? 0.114 : 0.0722;
  const double green = 1 - red - blue;
  const double luma = range == ColorRange::kFull ? 1.0 : 255.0 / 219.0;
  const double chroma = range == ColorRange::kFull ? 1.0 : 255.0 / 224.0;
  return {.y_offset = static_cast<std::int16_t>(range == ColorRange::kFull ? 0 : 16),
          .y = to_fixed(luma),
          .v_to_red = to_fixed(chroma * 2 * (1 - red)),
          .u_to_green = to_fixed(-chroma * 2 * (1 - blue) * blue / green),
          .v_to_green = to_fixed(-chroma * 2 * (1 - red) * red / green),
          .u_to_blue = to_fixed(chroma * 2 * (1 - blue))};
}

void yuv_row_to_rgb_scalar(const YuvFactors& factors, const YuvRow& from, std::size_t count, const RgbRow& to) {
  for (std::size_t x = 0; x < count; ++x) {
    const std::int32_t luma = (from.y[x] - factors.y_offset) * factors.y + kHalf;
    const std::int32_t blue = from.u[x] - kNoColor;
    const std::int32_t red = from.v[x] - kNoColor;
    to.red[x] = to_byte(luma + red * factors.v_to_red);
    to.green[x] = to_byte(luma + blue * factors.u_to_green + red * factors.v_to_green);
    to.blue[x] = to_byte(luma + blue * factors.u_to_blue);
  }
}

namespace {

#if defined(__SSE2__)

__m128i load(const std::uint8_t* from, int offset) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  return _mm_sub_epi16(_mm_unpacklo_epi8(bytes, _mm_setzero_si128()),
                       _mm_set1_epi16(static_cast<std::int16_t>(offset)));
}

__m128i alternating(std::int16_t first, std::int16_t second) {
  return _mm_set_epi16(second, first, second, first, second, first, second, first);
}

// The sums of two channels, four pixels each.
struct Sums {
  __m128i low;
  __m128i high;
};

Sums products(__m128i first, __m128i second, __m128i factors) {
  return {_mm_madd_epi16(_mm_unpacklo_epi16(first, second), factors),
          _mm_madd_epi16(_mm_unpackhi_epi16(first, second), factors)};
}

void store(Sums sums, std::uint8_t* to) {
  const __m128i words = _mm_packs_epi32(_mm_srai_epi32(sums.low, kBits), _mm_srai_epi32(sums.high, kBits));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(words, words));
}

std::size_t convert_blocks(const YuvFactors& factors, const YuvRow& from, std::size_t count, const RgbRow& to) {
  constexpr std::size_t kBlock = 8;
  const __m128i half = _mm_set1_epi32(kHalf);
  const __m128i one = _mm_set1_epi16(1);
  const __m128i for_red = alternating(factors.y, factors.v_to_red);
  const __m128i for_blue = alternating(factors.y, factors.u_to_blue);
  const __m128i for_green = alternating(factors.y, factors.u_to_green);
  const __m128i rest_of_green = alternating(static_cast<std::int16_t>(kHalf), factors.v_to_green);
  std::size_t x = 0;
  for (; x + kBlock <= count; x += kBlock) {
    const __m128i y = load(from.y + x, factors.y_offset);
    const __m128i u = load(from.u + x, kNoColor);
    const __m128i v = load(from.v + x, kNoColor);
    const Sums red = products(y, v, for_red);
    const Sums blue = products(y, u, for_blue);
    const Sums green = products(y, u, for_green);
    const Sums rest = products(one, v, rest_of_green);
    store({_mm_add_epi32(red.low, half), _mm_add_epi32(red.high, half)}, to.red + x);
    store({_mm_add_epi32(green.low, rest.low), _mm_add_epi32(green.high, rest.high)}, to.green + x);
    store({_mm_add_epi32(blue.low, half), _mm_add_epi32(blue.high, half)}, to.blue + x);
  }
  return x;
}

#elif defined(__ARM_NEON) && defined(__aarch64__)

// Half a register each, of sixteen pixels.
struct Values {
  int16x8_t low;
  int16x8_t high;
};

// Wraps around where it is below zero, which is the number with its sign.
Values load(const std::uint8_t* from, uint8x16_t offset) {
  const uint8x16_t bytes = vld1q_u8(from);
  return {vreinterpretq_s16_u16(vsubl_u8(vget_low_u8(bytes), vget_low_u8(offset))),
          vreinterpretq_s16_u16(vsubl_high_u8(bytes, offset))};
}

// Quarters.
struct Sums {
  int32x4_t first;
  int32x4_t second;
  int32x4_t third;
  int32x4_t fourth;
};

Sums product(const Values& values, std::int16_t factor) {
  return {vmull_n_s16(vget_low_s16(values.low), factor), vmull_high_n_s16(values.low, factor),
          vmull_n_s16(vget_low_s16(values.high), factor), vmull_high_n_s16(values.high, factor)};
}

Sums add_product(const Sums& sums, const Values& values, std::int16_t factor) {
  return {vmlal_n_s16(sums.first, vget_low_s16(values.low), factor), vmlal_high_n_s16(sums.second, values.low, factor),
          vmlal_n_s16(sums.third, vget_low_s16(values.high), factor),
          vmlal_high_n_s16(sums.fourth, values.high, factor)};
}

// Rounded; what is below zero is zero at the first step, what is above 255 is that at the second.
void store(const Sums& sums, std::uint8_t* to) {
  const uint16x8_t low = vqrshrun_high_n_s32(vqrshrun_n_s32(sums.first, kBits), sums.second, kBits);
  const uint16x8_t high = vqrshrun_high_n_s32(vqrshrun_n_s32(sums.third, kBits), sums.fourth, kBits);
  vst1q_u8(to, vqmovn_high_u16(vqmovn_u16(low), high));
}

// By value: what is written might be any of these.
std::size_t convert_blocks(YuvFactors factors, YuvRow from, std::size_t count, RgbRow to) {
  constexpr std::size_t kBlock = 16;
  const uint8x16_t no_light = vdupq_n_u8(static_cast<std::uint8_t>(factors.y_offset));
  const uint8x16_t no_color = vdupq_n_u8(kNoColor);
  std::size_t x = 0;
  for (; x + kBlock <= count; x += kBlock) {
    const Sums luma = product(load(from.y + x, no_light), factors.y);
    const Values u = load(from.u + x, no_color);
    const Values v = load(from.v + x, no_color);
    store(add_product(luma, v, factors.v_to_red), to.red + x);
    store(add_product(add_product(luma, u, factors.u_to_green), v, factors.v_to_green), to.green + x);
    store(add_product(luma, u, factors.u_to_blue), to.blue + x);
  }
  return x;
}

#else

std::size_t convert_blocks(const YuvFactors& /*factors*/, const YuvRow& /*from*/, std::size_t /*count*/,
                           const RgbRow& /*to*/) {
  return 0;
}

#endif

}  // namespace

void yuv_row_to_rgb(const YuvFactors& factors, const YuvRow& from, std::size_t count, const RgbRow& to) {
  const std::size_t done = convert_blocks(factors, from, count, to);
  yuv_row_to_rgb_scalar(factors, {from.y + done, from.u + done, from.v + done}, count - done,
                        {to.red + done, to.green + done, to.blue + done});
}

}  // namespace kinglet::camera
