// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "camera/preprocess/resample/row_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace kinglet::camera {
namespace {

using Outputs = std::array<std::uint8_t*, 3>;

// Of samples `step` bytes apart, from `offset` on.
[[gnu::noinline]] void mean_boxes(const BoxRows& from, std::size_t step, std::size_t offset, std::uint8_t* out) {
  for (std::size_t x = 0; x < from.samples; x += from.side) {
    const std::size_t width = std::min(from.side, from.samples - x);
    std::size_t sum = 0;
    for (std::size_t row = 0; row < from.rows; ++row) {
      const std::uint8_t* box = from.top + row * from.stride + x * step + offset;
      for (std::size_t i = 0; i < width; ++i) sum += box[i * step];
    }
    const std::size_t count = width * from.rows;
    *out++ = static_cast<std::uint8_t>((sum + (count - (from.halves_down ? 1 : 0)) / 2) / count);
  }
}

void plain_scalar(const BoxRows& from, const Outputs& out) { mean_boxes(from, 1, 0, out[0]); }

void pairs_scalar(const BoxRows& from, const Outputs& out) {
  for (std::size_t i = 0; i < 2; ++i) mean_boxes(from, 2, i, out[i]);
}

void yuyv_scalar(const BoxRows& from, const Outputs& out) {
  mean_boxes(from, 2, 0, out[0]);
  BoxRows coarse = from;
  coarse.samples /= 2;
  coarse.side /= 2;
  mean_boxes(coarse, 4, 1, out[1]);
  mean_boxes(coarse, 4, 3, out[2]);
}

constexpr BoxKernels kScalar{"scalar", {plain_scalar, pairs_scalar, yuyv_scalar}};

// The boxes in so many bytes of a row, of rows whose number is a power of two.
constexpr std::size_t kBlockBytes = 128;
using Block = void (*)(const BoxRows& from, const Outputs& out);

Outputs from_box(const Outputs& out, std::size_t box) { return {out[0] + box, out[1] + box, out[2] + box}; }

// Whole blocks, and where the last one is not whole, one more that ends with the last whole box: it repeats some. What
// is left is a box that the row's end cuts.
template <Block block, BoxKernels::Means scalar>
[[maybe_unused, gnu::always_inline]] inline void in_blocks(const BoxRows& given, const Outputs& given_out,
                                                           std::size_t boxes, std::size_t bytes_a_sample) {
  const BoxRows from = given;  // what is written might be these
  const Outputs out = given_out;
  const std::size_t whole = from.samples / from.side;
  if (whole < boxes) return scalar(given, given_out);
  const std::size_t bytes = from.side * bytes_a_sample;
  BoxRows here = from;
  std::size_t x = 0;
  for (; x + boxes <= whole; x += boxes, here.top += boxes * bytes) block(here, from_box(out, x));
  if (x < whole) {
    here.top = from.top + (whole - boxes) * bytes;
    block(here, from_box(out, whole - boxes));
  }
  BoxRows rest = from;
  rest.top += whole * bytes;
  rest.samples -= whole * from.side;
  if (rest.samples > 0) scalar(rest, from_box(out, whole));
}

#if defined(__x86_64__)

#define KINGLET_AVX2 __attribute__((target("avx2")))

KINGLET_AVX2 __m256i load_row(const std::uint8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
KINGLET_AVX2 void store_row(std::uint8_t* to, __m256i value) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), value);
}

// How a sum of so many samples becomes their mean: by adding, then a shift.
struct Rounding {
  Rounding(std::size_t samples, bool halves_down)
      : add(static_cast<std::int16_t>((samples - (halves_down ? 1 : 0)) / 2)), shift(std::countr_zero(samples)) {}

  std::int16_t add;
  int shift;
};
KINGLET_AVX2 __m256i mean_of(__m256i sums, const Rounding& rounding) {
  return _mm256_srl_epi16(_mm256_add_epi16(sums, _mm256_set1_epi16(rounding.add)), _mm_cvtsi32_si128(rounding.shift));
}

