// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/resample/pillow_loops.h"

#include <algorithm>
#include <cstring>

#include "camera/preprocess/resample/avx.h"
#if defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace kinglet::camera {
namespace {

constexpr std::int32_t kHalf = kPillowHalf;

std::uint8_t to_byte(std::int32_t sum) { return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255)); }

const std::int32_t* weights_of(const AxisWeights& axis, std::size_t i) {
  return axis.weights.data() + i * static_cast<std::size_t>(axis.window);
}

}  // namespace

void narrow_scalar(const std::uint8_t* row, const AxisWeights& columns, std::size_t x, std::uint8_t* out) {
  const std::int32_t* weights = weights_of(columns, x);
  for (out += 3 * x; x < columns.size(); ++x, weights += columns.window, out += 3) {
    const std::uint8_t* pixel = row + std::ptrdiff_t{3} * columns.first[x];
    std::int32_t red = kHalf;
    std::int32_t green = kHalf;
    std::int32_t blue = kHalf;
    for (std::int32_t i = 0; i < columns.count[x]; ++i, pixel += 3) {
      red += pixel[0] * weights[i];
      green += pixel[1] * weights[i];
      blue += pixel[2] * weights[i];
    }
    out[0] = to_byte(red);
    out[1] = to_byte(green);
    out[2] = to_byte(blue);
  }
}

// Blocks keep the sums in registers or cache.
void blend_scalar(const std::uint8_t* top, std::size_t row_bytes, std::size_t start, const AxisWeights& rows,
                  std::size_t y, std::uint8_t* out) {
  constexpr std::size_t kBlock = 64;
  const std::int32_t* weights = weights_of(rows, y);
  for (; start < row_bytes; start += kBlock) {
    const std::size_t length = std::min(kBlock, row_bytes - start);
    std::int32_t sums[kBlock];
    std::fill_n(sums, kBlock, kHalf);
    for (std::int32_t i = 0; i < rows.count[y]; ++i) {
      const std::uint8_t* row = top + static_cast<std::size_t>(i) * row_bytes + start;
      for (std::size_t x = 0; x < length; ++x) sums[x] += row[x] * weights[i];
    }
    for (std::size_t x = 0; x < length; ++x) out[start + x] = to_byte(sums[x]);
  }
}

#if defined(__x86_64__)

namespace {

// The sums of both halves, each wrapped around as unsigned numbers are; together they fit.
__m128i joined(__m128i high, __m128i low) {
  return _mm_srai_epi32(_mm_add_epi32(_mm_slli_epi32(high, kLowWeightBits), low), kWeightBits);
}

}  // namespace

std::int32_t bytes_for(std::int32_t count, std::size_t /*steps*/) { return 3 * (count + count % 2) + 1; }

// Two inputs at a time.
std::size_t narrow_quickly(const std::uint8_t* row, const AxisWeights& columns, const QuickWeights& quick,
                           std::size_t x, std::size_t end, std::uint8_t* out) {
  const __m128i zero = _mm_setzero_si128();
  for (out += 3 * x; x < end; ++x, out += 3) {
    const std::uint8_t* pixel = row + std::ptrdiff_t{3} * columns.first[x];
    const std::int32_t* upper = quick.upper.data() + quick.steps * x;
    const std::int32_t* lower = quick.lower.data() + quick.steps * x;
    __m128i high = zero;
    __m128i low = _mm_set1_epi32(kHalf);
    for (std::int32_t i = 0; i < columns.count[x]; i += 2, pixel += 6, ++upper, ++lower) {
      std::int32_t one = 0;
      std::int32_t next = 0;
      std::memcpy(&one, pixel, sizeof one);
      std::memcpy(&next, pixel + 3, sizeof next);
      const __m128i colours = _mm_unpacklo_epi8(_mm_cvtsi32_si128(one), _mm_cvtsi32_si128(next));
      const __m128i words = _mm_unpacklo_epi8(colours, zero);
      high = _mm_add_epi32(high, _mm_madd_epi16(words, _mm_set1_epi32(*upper)));
      low = _mm_add_epi32(low, _mm_madd_epi16(words, _mm_set1_epi32(*lower)));
    }
    const __m128i narrow = _mm_packs_epi32(joined(high, low), zero);
    const std::int32_t bytes = _mm_cvtsi128_si32(_mm_packus_epi16(narrow, zero));
    std::memcpy(out, &bytes, 3);
  }
  return x;
}

