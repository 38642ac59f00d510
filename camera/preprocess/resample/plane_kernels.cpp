// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/resample/row_kernels.h"

#include <algorithm>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace kinglet::camera {
namespace {

constexpr int kBlendShift = kFineBits - kBlendedBits;
constexpr std::int32_t kBlendHalf = 1 << (kBlendShift - 1);
constexpr std::int16_t kMostBlended = 255 << kBlendedBits;
constexpr int kNarrowShift = kFineBits + kBlendedBits;
constexpr std::int32_t kNarrowHalf = 1 << (kNarrowShift - 1);
[[maybe_unused]] constexpr std::size_t kAnyWindow = 0;  // else the window is known when this is compiled

#if defined(__SSE2__)

constexpr std::size_t kBlendBlock = 16;

__m128i load(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }

// Two weights, alternating: what the bytes of two interleaved rows are multiplied by.
__m128i pair_of(std::int16_t first, std::int16_t second) {
  return _mm_set_epi16(second, first, second, first, second, first, second, first);
}

void blend_block(const std::uint8_t* top, std::size_t stride, const std::int16_t* weights, std::int32_t count,
                 std::int16_t* out) {
  const __m128i zero = _mm_setzero_si128();
  __m128i sums[4];
  for (__m128i& sum : sums) sum = _mm_set1_epi32(kBlendHalf);
  for (std::int32_t i = 0; i < count; i += 2) {
    const std::uint8_t* row = top + static_cast<std::size_t>(i) * stride;
    const bool is_last = i + 1 == count;
    const __m128i a = load(row);
    const __m128i b = is_last ? zero : load(row + stride);
    const __m128i both = pair_of(weights[i], is_last ? std::int16_t{0} : weights[i + 1]);
    const __m128i low = _mm_unpacklo_epi8(a, b);
    const __m128i high = _mm_unpackhi_epi8(a, b);
    sums[0] = _mm_add_epi32(sums[0], _mm_madd_epi16(_mm_unpacklo_epi8(low, zero), both));
    sums[1] = _mm_add_epi32(sums[1], _mm_madd_epi16(_mm_unpackhi_epi8(low, zero), both));
    sums[2] = _mm_add_epi32(sums[2], _mm_madd_epi16(_mm_unpacklo_epi8(high, zero), both));
    sums[3] = _mm_add_epi32(sums[3], _mm_madd_epi16(_mm_unpackhi_epi8(high, zero), both));
  }
  for (__m128i& sum : sums) sum = _mm_srai_epi32(sum, kBlendShift);
  const __m128i most = _mm_set1_epi16(kMostBlended);
  auto* to = reinterpret_cast<__m128i*>(out);
  _mm_storeu_si128(to, _mm_min_epi16(_mm_max_epi16(_mm_packs_epi32(sums[0], sums[1]), zero), most));
  _mm_storeu_si128(to + 1, _mm_min_epi16(_mm_max_epi16(_mm_packs_epi32(sums[2], sums[3]), zero), most));
}

template <std::size_t kWindow>
__m128i dot(const std::int16_t* samples, const std::int16_t* weights, std::size_t any_window) {
  const std::size_t window = kWindow > 0 ? kWindow : any_window;
  __m128i sum = _mm_madd_epi16(load(samples), load(weights));
  for (std::size_t i = kLanes; i < window; i += kLanes) {
    sum = _mm_add_epi32(sum, _mm_madd_epi16(load(samples + i), load(weights + i)));
  }
  return sum;
}

// The four sums across, as columns, make an output each.
void store_four(__m128i a, __m128i b, __m128i c, __m128i d, std::uint8_t* out) {
  const __m128i ab = _mm_add_epi32(_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b));
  const __m128i cd = _mm_add_epi32(_mm_unpacklo_epi32(c, d), _mm_unpackhi_epi32(c, d));
  __m128i sums = _mm_add_epi32(_mm_unpacklo_epi64(ab, cd), _mm_unpackhi_epi64(ab, cd));
  sums = _mm_srai_epi32(_mm_add_epi32(sums, _mm_set1_epi32(kNarrowHalf)), kNarrowShift);
  const __m128i words = _mm_packs_epi32(sums, sums);
  const std::int32_t bytes = _mm_cvtsi128_si32(_mm_packus_epi16(words, words));
  std::memcpy(out, &bytes, sizeof bytes);
}

#elif defined(__ARM_NEON) && defined(__aarch64__)

constexpr std::size_t kBlendBlock = 16;

void blend_block(const std::uint8_t* top, std::size_t stride, const std::int16_t* weights, std::int32_t count,
                 std::int16_t* out) {
  int32x4_t sums[4];
  for (int32x4_t& sum : sums) sum = vdupq_n_s32(kBlendHalf);
  for (std::int32_t i = 0; i < count; ++i) {
    const uint8x16_t bytes = vld1q_u8(top + static_cast<std::size_t>(i) * stride);
    const int16x8_t low = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(bytes)));
    const int16x8_t high = vreinterpretq_s16_u16(vmovl_high_u8(bytes));
    sums[0] = vmlal_n_s16(sums[0], vget_low_s16(low), weights[i]);
    sums[1] = vmlal_high_n_s16(sums[1], low, weights[i]);
    sums[2] = vmlal_n_s16(sums[2], vget_low_s16(high), weights[i]);
    sums[3] = vmlal_high_n_s16(sums[3], high, weights[i]);
  }
  const int16x8_t zero = vdupq_n_s16(0);
  const int16x8_t most = vdupq_n_s16(kMostBlended);
  for (std::size_t half = 0; half < 2; ++half) {
    const int16x8_t words = vcombine_s16(vqmovn_s32(vshrq_n_s32(sums[2 * half], kBlendShift)),
                                         vqmovn_s32(vshrq_n_s32(sums[2 * half + 1], kBlendShift)));
    vst1q_s16(out + kLanes * half, vminq_s16(vmaxq_s16(words, zero), most));
  }
}