// Sums of 16 bits: those of two that stand beside each other, in 32 bits.
KINGLET_AVX2 __m256i in_pairs(__m256i sums) { return _mm256_madd_epi16(sums, _mm256_set1_epi16(1)); }
KINGLET_AVX2 __m256i of_first(__m256i sums) { return _mm256_and_si256(sums, _mm256_set1_epi32(0xFFFF)); }
KINGLET_AVX2 __m256i of_second(__m256i sums) { return _mm256_srli_epi32(sums, 16); }

// What 128 bytes of a row give.
struct Four {
  __m256i a;
  __m256i b;
  __m256i c;
  __m256i d;
};
template <__m256i (*change)(__m256i)>
KINGLET_AVX2 Four each(const Four& sums) {
  return {change(sums.a), change(sums.b), change(sums.c), change(sums.d)};
}

// Sums of 32 bits, of which an output has `kSums` that stand beside each other.
template <int kSums>
KINGLET_AVX2 void store_means(const Four& sums, const Rounding& rounding, std::uint8_t* out) {
  // Packing works in halves: each has the halves of one after the other.
  const __m256i front = _mm256_packus_epi32(sums.a, sums.b);
  const __m256i back = _mm256_packus_epi32(sums.c, sums.d);
  if constexpr (kSums == 1) {
    const __m256i bytes = _mm256_packus_epi16(mean_of(front, rounding), mean_of(back, rounding));
    store_row(out, _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
  } else {
    const __m256i words = mean_of(_mm256_packus_epi32(in_pairs(front), in_pairs(back)), rounding);
    const __m256i bytes = _mm256_packus_epi16(words, words);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                     _mm_unpacklo_epi16(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1)));
  }
}

KINGLET_AVX2 __m256i paired_bytes(const std::uint8_t* from) {
  return _mm256_maddubs_epi16(load_row(from), _mm256_set1_epi8(1));
}

template <std::size_t kSide>
KINGLET_AVX2 void plain_block_avx2(const BoxRows& from, const Outputs& out) {
  Four sums{paired_bytes(from.top), paired_bytes(from.top + 32), paired_bytes(from.top + 64),
            paired_bytes(from.top + 96)};
  for (std::size_t i = 1; i < from.rows; ++i) {
    const std::uint8_t* row = from.top + i * from.stride;
    sums.a = _mm256_add_epi16(sums.a, paired_bytes(row));
    sums.b = _mm256_add_epi16(sums.b, paired_bytes(row + 32));
    sums.c = _mm256_add_epi16(sums.c, paired_bytes(row + 64));
    sums.d = _mm256_add_epi16(sums.d, paired_bytes(row + 96));
  }
  const Rounding rounding(kSide * from.rows, from.halves_down);
  if constexpr (kSide == 4) {
    store_means<1>(each<in_pairs>(sums), rounding, out[0]);
  } else {
    const __m256i front = _mm256_packus_epi16(mean_of(sums.a, rounding), mean_of(sums.b, rounding));
    const __m256i back = _mm256_packus_epi16(mean_of(sums.c, rounding), mean_of(sums.d, rounding));
    store_row(out[0], _mm256_permute4x64_epi64(front, 0xD8));
    store_row(out[0] + 32, _mm256_permute4x64_epi64(back, 0xD8));
  }
}

// The rows' sums of bytes that alternate: of the first of each two, and of the second.
struct Alternate {
  Four first;
  Four second;
};
KINGLET_AVX2 Alternate alternate_sums(const BoxRows& from) {
  const __m256i zero = _mm256_setzero_si256();
  const Four none{zero, zero, zero, zero};
  Alternate sums{none, none};
  const auto add = [](const std::uint8_t* bytes, __m256i& first, __m256i& second) KINGLET_AVX2 {
    const __m256i both = load_row(bytes);
    first = _mm256_add_epi16(first, _mm256_and_si256(both, _mm256_set1_epi16(0xFF)));
    second = _mm256_add_epi16(second, _mm256_srli_epi16(both, 8));
  };
  for (std::size_t i = 0; i < from.rows; ++i) {
    const std::uint8_t* row = from.top + i * from.stride;
    add(row, sums.first.a, sums.second.a);
    add(row + 32, sums.first.b, sums.second.b);
    add(row + 64, sums.first.c, sums.second.c);
    add(row + 96, sums.first.d, sums.second.d);
  }
  return sums;
}