namespace {

KINGLET_AVX2 __m256i two_pairs(const std::int32_t* weights) {
  std::int64_t both = 0;
  std::memcpy(&both, weights, sizeof both);
  return _mm256_set1_epi64x(both);
}

}  // namespace

bool can_narrow_fours() { return __builtin_cpu_supports("avx2") != 0; }

std::int32_t bytes_for_fours(std::size_t steps) { return 6 * static_cast<std::int32_t>(steps) + 4; }

// Red and green are in one half of a register, blue in the other, so that both pairs of weights of a colour lie side by
// side.
KINGLET_AVX2 std::size_t narrow_fours(const std::uint8_t* row, const AxisWeights& columns, const QuickWeights& quick,
                                      std::size_t end, std::uint8_t* out) {
  const __m256i colours = _mm256_setr_epi8(0, -1, 3, -1, 6, -1, 9, -1, 1, -1, 4, -1, 7, -1, 10, -1,  // red, green
                                           2, -1, 5, -1, 8, -1, 11, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  const __m256i rounding = _mm256_setr_epi32(kHalf, 0, kHalf, 0, kHalf, 0, 0, 0);
  for (std::size_t x = 0; x < end; ++x, out += 3) {
    const std::uint8_t* pixel = row + std::ptrdiff_t{3} * columns.first[x];
    const std::int32_t* upper = quick.upper.data() + quick.steps * x;
    const std::int32_t* lower = quick.lower.data() + quick.steps * x;
    __m256i high = _mm256_setzero_si256();
    __m256i low = rounding;
    // All of them, also where weights are zero: a loop that is as long for each output is foreseen.
    for (std::size_t i = 0; i < quick.steps; i += 2, pixel += 12, upper += 2, lower += 2) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(pixel));
      const __m256i words = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(bytes), colours);
      high = _mm256_add_epi32(high, _mm256_madd_epi16(words, two_pairs(upper)));
      low = _mm256_add_epi32(low, _mm256_madd_epi16(words, two_pairs(lower)));
    }
    const __m256i both = _mm256_add_epi32(_mm256_slli_epi32(high, kLowWeightBits), low);
    const __m256i sums = _mm256_hadd_epi32(both, both);
    const __m128i rgb = _mm_unpacklo_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    const __m128i narrow = _mm_packs_epi32(_mm_srai_epi32(rgb, kWeightBits), _mm_setzero_si128());
    const std::int32_t bytes = _mm_cvtsi128_si32(_mm_packus_epi16(narrow, narrow));
    std::memcpy(out, &bytes, 3);
  }
  return end;
}

