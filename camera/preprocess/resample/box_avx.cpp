// SPDX-License-Identifier: Apache-2.0
// Why: boxes on processors with AVX2, and with AVX-512 and its products of bytes.
#if defined(__x86_64__)
#include <bit>

#include "camera/preprocess/resample/avx.h"
#include "camera/preprocess/resample/box_form.h"

namespace kinglet::camera::box {
namespace {

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

// What puts registers together works in halves: those of four bytes of each of them, the front ones first.
KINGLET_AVX2 void store_fours(__m256i fours, std::uint8_t* out) {
  store_32(out, _mm256_permutevar8x32_epi32(fours, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
}
KINGLET_AVX2 void store_16(std::uint8_t* to, __m128i bytes) { _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes); }

// Sums of 32 bits, of which an output has `kSums` that stand beside each other.
template <int kSums>
KINGLET_AVX2 void store_means(const Four& sums, const Rounding& rounding, std::uint8_t* out) {
  const __m256i front = _mm256_packus_epi32(sums.a, sums.b);
  const __m256i back = _mm256_packus_epi32(sums.c, sums.d);
  if constexpr (kSums == 1) {
    store_fours(_mm256_packus_epi16(mean_of(front, rounding), mean_of(back, rounding)), out);
  } else {
    const __m256i words = mean_of(_mm256_packus_epi32(in_pairs(front), in_pairs(back)), rounding);
    const __m256i bytes = _mm256_packus_epi16(words, words);
    store_16(out, _mm_unpacklo_epi16(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1)));
  }
}

KINGLET_AVX2 __m256i paired_bytes(const std::uint8_t* from) {
  return _mm256_maddubs_epi16(load_32(from), _mm256_set1_epi8(1));
}

// The rows' sums of 16 bits.
template <__m256i (*pair)(const std::uint8_t*)>
[[gnu::always_inline]] KINGLET_AVX2 inline Four row_sums(const BoxRows& from) {
  Four sums{pair(from.top), pair(from.top + 32), pair(from.top + 64), pair(from.top + 96)};
  for (std::size_t i = 1; i < from.rows; ++i) {
    const std::uint8_t* row = from.top + i * from.stride;
    sums.a = _mm256_add_epi16(sums.a, pair(row));
    sums.b = _mm256_add_epi16(sums.b, pair(row + 32));
    sums.c = _mm256_add_epi16(sums.c, pair(row + 64));
    sums.d = _mm256_add_epi16(sums.d, pair(row + 96));
  }
  return sums;
}

template <std::size_t kSide>
KINGLET_AVX2 void plain_block_avx2(const BoxRows& from, const Outputs& out) {
  const Four sums = row_sums<paired_bytes>(from);
  const Rounding rounding(kSide * from.rows, from.halves_down);
  if constexpr (kSide == 4) {
    store_means<1>(each<in_pairs>(sums), rounding, out[0]);
  } else {
    const __m256i front = _mm256_packus_epi16(mean_of(sums.a, rounding), mean_of(sums.b, rounding));
    const __m256i back = _mm256_packus_epi16(mean_of(sums.c, rounding), mean_of(sums.d, rounding));
    store_32(out[0], _mm256_permute4x64_epi64(front, 0xD8));
    store_32(out[0] + 32, _mm256_permute4x64_epi64(back, 0xD8));
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
    const __m256i both = load_32(bytes);
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

// Bytes of one row: of each four those that stand first, third, second and fourth.
KINGLET_AVX2 Four by_place(const std::uint8_t* row) {
  const __m256i order = _mm256_setr_epi8(0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15,  //
                                         0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15);
  const auto fours = [&](std::size_t at) KINGLET_AVX2 { return _mm256_shuffle_epi8(load_32(row + at), order); };
  const Four of{fours(0), fours(32), fours(64), fours(96)};
  const Four woven{_mm256_unpacklo_epi32(of.a, of.b), _mm256_unpacklo_epi32(of.c, of.d),
                   _mm256_unpackhi_epi32(of.a, of.b), _mm256_unpackhi_epi32(of.c, of.d)};
  return {_mm256_unpacklo_epi64(woven.a, woven.b), _mm256_unpackhi_epi64(woven.a, woven.b),
          _mm256_unpacklo_epi64(woven.c, woven.d), _mm256_unpackhi_epi64(woven.c, woven.d)};
}
KINGLET_AVX2 __m256i mean_of_two(__m256i a, __m256i b, bool halves_down) {
  const __m256i up = _mm256_avg_epu8(a, b);
  return halves_down ? _mm256_sub_epi8(up, _mm256_and_si256(_mm256_xor_si256(a, b), _mm256_set1_epi8(1))) : up;
}

KINGLET_AVX2 void pairs_of_row(const BoxRows& from, const Outputs& out) {
  const Four bytes = by_place(from.top);
  store_fours(mean_of_two(bytes.a, bytes.b, from.halves_down), out[0]);
  store_fours(mean_of_two(bytes.c, bytes.d, from.halves_down), out[1]);
}

// Whose U and V are what they were.
KINGLET_AVX2 void yuyv_of_row(const BoxRows& from, const Outputs& out) {
  const Four bytes = by_place(from.top);
  store_fours(mean_of_two(bytes.a, bytes.b, from.halves_down), out[0]);
  store_fours(bytes.c, out[1]);
  store_fours(bytes.d, out[2]);
}

template <std::size_t kSide>
KINGLET_AVX2 void pairs_block_avx2(const BoxRows& from, const Outputs& out) {
  if (kSide == 2 && from.rows == 1) return pairs_of_row(from, out);
  const Alternate sums = alternate_sums(from);
  const Rounding rounding(kSide * from.rows, from.halves_down);
  store_means<kSide / 2>(each<in_pairs>(sums.first), rounding, out[0]);
  store_means<kSide / 2>(each<in_pairs>(sums.second), rounding, out[1]);
}

KINGLET_AVX2 void yuyv_twos_avx2(const BoxRows& from, const Outputs& out) {
  if (from.rows == 1) return yuyv_of_row(from, out);
  const Alternate sums = alternate_sums(from);
  const Rounding rounding(2 * from.rows, from.halves_down);
  const Rounding coarse(from.rows, from.halves_down);
  store_means<1>(each<in_pairs>(sums.first), rounding, out[0]);
  store_means<1>(each<of_first>(sums.second), coarse, out[1]);
  store_means<1>(each<of_second>(sums.second), coarse, out[2]);
}

// Of each eight bytes the sums of two Ys, of two more, of both Us and of both Vs.
KINGLET_AVX2 __m256i yyuv_sums(const std::uint8_t* from) {
  const __m256i order = _mm256_setr_epi8(0, 2, 4, 6, 1, 5, 3, 7, 8, 10, 12, 14, 9, 13, 11, 15,  //
                                         0, 2, 4, 6, 1, 5, 3, 7, 8, 10, 12, 14, 9, 13, 11, 15);
  return _mm256_maddubs_epi16(_mm256_shuffle_epi8(load_32(from), order), _mm256_set1_epi8(1));
}
// A box's Y, and twice its U, which then has as many samples; its V.
KINGLET_AVX2 __m256i y_and_u(__m256i sums) { return _mm256_madd_epi16(sums, _mm256_set1_epi64x(0x0000000200010001)); }
KINGLET_AVX2 __m256i v_alone(__m256i sums) { return _mm256_srli_epi64(sums, 48); }

// Sums of sixteen boxes in 32 bits, two kinds by turns: eight means of the first kind in each half, then of the other.
KINGLET_AVX2 __m256i parted_means(const Four& sums, __m256i add, int shift) {
  const auto means = [&](__m256i a, __m256i b) KINGLET_AVX2 {
    return _mm256_srl_epi16(_mm256_add_epi16(_mm256_packus_epi32(a, b), add), _mm_cvtsi32_si128(shift));
  };
  const __m256i order = _mm256_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15,  //
                                         0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
  return _mm256_shuffle_epi8(_mm256_packus_epi16(means(sums.a, sums.b), means(sums.c, sums.d)), order);
}

KINGLET_AVX2 void yuyv_fours_avx2(const BoxRows& from, const Outputs& out) {
  const Four sums = row_sums<yyuv_sums>(from);
  const Rounding rounding(4 * from.rows, from.halves_down);
  const Rounding coarse(2 * from.rows, from.halves_down);
  const __m256i yu =
      parted_means(each<y_and_u>(sums), _mm256_set1_epi32(rounding.add | (2 * coarse.add << 16)), rounding.shift);
  const __m256i v = parted_means(each<v_alone>(sums), _mm256_set1_epi16(coarse.add), coarse.shift);
  store_16(out[0], _mm_unpacklo_epi16(_mm256_castsi256_si128(yu), _mm256_extracti128_si256(yu, 1)));
  store_16(out[1], _mm_unpackhi_epi16(_mm256_castsi256_si128(yu), _mm256_extracti128_si256(yu, 1)));
  store_16(out[2], _mm_unpacklo_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)));
}

template <BoxKernels::Means scalar, Block two, Block four, std::size_t kSampleBytes>
KINGLET_AVX2 void means_avx2(const BoxRows& from, const Outputs& out) {
  constexpr std::size_t kSamples = kBlockBytes / kSampleBytes;
  if (!std::has_single_bit(from.rows)) return scalar(from, out);
  if (from.side == 2) return in_blocks<two, scalar>(from, out, kSamples / 2, kSampleBytes);
  in_blocks<four, scalar>(from, out, kSamples / 4, kSampleBytes);
}

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
      store_32(out[0] + 32 * half, _mm512_cvtepi16_epi8(means));
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
  if (kSide == 2 && from.rows == 1) return yuyv_of_row(from, out);
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

}  // namespace

constexpr BoxKernels kAvx512{"avx512",
                             {means_avx512<plain_scalar, plain_block_avx512<2>, plain_block_avx512<4>, 1>,
                              means_avx512<pairs_scalar, pairs_block_avx512<2>, pairs_block_avx512<4>, 2>,
                              means_avx512<yuyv_scalar, yuyv_block_avx512<2>, yuyv_block_avx512<4>, 2>}};
constexpr BoxKernels kAvx2{"avx2",
                           {means_avx2<plain_scalar, plain_block_avx2<2>, plain_block_avx2<4>, 1>,
                            means_avx2<pairs_scalar, pairs_block_avx2<2>, pairs_block_avx2<4>, 2>,
                            means_avx2<yuyv_scalar, yuyv_twos_avx2, yuyv_fours_avx2, 2>}};

}  // namespace kinglet::camera::box
#endif