template <std::size_t kSide>
KINGLET_AVX2 void pairs_block_avx2(const BoxRows& from, const Outputs& out) {
  const Alternate sums = alternate_sums(from);
  const Rounding rounding(kSide * from.rows, from.halves_down);
  store_means<kSide / 2>(each<in_pairs>(sums.first), rounding, out[0]);
  store_means<kSide / 2>(each<in_pairs>(sums.second), rounding, out[1]);
}

template <std::size_t kSide>
KINGLET_AVX2 void yuyv_block_avx2(const BoxRows& from, const Outputs& out) {
  const Alternate sums = alternate_sums(from);
  const Rounding rounding(kSide * from.rows, from.halves_down);
  const Rounding coarse(kSide / 2 * from.rows, from.halves_down);
  store_means<kSide / 2>(each<in_pairs>(sums.first), rounding, out[0]);
  store_means<kSide / 2>(each<of_first>(sums.second), coarse, out[1]);
  store_means<kSide / 2>(each<of_second>(sums.second), coarse, out[2]);
}

template <BoxKernels::Means scalar, Block two, Block four, std::size_t kSampleBytes>
KINGLET_AVX2 void means_avx2(const BoxRows& from, const Outputs& out) {
  constexpr std::size_t kSamples = kBlockBytes / kSampleBytes;
  if (!std::has_single_bit(from.rows)) return scalar(from, out);
  if (from.side == 2) return in_blocks<two, scalar>(from, out, kSamples / 2, kSampleBytes);
  in_blocks<four, scalar>(from, out, kSamples / 4, kSampleBytes);
}

#define KINGLET_AVX512 __attribute__((target("avx2,avx512f,avx512bw,avx512vl,avx512vnni")))

// The rows' sums of each four bytes, those that are in `taken`, of 64, to means: one an output, or (kSums 2) two.
template <int kSums>
KINGLET_AVX512 void dots_avx512(const BoxRows& from, std::size_t at, std::int32_t taken, const Rounding& rounding,
                                std::uint8_t* out) {
  const __m512i weights = _mm512_set1_epi32(taken);
  // Of two sums that become one the first has what is added.
  __m512i sums = kSums == 1 ? _mm512_set1_epi32(rounding.add) : _mm512_set1_epi64(rounding.add);
  for (std::size_t i = 0; i < from.rows; ++i) {
    sums = _mm512_dpbusd_epi32(sums, _mm512_loadu_si512(from.top + i * from.stride + at), weights);
  }
  const __m128i shift = _mm_cvtsi32_si128(rounding.shift);
  if constexpr (kSums == 1) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm512_cvtepi32_epi8(_mm512_srl_epi32(sums, shift)));
  } else {
    sums = _mm512_srl_epi32(_mm512_add_epi32(sums, _mm512_srli_epi64(sums, 32)), shift);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm512_cvtepi64_epi8(sums));
  }
}

template <std::size_t kSide>
KINGLET_AVX512 void plain_block_avx512(const BoxRows& from, const Outputs& out) {
  const Rounding rounding(kSide * from.rows, from.halves_down);
  for (std::size_t half = 0; half < 2; ++half) {
    if constexpr (kSide == 4) {
      dots_avx512<1>(from, 64 * half, 0x01010101, rounding, out[0] + 16 * half);
    } else {
      __m512i sums = _mm512_set1_epi16(rounding.add);
      for (std::size_t i = 0; i < from.rows; ++i) {
        const __m512i bytes = _mm512_loadu_si512(from.top + i * from.stride + 64 * half);
        sums = _mm512_add_epi16(sums, _mm512_maddubs_epi16(bytes, _mm512_set1_epi8(1)));
      }
      const __m512i means = _mm512_srl_epi16(sums, _mm_cvtsi32_si128(rounding.shift));
      store_row(out[0] + 32 * half, _mm512_cvtepi16_epi8(means));
    }
  }
}

