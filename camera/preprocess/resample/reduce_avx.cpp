// SPDX-License-Identifier: Apache-2.0
// Why: the loops over frames that become much smaller on processors with AVX2, with AVX-512 and its products of bytes,
// and with its look-up of bytes.
#if defined(__x86_64__)
#include <algorithm>
#include <array>
#include <cstring>

#include "camera/preprocess/resample/avx.h"
#include "camera/preprocess/resample/reduce_form.h"

namespace kinglet::camera::reduce {
namespace {

// Eight outputs at once, by a block that knows its window where that is 8, 16 or 32 bytes, which most are.
using NarrowBlock = void (*)(const std::uint8_t*, const std::int32_t*, const std::uint8_t*, std::size_t, std::uint8_t*);
constexpr std::size_t kHalfWindow = kByteLanes / 2;

// How many outputs it made: all but the last few.
template <NarrowBlock block>
std::size_t narrow_blocks(const std::uint8_t* row, const std::int32_t* first, const std::uint8_t* weights,
                          std::size_t window, std::size_t length, std::uint8_t* out) {
  std::size_t x = 0;
  for (; x + 8 <= length; x += 8) block(row, first + x, weights + x * window, window, out + x);
  return x;
}

template <NarrowBlock half, NarrowBlock one, NarrowBlock two, NarrowBlock any>
void narrow_row(const std::uint8_t* row, const Windows& windows, std::uint8_t* out) {
  const std::size_t window = windows.window;
  const auto blocks = window == kHalfWindow      ? &narrow_blocks<half>
                      : window == kByteLanes     ? &narrow_blocks<one>
                      : window == 2 * kByteLanes ? &narrow_blocks<two>
                                                 : &narrow_blocks<any>;
  const std::size_t x = blocks(row, windows.first.data(), windows.weights.data(), window, windows.first.size(), out);
  narrow_rest(row, windows, x, out);
}

// Two rows that are blended at once, and the weights of both.
struct RowPair {
  const std::uint8_t* row;
  const std::uint8_t* next;
  std::int16_t weights;
};

[[gnu::always_inline]] inline RowPair row_pair(const std::uint8_t* top, std::size_t stride, const std::uint8_t* weights,
                                               std::int32_t count, std::int32_t i) {
  const std::uint8_t* row = top + static_cast<std::size_t>(i) * stride;
  RowPair pair{.row = row, .next = i + 1 < count ? row + stride : row, .weights = 0};  // none is below the last one
  std::memcpy(&pair.weights, weights + i, sizeof pair.weights);
  return pair;
}

KINGLET_AVX2 __m128i load_16(const std::uint8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
KINGLET_AVX2 __m128i load_8(const std::uint8_t* from) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
}

KINGLET_AVX2 void blend_block_avx2(const std::uint8_t* top, std::size_t stride, const std::uint8_t* weights,
                                   std::int32_t count, std::uint8_t* out) {
  const __m256i half = _mm256_set1_epi16(kHalf);
  __m256i low_0 = half;
  __m256i high_0 = half;
  __m256i low_1 = half;
  __m256i high_1 = half;
  for (std::int32_t i = 0; i < count; i += 2) {
    const auto [row, next, both] = row_pair(top, stride, weights, count, i);
    const __m256i pair = _mm256_set1_epi16(both);
    const __m256i a_0 = load_32(row);
    const __m256i b_0 = load_32(next);
    const __m256i a_1 = load_32(row + 32);
    const __m256i b_1 = load_32(next + 32);
    low_0 = _mm256_add_epi16(low_0, _mm256_maddubs_epi16(_mm256_unpacklo_epi8(a_0, b_0), pair));
    high_0 = _mm256_add_epi16(high_0, _mm256_maddubs_epi16(_mm256_unpackhi_epi8(a_0, b_0), pair));
    low_1 = _mm256_add_epi16(low_1, _mm256_maddubs_epi16(_mm256_unpacklo_epi8(a_1, b_1), pair));
    high_1 = _mm256_add_epi16(high_1, _mm256_maddubs_epi16(_mm256_unpackhi_epi8(a_1, b_1), pair));
  }
  store_32(out, _mm256_packus_epi16(_mm256_srli_epi16(low_0, kSmallBits), _mm256_srli_epi16(high_0, kSmallBits)));
  store_32(out + 32, _mm256_packus_epi16(_mm256_srli_epi16(low_1, kSmallBits), _mm256_srli_epi16(high_1, kSmallBits)));
}

KINGLET_AVX2 void split_avx2(const std::uint8_t* pairs, std::size_t count, std::uint8_t* first, std::uint8_t* second) {
  const __m256i even = _mm256_set1_epi16(0xFF);
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    const __m256i a = load_32(pairs + 2 * i);
    const __m256i b = load_32(pairs + 2 * i + 32);
    const __m256i firsts = _mm256_packus_epi16(_mm256_and_si256(a, even), _mm256_and_si256(b, even));
    const __m256i seconds = _mm256_packus_epi16(_mm256_srli_epi16(a, 8), _mm256_srli_epi16(b, 8));
    // Packing works in halves: quarters 0, 2, 1, 3.
    store_32(first + i, _mm256_permute4x64_epi64(firsts, 0xD8));
    store_32(second + i, _mm256_permute4x64_epi64(seconds, 0xD8));
  }
  split_scalar(pairs + 2 * i, count - i, first + i, second + i);
}

template <std::size_t kWindow>
KINGLET_AVX2 __m128i dot_avx2(const std::uint8_t* row, const std::uint8_t* weights, std::size_t any_window) {
  const std::size_t window = kWindow > 0 ? kWindow : any_window;
  __m128i sums = _mm_maddubs_epi16(load_16(row), load_16(weights));
  for (std::size_t i = kByteLanes; i < window; i += kByteLanes) {
    sums = _mm_add_epi16(sums, _mm_maddubs_epi16(load_16(row + i), load_16(weights + i)));
  }
  return sums;
}

// The sums of two outputs, four each.
template <std::size_t kWindow>
KINGLET_AVX2 __m128i dots_avx2(const std::uint8_t* row, const std::int32_t* first, const std::uint8_t* weights,
                               std::size_t window) {
  return _mm_hadd_epi16(dot_avx2<kWindow>(row + first[0], weights, window),
                        dot_avx2<kWindow>(row + first[1], weights + window, window));
}

template <std::size_t kWindow>
KINGLET_AVX2 void narrow_block_avx2(const std::uint8_t* row, const std::int32_t* first, const std::uint8_t* weights,
                                    std::size_t any_window, std::uint8_t* out) {
  const std::size_t window = kWindow > 0 ? kWindow : any_window;
  const __m128i front = _mm_hadd_epi16(dots_avx2<kWindow>(row, first, weights, window),
                                       dots_avx2<kWindow>(row, first + 2, weights + 2 * window, window));
  const __m128i back = _mm_hadd_epi16(dots_avx2<kWindow>(row, first + 4, weights + 4 * window, window),
                                      dots_avx2<kWindow>(row, first + 6, weights + 6 * window, window));
  const __m128i sums = _mm_add_epi16(_mm_hadd_epi16(front, back), _mm_set1_epi16(kHalf));
  const __m128i words = _mm_srli_epi16(sums, kSmallBits);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_packus_epi16(words, words));
}