std::size_t blend_quickly(const std::uint8_t* top, std::size_t row_bytes, const AxisWeights& rows,
                          const QuickWeights& quick, std::size_t y, std::uint8_t* out) {
  const std::int32_t count = rows.count[y];
  constexpr std::size_t kBlock = 16;
  const __m128i zero = _mm_setzero_si128();
  const auto load = [](const std::uint8_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); };
  std::size_t start = 0;
  for (; start + kBlock <= row_bytes; start += kBlock) {
    __m128i high[4] = {zero, zero, zero, zero};
    __m128i low[4];
    for (__m128i& sum : low) sum = _mm_set1_epi32(kHalf);
    const std::uint8_t* row = top + start;
    const std::int32_t* upper = quick.upper.data() + quick.steps * y;
    const std::int32_t* lower = quick.lower.data() + quick.steps * y;
    for (std::int32_t i = 0; i < count; i += 2, row += 2 * row_bytes, ++upper, ++lower) {
      const __m128i one = load(row);
      const __m128i next = i + 1 < count ? load(row + row_bytes) : zero;
      const __m128i first = _mm_unpacklo_epi8(one, next);
      const __m128i second = _mm_unpackhi_epi8(one, next);
      const __m128i words[4] = {_mm_unpacklo_epi8(first, zero), _mm_unpackhi_epi8(first, zero),
                                _mm_unpacklo_epi8(second, zero), _mm_unpackhi_epi8(second, zero)};
      for (std::size_t k = 0; k < 4; ++k) {
        high[k] = _mm_add_epi32(high[k], _mm_madd_epi16(words[k], _mm_set1_epi32(*upper)));
        low[k] = _mm_add_epi32(low[k], _mm_madd_epi16(words[k], _mm_set1_epi32(*lower)));
      }
    }
    const __m128i left = _mm_packs_epi32(joined(high[0], low[0]), joined(high[1], low[1]));
    const __m128i right = _mm_packs_epi32(joined(high[2], low[2]), joined(high[3], low[3]));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + start), _mm_packus_epi16(left, right));
  }
  return start;
}

#else

bool can_narrow_fours() { return false; }

std::int32_t bytes_for_fours(std::size_t /*steps*/) { return 0; }

std::size_t narrow_fours(const std::uint8_t* /*row*/, const AxisWeights& /*columns*/, const QuickWeights& /*quick*/,
                         std::size_t /*end*/, std::uint8_t* /*out*/) {
  return 0;
}

#if defined(__ARM_NEON) && defined(__aarch64__)

namespace {

// Bytes as numbers of 32 bits, by where they stand; beyond 16 is zero.
uint8x16_t places(std::uint32_t first, std::uint32_t second, std::uint32_t third, std::uint32_t fourth) {
  constexpr std::uint32_t kNone = 0xFFFFFF00;
  const std::uint32_t all[]{kNone | first, kNone | second, kNone | third, kNone | fourth};
  return vreinterpretq_u8_u32(vld1q_u32(all));
}

int32x4_t spread(uint8x16_t bytes, uint8x16_t where) { return vreinterpretq_s32_u8(vqtbl1q_u8(bytes, where)); }

// The sum's bits from kWeightBits on, within a byte, in two steps: no instruction moves that far.
constexpr int kFirstStep = 16;
constexpr int kSecondStep = kWeightBits - kFirstStep;

// Sixteen bytes of a row, four by four.
struct Columns {
  int32x4_t first;
  int32x4_t second;
  int32x4_t third;
  int32x4_t fourth;

  void add(const std::uint8_t* from, const std::int32_t* weight) {
    const uint8x16_t bytes = vld1q_u8(from);
    const int32x4_t by = vld1q_dup_s32(weight);
    first = vmlaq_s32(first, spread(bytes, places(0, 1, 2, 3)), by);
    second = vmlaq_s32(second, spread(bytes, places(4, 5, 6, 7)), by);
    third = vmlaq_s32(third, spread(bytes, places(8, 9, 10, 11)), by);
    fourth = vmlaq_s32(fourth, spread(bytes, places(12, 13, 14, 15)), by);
  }
  void store(std::uint8_t* to) const {
    const uint16x8_t left = vqshrun_high_n_s32(vqshrun_n_s32(first, kFirstStep), second, kFirstStep);
    const uint16x8_t right = vqshrun_high_n_s32(vqshrun_n_s32(third, kFirstStep), fourth, kFirstStep);
    vst1q_u8(to, vqshrn_high_n_u16(vqshrn_n_u16(left, kSecondStep), right, kSecondStep));
  }
};

}  // namespace

// The last four pixels are read with four bytes behind them.
std::int32_t bytes_for(std::int32_t /*count*/, std::size_t steps) { return 3 * static_cast<std::int32_t>(steps) + 4; }