template <std::size_t kSide>
KINGLET_AVX512 void pairs_block_avx512(const BoxRows& from, const Outputs& out) {
  constexpr std::size_t kOutputs = 32 / kSide;
  const Rounding rounding(kSide * from.rows, from.halves_down);
  for (std::size_t half = 0; half < 2; ++half) {
    dots_avx512<kSide / 2>(from, 64 * half, 0x00010001, rounding, out[0] + kOutputs * half);
    dots_avx512<kSide / 2>(from, 64 * half, 0x01000100, rounding, out[1] + kOutputs * half);
  }
}

template <std::size_t kSide>
KINGLET_AVX512 void yuyv_block_avx512(const BoxRows& from, const Outputs& out) {
  constexpr std::size_t kOutputs = 32 / kSide;
  const Rounding rounding(kSide * from.rows, from.halves_down);
  const Rounding coarse(kSide / 2 * from.rows, from.halves_down);
  for (std::size_t half = 0; half < 2; ++half) {
    dots_avx512<kSide / 2>(from, 64 * half, 0x00010001, rounding, out[0] + kOutputs * half);
    dots_avx512<kSide / 2>(from, 64 * half, 0x00000100, coarse, out[1] + kOutputs * half);
    dots_avx512<kSide / 2>(from, 64 * half, 0x01000000, coarse, out[2] + kOutputs * half);
  }
}

template <BoxKernels::Means scalar, Block two, Block four, std::size_t kSampleBytes>
KINGLET_AVX512 void means_avx512(const BoxRows& from, const Outputs& out) {
  constexpr std::size_t kSamples = kBlockBytes / kSampleBytes;
  if (!std::has_single_bit(from.rows)) return scalar(from, out);
  if (from.side == 2) return in_blocks<two, scalar>(from, out, kSamples / 2, kSampleBytes);
  in_blocks<four, scalar>(from, out, kSamples / 4, kSampleBytes);
}

constexpr std::array<BoxKernels, 3> kKernels{
    {{"avx512",
      {means_avx512<plain_scalar, plain_block_avx512<2>, plain_block_avx512<4>, 1>,
       means_avx512<pairs_scalar, pairs_block_avx512<2>, pairs_block_avx512<4>, 2>,
       means_avx512<yuyv_scalar, yuyv_block_avx512<2>, yuyv_block_avx512<4>, 2>}},
     {"avx2",
      {means_avx2<plain_scalar, plain_block_avx2<2>, plain_block_avx2<4>, 1>,
       means_avx2<pairs_scalar, pairs_block_avx2<2>, pairs_block_avx2<4>, 2>,
       means_avx2<yuyv_scalar, yuyv_block_avx2<2>, yuyv_block_avx2<4>, 2>}},
     kScalar}};

#elif defined(__ARM_NEON) && defined(__aarch64__)

enum class Halves : std::uint8_t { kUp, kDown };

template <std::size_t kSamples, Halves kHalves>
void store_means(std::uint8_t* to, uint16x8_t low, uint16x8_t high) {
  constexpr int kShift = std::countr_zero(kSamples);
  if constexpr (kHalves == Halves::kDown && kSamples == 2) {
    vst1q_u8(to, vshrn_high_n_u16(vshrn_n_u16(low, kShift), high, kShift));
    return;
  }
  if constexpr (kHalves == Halves::kDown) {
    low = vqsubq_u16(low, vdupq_n_u16(1));
    high = vqsubq_u16(high, vdupq_n_u16(1));
  }
  vst1q_u8(to, vrshrn_high_n_u16(vrshrn_n_u16(low, kShift), high, kShift));
}

// The rows' sums of two samples that stand beside each other, of 64 bytes.
template <std::size_t kRows>
[[gnu::always_inline]] inline uint16x8x4_t plain_sums(const std::uint8_t* top, std::size_t stride) {
  uint8x16x4_t bytes = vld1q_u8_x4(top);
  uint16x8x4_t sums;
  for (std::size_t i = 0; i < 4; ++i) sums.val[i] = vpaddlq_u8(bytes.val[i]);
  for (std::size_t row = 1; row < kRows; ++row) {
    bytes = vld1q_u8_x4(top += stride);
    for (std::size_t i = 0; i < 4; ++i) sums.val[i] = vpadalq_u8(sums.val[i], bytes.val[i]);
  }
  return sums;
}

struct Plain {
  static constexpr auto kScalar = plain_scalar;
  static constexpr std::size_t kSampleBytes = 1;