// Eight windows of 8 bytes, two in a half of a register.
KINGLET_AVX2 void narrow_halves_avx2(const std::uint8_t* row, const std::int32_t* first, const std::uint8_t* weights,
                                     std::size_t /*window*/, std::uint8_t* out) {
  const auto two = [&](std::size_t i)
                       KINGLET_AVX2 { return _mm_unpacklo_epi64(load_8(row + first[i]), load_8(row + first[i + 1])); };
  // Both halves of the sums of four outputs.
  const auto four = [&](std::size_t i) KINGLET_AVX2 {
    const __m256i products =
        _mm256_maddubs_epi16(_mm256_set_m128i(two(i + 2), two(i)), load_32(weights + i * kHalfWindow));
    return _mm256_madd_epi16(products, _mm256_set1_epi16(1));
  };
  const __m256i sums = _mm256_add_epi32(_mm256_hadd_epi32(four(0), four(4)), _mm256_set1_epi32(kHalf));
  const __m256i words = _mm256_packus_epi32(_mm256_srli_epi32(sums, kSmallBits), _mm256_setzero_si256());
  const __m256i bytes = _mm256_packus_epi16(words, words);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out),
                   _mm_unpacklo_epi16(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1)));
}

KINGLET_AVX512 void blend_block_avx512(const std::uint8_t* top, std::size_t stride, const std::uint8_t* weights,
                                       std::int32_t count, std::uint8_t* out) {
  __m512i low = _mm512_set1_epi16(kHalf);
  __m512i high = low;
  for (std::int32_t i = 0; i < count; i += 2) {
    const auto [row, next, both] = row_pair(top, stride, weights, count, i);
    const __m512i pair = _mm512_set1_epi16(both);
    const __m512i a = _mm512_loadu_si512(row);
    const __m512i b = _mm512_loadu_si512(next);
    low = _mm512_add_epi16(low, _mm512_maddubs_epi16(_mm512_unpacklo_epi8(a, b), pair));
    high = _mm512_add_epi16(high, _mm512_maddubs_epi16(_mm512_unpackhi_epi8(a, b), pair));
  }
  _mm512_storeu_si512(out,
                      _mm512_packus_epi16(_mm512_srli_epi16(low, kSmallBits), _mm512_srli_epi16(high, kSmallBits)));
}