namespace {

// Red, green and blue of an output, and a byte that means nothing. All its weights, also those that are zero: a loop
// that is as long for each output is foreseen. `fours` of them, at least one.
std::uint32_t narrowed(const std::uint8_t* pixel, const std::int32_t* weights, std::size_t fours) {
  int32x4_t sums = vdupq_n_s32(kHalf);
  do {
    const uint8x16_t four = vld1q_u8(pixel);
    const int32x4_t by = vld1q_s32(weights);
    sums = vmlaq_laneq_s32(sums, spread(four, places(0, 1, 2, 3)), by, 0);
    sums = vmlaq_laneq_s32(sums, spread(four, places(3, 4, 5, 6)), by, 1);
    sums = vmlaq_laneq_s32(sums, spread(four, places(6, 7, 8, 9)), by, 2);
    sums = vmlaq_laneq_s32(sums, spread(four, places(9, 10, 11, 12)), by, 3);
    pixel += 12;
    weights += 4;
  } while (--fours != 0);
  const uint16x4_t words = vqshrun_n_s32(sums, kFirstStep);
  return vget_lane_u32(vreinterpret_u32_u8(vqshrn_n_u16(vcombine_u16(words, words), kSecondStep)), 0);
}

}  // namespace

// The byte too many that is written is the next output's; the last one's is left out.
std::size_t narrow_quickly(const std::uint8_t* row, const AxisWeights& columns, const QuickWeights& quick,
                           std::size_t x, std::size_t end, std::uint8_t* out) {
  const std::size_t steps = quick.steps;
  const std::int32_t* weights = quick.whole.data() + x * steps;
  const std::int32_t* first = columns.first.data();
  for (; x < end; ++x, weights += steps) {
    const std::uint32_t bytes = narrowed(row + std::ptrdiff_t{3} * first[x], weights, steps / 4);
    if (x + 1 == end) {
      std::memcpy(out + 3 * x, &bytes, 3);
    } else {
      std::memcpy(out + 3 * x, &bytes, 4);
    }
  }
  return x;
}

std::size_t blend_quickly(const std::uint8_t* top, std::size_t row_bytes, const AxisWeights& rows,
                          const QuickWeights& /*quick*/, std::size_t y, std::uint8_t* out) {
  constexpr std::size_t kLanes = 16;
  constexpr std::size_t kBlock = 3 * kLanes;
  const std::int32_t* weights = weights_of(rows, y);
  const std::int32_t count = rows.count[y];
  const int32x4_t half = vdupq_n_s32(kHalf);
  std::size_t start = 0;
  for (; start + kBlock <= row_bytes; start += kBlock) {
    Columns left{half, half, half, half};
    Columns middle = left;
    Columns right = left;
    const std::uint8_t* row = top + start;
    for (std::int32_t i = 0; i < count; ++i, row += row_bytes) {
      left.add(row, weights + i);
      middle.add(row + kLanes, weights + i);
      right.add(row + 2 * kLanes, weights + i);
    }
    left.store(out + start);
    middle.store(out + start + kLanes);
    right.store(out + start + 2 * kLanes);
  }
  return start;
}

#else

std::int32_t bytes_for(std::int32_t /*count*/, std::size_t /*steps*/) { return 0; }

std::size_t narrow_quickly(const std::uint8_t* /*row*/, const AxisWeights& /*columns*/, const QuickWeights& /*quick*/,
                           std::size_t x, std::size_t /*end*/, std::uint8_t* /*out*/) {
  return x;
}

std::size_t blend_quickly(const std::uint8_t* /*top*/, std::size_t /*row_bytes*/, const AxisWeights& /*rows*/,
                          const QuickWeights& /*quick*/, std::size_t /*y*/, std::uint8_t* /*out*/) {
  return 0;
}

#endif
#endif

}  // namespace kinglet::camera