  template <std::size_t kSide, std::size_t kRows, Halves kHalves>
  static void block(const BoxRows& from, const Outputs& out) {
    for (std::size_t half = 0; half < 2; ++half) {
      const uint16x8x4_t sums = plain_sums<kRows>(from.top + 64 * half, from.stride);
      if constexpr (kSide == 4) {
        store_means<kSide * kRows, kHalves>(out[0] + 16 * half, vpaddq_u16(sums.val[0], sums.val[1]),
                                            vpaddq_u16(sums.val[2], sums.val[3]));
      } else {
        store_means<kSide * kRows, kHalves>(out[0] + 32 * half, sums.val[0], sums.val[1]);
        store_means<kSide * kRows, kHalves>(out[0] + 32 * half + 16, sums.val[2], sums.val[3]);
      }
    }
  }
};

// The same of U and of V, of 32 bytes.
template <std::size_t kRows>
[[gnu::always_inline]] inline uint16x8x2_t pair_sums(const std::uint8_t* top, std::size_t stride) {
  uint8x16x2_t bytes = vld2q_u8(top);
  uint16x8x2_t sums{{vpaddlq_u8(bytes.val[0]), vpaddlq_u8(bytes.val[1])}};
  for (std::size_t row = 1; row < kRows; ++row) {
    bytes = vld2q_u8(top += stride);
    for (std::size_t i = 0; i < 2; ++i) sums.val[i] = vpadalq_u8(sums.val[i], bytes.val[i]);
  }
  return sums;
}

struct Pairs {
  static constexpr auto kScalar = pairs_scalar;
  static constexpr std::size_t kSampleBytes = 2;

  template <std::size_t kSide, std::size_t kRows, Halves kHalves>
  static void block(const BoxRows& from, const Outputs& out) {
    std::array<uint16x8x2_t, 4> sums;
    for (std::size_t i = 0; i < 4; ++i) sums[i] = pair_sums<kRows>(from.top + 32 * i, from.stride);
    for (std::size_t c = 0; c < 2; ++c) {
      if constexpr (kSide == 4) {
        store_means<kSide * kRows, kHalves>(out[c], vpaddq_u16(sums[0].val[c], sums[1].val[c]),
                                            vpaddq_u16(sums[2].val[c], sums[3].val[c]));
      } else {
        store_means<kSide * kRows, kHalves>(out[c], sums[0].val[c], sums[1].val[c]);
        store_means<kSide * kRows, kHalves>(out[c] + 16, sums[2].val[c], sums[3].val[c]);
      }
    }
  }
};

// Of 64 bytes: Y in boxes four wide, U and V in those of two.
struct YuyvSums {
  uint16x8_t y;
  uint16x8_t u;
  uint16x8_t v;
};
template <std::size_t kRows>
[[gnu::always_inline]] inline YuyvSums yuyv_sums(const std::uint8_t* top, std::size_t stride) {
  uint8x16x4_t bytes = vld4q_u8(top);
  YuyvSums sums{vpadalq_u8(vpaddlq_u8(bytes.val[0]), bytes.val[2]), vpaddlq_u8(bytes.val[1]), vpaddlq_u8(bytes.val[3])};
  for (std::size_t row = 1; row < kRows; ++row) {
    bytes = vld4q_u8(top += stride);
    sums.y = vpadalq_u8(vpadalq_u8(sums.y, bytes.val[0]), bytes.val[2]);
    sums.u = vpadalq_u8(sums.u, bytes.val[1]);
    sums.v = vpadalq_u8(sums.v, bytes.val[3]);
  }
  return sums;
}

// Sixteen sums of bytes.
struct Wide {
  uint16x8_t low;
  uint16x8_t high;

  explicit Wide(uint8x16_t bytes) : low(vmovl_u8(vget_low_u8(bytes))), high(vmovl_high_u8(bytes)) {}
  Wide(uint8x16_t a, uint8x16_t b) : low(vaddl_u8(vget_low_u8(a), vget_low_u8(b))), high(vaddl_high_u8(a, b)) {}
  void add(uint8x16_t bytes) {
    low = vaddw_u8(low, vget_low_u8(bytes));
    high = vaddw_high_u8(high, bytes);
  }
};