// Eight windows of 8 bytes: a product of four bytes gives the two halves of each sum.
KINGLET_AVX512 void narrow_halves_avx512(const std::uint8_t* row, const std::int32_t* first,
                                         const std::uint8_t* weights, std::size_t /*window*/, std::uint8_t* out) {
  const __m512i bytes = _mm512_i32gather_epi64(load_32(reinterpret_cast<const std::uint8_t*>(first)), row, 1);
  const __m512i sums = _mm512_dpbusd_epi32(_mm512_set1_epi64(kHalf), bytes, _mm512_loadu_si512(weights));
  const __m512i whole = _mm512_srli_epi32(_mm512_add_epi32(sums, _mm512_srli_epi64(sums, 32)), kSmallBits);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm512_cvtepi64_epi8(whole));
}

constexpr auto narrow_avx512 = narrow_row<narrow_halves_avx512, narrow_block_avx2<kByteLanes>,
                                          narrow_block_avx2<2 * kByteLanes>, narrow_block_avx2<0>>;
constexpr auto narrow_avx2 = narrow_row<narrow_halves_avx2, narrow_block_avx2<kByteLanes>,
                                        narrow_block_avx2<2 * kByteLanes>, narrow_block_avx2<0>>;

#define KINGLET_VBMI __attribute__((target("avx2,avx512f,avx512bw,avx512vl,avx512vnni,avx512vbmi")))

// Sixteen outputs of each row, whose bytes come from a register: four of each window at once.
template <std::size_t kRows>
KINGLET_VBMI void look_up_rows(const std::array<const std::uint8_t*, kRows>& rows, const Windows& windows,
                               const std::array<std::uint8_t*, kRows>& out) {
  const std::size_t length = windows.first.size();
  const std::size_t groups = windows.taken / kTogether;
  const std::uint8_t* woven = windows.woven.data();
  const __m512i four = _mm512_set1_epi8(4);
  for (std::size_t done = 0; done < length; done += kByteLanes, woven += 64 * (1 + groups)) {
    const std::size_t x = std::min(done, length - kByteLanes);
    for (std::size_t r = 0; r < kRows; ++r) {
      const __m512i bytes = _mm512_loadu_si512(rows[r] + windows.first[x]);
      __m512i places = _mm512_loadu_si512(woven);
      __m512i sums = _mm512_set1_epi32(kHalf);
      for (std::size_t group = 1; group <= groups; ++group) {
        sums =
            _mm512_dpbusd_epi32(sums, _mm512_permutexvar_epi8(places, bytes), _mm512_loadu_si512(woven + 64 * group));
        places = _mm512_add_epi8(places, four);
      }
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out[r] + x),
                       _mm512_cvtepi32_epi8(_mm512_srli_epi32(sums, kSmallBits)));
    }
  }
}

KINGLET_VBMI void narrow_vbmi(const std::uint8_t* row, const Windows& windows, std::uint8_t* out) {
  if (windows.woven.empty()) return narrow_avx512(row, windows, out);
  look_up_rows<1>({row}, windows, {out});
}
KINGLET_VBMI void narrow_both_vbmi(const ByteRows& rows, const Windows& windows, const OutRows& out) {
  if (windows.woven.empty()) return narrow_each<narrow_avx512>(rows, windows, out);
  look_up_rows<2>(rows, windows, out);
}

}  // namespace

constexpr ReduceKernels kVbmi{"avx512vbmi", blend_blocks<blend_block_avx512>, split_avx2, narrow_vbmi,
                              narrow_both_vbmi};
constexpr ReduceKernels kAvx512{"avx512", blend_blocks<blend_block_avx512>, split_avx2, narrow_avx512,
                                narrow_each<narrow_avx512>};
constexpr ReduceKernels kAvx2{"avx2", blend_blocks<blend_block_avx2>, split_avx2, narrow_avx2,
                              narrow_each<narrow_avx2>};

}  // namespace kinglet::camera::reduce
#endif