template <std::size_t kWindow>
int32x4_t dot(const std::int16_t* samples, const std::int16_t* weights, std::size_t any_window) {
  const std::size_t window = kWindow > 0 ? kWindow : any_window;
  int32x4_t sum = vdupq_n_s32(0);
  for (std::size_t i = 0; i < window; i += kLanes) {
    const int16x8_t a = vld1q_s16(samples + i);
    const int16x8_t b = vld1q_s16(weights + i);
    sum = vmlal_s16(sum, vget_low_s16(a), vget_low_s16(b));
    sum = vmlal_high_s16(sum, a, b);
  }
  return sum;
}

// Each is the parts of an output's sum.
void store_four(int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d, std::uint8_t* out) {
  const int32x4_t sums = vaddq_s32(vpaddq_s32(vpaddq_s32(a, b), vpaddq_s32(c, d)), vdupq_n_s32(kNarrowHalf));
  const uint16x4_t words = vqmovun_s32(vshrq_n_s32(sums, kNarrowShift));
  const std::uint32_t bytes = vget_lane_u32(vreinterpret_u32_u8(vqmovn_u16(vcombine_u16(words, words))), 0);
  std::memcpy(out, &bytes, sizeof bytes);
}

#else
#define KINGLET_PLANE_KERNELS_SCALAR
#endif

#ifndef KINGLET_PLANE_KERNELS_SCALAR
// Four outputs.
template <std::size_t kWindow>
void narrow_block(const std::int16_t* blended, const std::int32_t* first, const std::int16_t* weights,
                  std::size_t window, std::uint8_t* out) {
  const auto sum = [&](std::size_t i) { return dot<kWindow>(blended + first[i], weights + i * window, window); };
  store_four(sum(0), sum(1), sum(2), sum(3), out);
}
#endif

}  // namespace

void blend_rows_scalar(const std::uint8_t* top, std::size_t stride, std::size_t length, const std::int16_t* weights,
                       std::int32_t count, std::int16_t* out) {
  for (std::size_t x = 0; x < length; ++x) {
    std::int32_t sum = kBlendHalf;
    for (std::int32_t i = 0; i < count; ++i) sum += top[static_cast<std::size_t>(i) * stride + x] * weights[i];
    out[x] = static_cast<std::int16_t>(std::clamp<std::int32_t>(sum >> kBlendShift, 0, kMostBlended));
  }
}

void narrow_row_scalar(const std::int16_t* blended, const std::int32_t* first, const std::int16_t* weights,
                       std::size_t window, std::size_t length, std::uint8_t* out) {
  for (std::size_t x = 0; x < length; ++x, weights += window) {
    std::int32_t sum = kNarrowHalf;
    for (std::size_t i = 0; i < window; ++i) sum += blended[static_cast<std::size_t>(first[x]) + i] * weights[i];
    out[x] = static_cast<std::uint8_t>(std::clamp(sum >> kNarrowShift, 0, 255));
  }
}

#ifdef KINGLET_PLANE_KERNELS_SCALAR

void blend_rows(const std::uint8_t* top, std::size_t stride, std::size_t length, const std::int16_t* weights,
                std::int32_t count, std::int16_t* out) {
  blend_rows_scalar(top, stride, length, weights, count, out);
}

void narrow_row(const std::int16_t* blended, const std::int32_t* first, const std::int16_t* weights, std::size_t window,
                std::size_t length, std::uint8_t* out) {
  narrow_row_scalar(blended, first, weights, window, length, out);
}

#else

void blend_rows(const std::uint8_t* top, std::size_t stride, std::size_t length, const std::int16_t* weights,
                std::int32_t count, std::int16_t* out) {
  std::size_t x = 0;
  for (; x + kBlendBlock <= length; x += kBlendBlock) blend_block(top + x, stride, weights, count, out + x);
  blend_rows_scalar(top + x, stride, length - x, weights, count, out + x);
}

namespace {

// How many outputs it made: all but the last few.
template <std::size_t kWindow>
std::size_t narrow_blocks(const std::int16_t* blended, const std::int32_t* first, const std::int16_t* weights,
                          std::size_t window, std::size_t length, std::uint8_t* out) {
  std::size_t x = 0;
  for (; x + 4 <= length; x += 4) narrow_block<kWindow>(blended, first + x, weights + x * window, window, out + x);
  return x;
}

}  // namespace

void narrow_row(const std::int16_t* blended, const std::int32_t* first, const std::int16_t* weights, std::size_t window,
                std::size_t length, std::uint8_t* out) {
  const auto blocks = window == kLanes       ? &narrow_blocks<kLanes>
                      : window == 2 * kLanes ? &narrow_blocks<2 * kLanes>
                                             : &narrow_blocks<kAnyWindow>;
  const std::size_t x = blocks(blended, first, weights, window, length, out);
  narrow_row_scalar(blended, first + x, weights + x * window, window, length - x, out + x);
}

#endif

}  // namespace kinglet::camera