struct Yuyv {
  static constexpr auto kScalar = yuyv_scalar;
  static constexpr std::size_t kSampleBytes = 2;

  template <std::size_t kSide, std::size_t kRows, Halves kHalves>
  static void block(const BoxRows& from, const Outputs& out) {
    if constexpr (kSide == 4) {
      const YuyvSums front = yuyv_sums<kRows>(from.top, from.stride);
      const YuyvSums back = yuyv_sums<kRows>(from.top + 64, from.stride);
      store_means<4 * kRows, kHalves>(out[0], front.y, back.y);
      store_means<2 * kRows, kHalves>(out[1], front.u, back.u);
      store_means<2 * kRows, kHalves>(out[2], front.v, back.v);
    } else {
      for (std::size_t half = 0; half < 2; ++half)
        half_block<kRows, kHalves>(from.top + 64 * half, from.stride, out, 16 * half);
    }
  }

  // Y in boxes two wide, U and V in those of one.
  template <std::size_t kRows, Halves kHalves>
  [[gnu::always_inline]] static void half_block(const std::uint8_t* top, std::size_t stride, const Outputs& out,
                                                std::size_t at) {
    uint8x16x4_t bytes = vld4q_u8(top);
    Wide y(bytes.val[0], bytes.val[2]);
    if constexpr (kRows == 1) {
      store_means<2, kHalves>(out[0] + at, y.low, y.high);
      vst1q_u8(out[1] + at, bytes.val[1]);
      vst1q_u8(out[2] + at, bytes.val[3]);
    } else {
      Wide u(bytes.val[1]);
      Wide v(bytes.val[3]);
      for (std::size_t row = 1; row < kRows; ++row) {
        bytes = vld4q_u8(top += stride);
        y.add(bytes.val[0]);
        y.add(bytes.val[2]);
        u.add(bytes.val[1]);
        v.add(bytes.val[3]);
      }
      store_means<2 * kRows, kHalves>(out[0] + at, y.low, y.high);
      store_means<kRows, kHalves>(out[1] + at, u.low, u.high);
      store_means<kRows, kHalves>(out[2] + at, v.low, v.high);
    }
  }
};

template <typename Form, std::size_t kRows, Halves kHalves>
void means_of_rows(const BoxRows& from, const Outputs& out) {
  constexpr std::size_t kBytes = Form::kSampleBytes;
  constexpr std::size_t kSamples = kBlockBytes / kBytes;
  if (from.side == 2) {
    in_blocks<Form::template block<2, kRows, kHalves>, Form::kScalar>(from, out, kSamples / 2, kBytes);
  } else {
    in_blocks<Form::template block<4, kRows, kHalves>, Form::kScalar>(from, out, kSamples / 4, kBytes);
  }
}

template <typename Form, std::size_t kRows>
void means_rounded(const BoxRows& from, const Outputs& out) {
  if (from.halves_down) return means_of_rows<Form, kRows, Halves::kDown>(from, out);
  means_of_rows<Form, kRows, Halves::kUp>(from, out);
}

template <typename Form>
void means_neon(const BoxRows& from, const Outputs& out) {
  switch (from.rows) {
    case 1:
      return means_rounded<Form, 1>(from, out);
    case 2:
      return means_rounded<Form, 2>(from, out);
    case 4:
      return means_rounded<Form, 4>(from, out);
    default:
      Form::kScalar(from, out);
  }
}

constexpr std::array<BoxKernels, 2> kKernels{
    {{"neon", {means_neon<Plain>, means_neon<Pairs>, means_neon<Yuyv>}}, kScalar}};

#else

constexpr std::array<BoxKernels, 1> kKernels{{kScalar}};

#endif

}  // namespace

std::span<const BoxKernels> box_kernels() {
  std::span<const BoxKernels> all = kKernels;
#if defined(__x86_64__)
  const bool avx512 = __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
                      __builtin_cpu_supports("avx512vnni") != 0;
  if (!avx512) all = all.subspan(1);
  if (!__builtin_cpu_supports("avx2")) all = all.last(1);
#endif
  return all;
}

}  // namespace kinglet::camera
