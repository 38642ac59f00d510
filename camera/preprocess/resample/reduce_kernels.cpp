// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/resample/row_kernels.h"

#include <array>
#include <cstring>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace kinglet::camera {
namespace {

constexpr int kHalf = 1 << (kSmallBits - 1);
// Weights of a window that stand together in Windows::woven, and what their number is a multiple of.
#if defined(__x86_64__)
constexpr std::size_t kTogether = 4;
constexpr std::size_t kTakenBy = 4;
#elif defined(__ARM_NEON) && defined(__aarch64__)
constexpr std::size_t kTogether = 1;
constexpr std::size_t kTakenBy = 2;
#else
constexpr std::size_t kTogether = 0;  // there is no such processor
constexpr std::size_t kTakenBy = 1;
#endif

void blend_scalar(const std::uint8_t* top, std::size_t stride, std::size_t length, const std::uint8_t* weights,
                  std::int32_t count, std::uint8_t* out) {
  for (std::size_t x = 0; x < length; ++x) {
    int sum = kHalf;
    for (std::int32_t i = 0; i < count; ++i) sum += top[static_cast<std::size_t>(i) * stride + x] * weights[i];
    out[x] = static_cast<std::uint8_t>(sum >> kSmallBits);
  }
}

void split_scalar(const std::uint8_t* pairs, std::size_t count, std::uint8_t* first, std::uint8_t* second) {
  for (std::size_t i = 0; i < count; ++i) {
    first[i] = pairs[2 * i];
    second[i] = pairs[2 * i + 1];
  }
}

void narrow_scalar(const std::uint8_t* row, const std::int32_t* first, const std::uint8_t* weights, std::size_t window,
                   std::size_t length, std::uint8_t* out) {
  for (std::size_t x = 0; x < length; ++x, weights += window) {
    const std::uint8_t* from = row + first[x];
    int sum = kHalf;
    for (std::size_t i = 0; i < window; ++i) sum += from[i] * weights[i];
    out[x] = static_cast<std::uint8_t>(sum >> kSmallBits);
  }
}

// The outputs from `x` on.
void narrow_rest(const std::uint8_t* row, const Windows& windows, std::size_t x, std::uint8_t* out) {
  const std::size_t window = windows.window;
  narrow_scalar(row, windows.first.data() + x, windows.weights.data() + x * window, window, windows.first.size() - x,
                out + x);
}
void narrow_all_scalar(const std::uint8_t* row, const Windows& windows, std::uint8_t* out) {
  narrow_rest(row, windows, 0, out);
}

// One row after the other.
template <auto narrow>
void narrow_each(const ByteRows& rows, const Windows& windows, const OutRows& out) {
  for (std::size_t i = 0; i < rows.size(); ++i) narrow(rows[i], windows, out[i]);
}

constexpr ReduceKernels kScalar{"scalar", blend_scalar, split_scalar, narrow_all_scalar,
                                narrow_each<narrow_all_scalar>};

// Sums fit 16 bits with their sign: at most 255 * 128 and the half.
constexpr std::size_t kBlendBlock = 64;
using BlendBlock = void (*)(const std::uint8_t*, std::size_t, const std::uint8_t*, std::int32_t, std::uint8_t*);

// Whole blocks, and where the last one is not whole, one more that ends with the row: it repeats some bytes. `wide`:
// three blocks at once.
template <BlendBlock block, BlendBlock wide = nullptr>
[[maybe_unused]] void blend_blocks(const std::uint8_t* top, std::size_t stride, std::size_t length,
                                   const std::uint8_t* weights, std::int32_t count, std::uint8_t* out) {
  if (length < kBlendBlock) return blend_scalar(top, stride, length, weights, count, out);
  std::size_t x = 0;
  if constexpr (wide != nullptr) {
    for (; x + 3 * kBlendBlock <= length; x += 3 * kBlendBlock) wide(top + x, stride, weights, count, out + x);
  }
  for (; x + kBlendBlock <= length; x += kBlendBlock) block(top + x, stride, weights, count, out + x);
  if (x < length) {
    x = length - kBlendBlock;
    block(top + x, stride, weights, count, out + x);
  }
}

// Eight outputs at once, by a block that knows its window where that is 8, 16 or 32 bytes, which most are.
using NarrowBlock = void (*)(const std::uint8_t*, const std::int32_t*, const std::uint8_t*, std::size_t, std::uint8_t*);
constexpr std::size_t kHalfWindow = kByteLanes / 2;

// How many outputs it made: all but the last few.
template <NarrowBlock block>
[[maybe_unused]] std::size_t narrow_blocks(const std::uint8_t* row, const std::int32_t* first,
                                           const std::uint8_t* weights, std::size_t window, std::size_t length,
                                           std::uint8_t* out) {
  std::size_t x = 0;
  for (; x + 8 <= length; x += 8) block(row, first + x, weights + x * window, window, out + x);
  return x;
}

template <NarrowBlock half, NarrowBlock one, NarrowBlock two, NarrowBlock any>
[[maybe_unused]] void narrow_row(const std::uint8_t* row, const Windows& windows, std::uint8_t* out) {
  const std::size_t window = windows.window;
  const auto blocks = window == kHalfWindow      ? &narrow_blocks<half>
                      : window == kByteLanes     ? &narrow_blocks<one>
                      : window == 2 * kByteLanes ? &narrow_blocks<two>
                                                 : &narrow_blocks<any>;
  const std::size_t x = blocks(row, windows.first.data(), windows.weights.data(), window, windows.first.size(), out);
  narrow_rest(row, windows, x, out);
}

#if defined(__x86_64__)

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

#define KINGLET_AVX2 __attribute__((target("avx2")))

KINGLET_AVX2 __m256i load_32(const std::uint8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
KINGLET_AVX2 __m128i load_16(const std::uint8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
KINGLET_AVX2 __m128i load_8(const std::uint8_t* from) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
}
KINGLET_AVX2 void store_32(std::uint8_t* to, __m256i value) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), value);
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
  if constexpr (kWindow == kHalfWindow) return _mm_maddubs_epi16(load_8(row), load_8(weights));
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

#define KINGLET_AVX512 __attribute__((target("avx2,avx512f,avx512bw,avx512vl,avx512vnni")))

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
constexpr auto narrow_avx2 = narrow_row<narrow_block_avx2<kHalfWindow>, narrow_block_avx2<kByteLanes>,
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

constexpr std::array<ReduceKernels, 4> kKernels{
    {{"avx512vbmi", blend_blocks<blend_block_avx512>, split_avx2, narrow_vbmi, narrow_both_vbmi},
     {"avx512", blend_blocks<blend_block_avx512>, split_avx2, narrow_avx512, narrow_each<narrow_avx512>},
     {"avx2", blend_blocks<blend_block_avx2>, split_avx2, narrow_avx2, narrow_each<narrow_avx2>},
     kScalar}};

bool has_avx512() {
  return __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
         __builtin_cpu_supports("avx512vnni") != 0;
}

#elif defined(__ARM_NEON) && defined(__aarch64__)

// Two sums for sixteen bytes of a row.
struct Blend {
  uint16x8_t low;
  uint16x8_t high;

  Blend(const std::uint8_t* from, uint8x16_t weight) {
    const uint8x16_t bytes = vld1q_u8(from);
    low = vmull_u8(vget_low_u8(bytes), vget_low_u8(weight));
    high = vmull_high_u8(bytes, weight);
  }
  void add(const std::uint8_t* from, uint8x16_t weight) {
    const uint8x16_t bytes = vld1q_u8(from);
    low = vmlal_u8(low, vget_low_u8(bytes), vget_low_u8(weight));
    high = vmlal_high_u8(high, bytes, weight);
  }
  void store(std::uint8_t* to) const {
    vst1q_u8(to, vrshrn_high_n_u16(vrshrn_n_u16(low, kSmallBits), high, kSmallBits));
  }
};

// A block by sixteen bytes at these places. Without a loop over them, in which the sums would live in memory.
template <std::size_t... kAt>
[[gnu::always_inline]] inline void blend_lanes(const std::uint8_t* top, std::size_t stride, const std::uint8_t* weights,
                                               std::int32_t count, std::uint8_t* out,
                                               std::integer_sequence<std::size_t, kAt...> /*places*/) {
  const uint8x16_t first = vld1q_dup_u8(weights);
  std::array sums{Blend(top + kByteLanes * kAt, first)...};
  std::int32_t i = 1;
  for (; i + 1 < count; i += 2) {
    const uint8x16x2_t both = vld2q_dup_u8(weights + i);
    top += stride;
    (sums[kAt].add(top + kByteLanes * kAt, both.val[0]), ...);
    top += stride;
    (sums[kAt].add(top + kByteLanes * kAt, both.val[1]), ...);
  }
  if (i < count) {
    const uint8x16_t last = vld1q_dup_u8(weights + i);
    top += stride;
    (sums[kAt].add(top + kByteLanes * kAt, last), ...);
  }
  (sums[kAt].store(out + kByteLanes * kAt), ...);
}

template <std::size_t kBlocks>
void blend_block_neon(const std::uint8_t* top, std::size_t stride, const std::uint8_t* weights, std::int32_t count,
                      std::uint8_t* out) {
  blend_lanes(top, stride, weights, count, out, std::make_index_sequence<kBlocks * kBlendBlock / kByteLanes>());
}

void split_neon(const std::uint8_t* pairs, std::size_t count, std::uint8_t* first, std::uint8_t* second) {
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    const uint8x16x2_t front = vld2q_u8(pairs + 2 * i);
    const uint8x16x2_t back = vld2q_u8(pairs + 2 * i + 32);
    vst1q_u8(first + i, front.val[0]);
    vst1q_u8(first + i + 16, back.val[0]);
    vst1q_u8(second + i, front.val[1]);
    vst1q_u8(second + i + 16, back.val[1]);
  }
  split_scalar(pairs + 2 * i, count - i, first + i, second + i);
}

// The products of one window with as many rows, which share first and weights.
template <std::size_t kRows>
using Dots = std::array<uint16x8_t, kRows>;

template <std::size_t kWindow, std::size_t kRows>
[[gnu::always_inline]] inline Dots<kRows> dots_neon(const std::array<const std::uint8_t*, kRows>& rows,
                                                    std::int32_t first, const std::uint8_t* weights,
                                                    std::size_t any_window) {
  Dots<kRows> dots;
  std::array<const std::uint8_t*, kRows> from;
  for (std::size_t r = 0; r < kRows; ++r) {
    from[r] = rows[r] + first;
    // Hidden from GCC 14, which else adds both for each half of a window and loads these by themselves.
    if constexpr (kWindow != kByteLanes) asm("" : "+r"(from[r]));
  }
  const uint8x16_t front = vld1q_u8(weights);
  for (std::size_t r = 0; r < kRows; ++r) {
    const uint8x16_t bytes = vld1q_u8(from[r]);
    dots[r] = vmlal_high_u8(vmull_u8(vget_low_u8(bytes), vget_low_u8(front)), bytes, front);
  }
  const std::size_t window = kWindow > 0 ? kWindow : any_window;
  for (std::size_t i = kByteLanes; i < window; i += kByteLanes) {
    const uint8x16_t by = vld1q_u8(weights + i);
    for (std::size_t r = 0; r < kRows; ++r) {
      const uint8x16_t bytes = vld1q_u8(from[r] + i);
      dots[r] = vmlal_high_u8(vmlal_u8(dots[r], vget_low_u8(bytes), vget_low_u8(by)), bytes, by);
    }
  }
  return dots;
}

template <std::size_t kRows>
[[gnu::always_inline]] inline Dots<kRows> paired(const Dots<kRows>& left, const Dots<kRows>& right) {
  Dots<kRows> sums;
  for (std::size_t r = 0; r < kRows; ++r) sums[r] = vpaddq_u16(left[r], right[r]);
  return sums;
}

// Eight outputs of each row at once; gives how many of each it made: all but the last few.
template <std::size_t kWindow, std::size_t kRows>
std::size_t narrow_blocks_neon(const std::array<const std::uint8_t*, kRows>& given, const std::int32_t* first,
                               const std::uint8_t* weights, std::size_t any_window, std::size_t length,
                               const std::array<std::uint8_t*, kRows>& out) {
  const std::array<const std::uint8_t*, kRows> rows = given;  // what is written might be these
  const std::array<std::uint8_t*, kRows> to = out;
  const std::size_t window = kWindow > 0 ? kWindow : any_window;
  std::size_t x = 0;
  for (; x + 8 <= length; x += 8, first += 8, weights += 8 * window) {
    const auto pair = [&](std::size_t i) {
      return paired<kRows>(dots_neon<kWindow, kRows>(rows, first[i], weights + i * window, window),
                           dots_neon<kWindow, kRows>(rows, first[i + 1], weights + (i + 1) * window, window));
    };
    const Dots<kRows> front = paired<kRows>(pair(0), pair(2));
    const Dots<kRows> sums = paired<kRows>(front, paired<kRows>(pair(4), pair(6)));
    for (std::size_t r = 0; r < kRows; ++r) vst1_u8(to[r] + x, vrshrn_n_u16(sums[r], kSmallBits));
  }
  return x;
}

// kReach bytes of a row, or so many sixteens of them as are needed.
template <std::size_t kSixteens>
struct Bytes;
template <>
struct Bytes<2> {
  uint8x16x2_t at;
  explicit Bytes(const std::uint8_t* from) : at(vld1q_u8_x2(from)) {}
  [[nodiscard]] uint8x16_t operator[](uint8x16_t places) const { return vqtbl2q_u8(at, places); }
};
template <>
struct Bytes<3> {
  uint8x16x3_t at;
  explicit Bytes(const std::uint8_t* from) : at(vld1q_u8_x3(from)) {}
  [[nodiscard]] uint8x16_t operator[](uint8x16_t places) const { return vqtbl3q_u8(at, places); }
};
template <>
struct Bytes<4> {
  uint8x16x4_t at;
  explicit Bytes(const std::uint8_t* from) : at(vld1q_u8_x4(from)) {}
  [[nodiscard]] uint8x16_t operator[](uint8x16_t places) const { return vqtbl4q_u8(at, places); }
};

// Sixteen outputs of as many rows as are given, whose bytes come from registers: of every window its first byte, of
// every window its second one, and so on.
template <std::size_t kSixteens, std::size_t... kRow>
[[gnu::always_inline]] inline void look_up_block(const std::array<const std::uint8_t*, sizeof...(kRow)>& rows,
                                                 const std::uint8_t* woven, std::size_t taken,
                                                 const std::array<std::uint8_t*, sizeof...(kRow)>& out,
                                                 std::index_sequence<kRow...> /*rows*/) {
  const std::array bytes{Bytes<kSixteens>(rows[kRow])...};
  const uint8x16_t one = vdupq_n_u8(1);
  const uint16x8_t zero = vdupq_n_u16(0);
  std::array sums{std::pair((void(kRow), zero), zero)...};
  uint8x16_t places = vld1q_u8(woven);
  const auto add = [](std::pair<uint16x8_t, uint16x8_t>& sum, uint8x16_t found, uint8x16_t weights) {
    sum.first = vmlal_u8(sum.first, vget_low_u8(found), vget_low_u8(weights));
    sum.second = vmlal_high_u8(sum.second, found, weights);
  };
  for (const std::uint8_t* end = woven + kByteLanes * taken; woven != end;) {
    woven += kByteLanes;
    const uint8x16x2_t weights = vld1q_u8_x2(woven);
    woven += kByteLanes;
    (add(sums[kRow], bytes[kRow][places], weights.val[0]), ...);
    places = vaddq_u8(places, one);
    (add(sums[kRow], bytes[kRow][places], weights.val[1]), ...);
    places = vaddq_u8(places, one);
  }
  (vst1q_u8(out[kRow], vrshrn_high_n_u16(vrshrn_n_u16(sums[kRow].first, kSmallBits), sums[kRow].second, kSmallBits)),
   ...);
}

template <std::size_t kSixteens, std::size_t kRows>
void look_up_rows(const std::array<const std::uint8_t*, kRows>& given, const Windows& windows,
                  const std::array<std::uint8_t*, kRows>& out) {
  const std::array<const std::uint8_t*, kRows> rows = given;  // what is written might be these
  const std::array<std::uint8_t*, kRows> to = out;
  const std::size_t length = windows.first.size();
  const std::size_t taken = windows.taken;
  const std::int32_t* first = windows.first.data();
  const std::uint8_t* woven = windows.woven.data();
  for (std::size_t done = 0; done < length; done += kByteLanes, woven += kByteLanes * (1 + taken)) {
    const std::size_t x = std::min(done, length - kByteLanes);
    std::array<const std::uint8_t*, kRows> from;
    std::array<std::uint8_t*, kRows> outputs;
    for (std::size_t r = 0; r < kRows; ++r) {
      from[r] = rows[r] + first[x];
      outputs[r] = to[r] + x;
    }
    look_up_block<kSixteens>(from, woven, taken, outputs, std::make_index_sequence<kRows>());
  }
}

template <std::size_t kRows>
void narrow_rows_neon(const std::array<const std::uint8_t*, kRows>& rows, const Windows& windows,
                      const std::array<std::uint8_t*, kRows>& out) {
  if (!windows.woven.empty()) {
    const auto look_up = windows.reach <= 2 * kByteLanes   ? &look_up_rows<2, kRows>
                         : windows.reach <= 3 * kByteLanes ? &look_up_rows<3, kRows>
                                                           : &look_up_rows<4, kRows>;
    return look_up(rows, windows, out);
  }
  const std::size_t window = windows.window;
  const auto blocks = window == kByteLanes       ? &narrow_blocks_neon<kByteLanes, kRows>
                      : window == 2 * kByteLanes ? &narrow_blocks_neon<2 * kByteLanes, kRows>
                                                 : &narrow_blocks_neon<0, kRows>;
  const std::size_t whole = window < kByteLanes ? 0 : windows.first.size();
  const std::size_t x = blocks(rows, windows.first.data(), windows.weights.data(), window, whole, out);
  for (std::size_t r = 0; r < kRows; ++r) narrow_rest(rows[r], windows, x, out[r]);
}

void narrow_neon(const std::uint8_t* row, const Windows& windows, std::uint8_t* out) {
  narrow_rows_neon<1>({row}, windows, {out});
}

constexpr std::array<ReduceKernels, 2> kKernels{
    {{"neon", blend_blocks<blend_block_neon<1>, blend_block_neon<3>>, split_neon, narrow_neon, narrow_rows_neon<2>},
     kScalar}};

#else

constexpr std::array<ReduceKernels, 1> kKernels{{kScalar}};

#endif

}  // namespace

Windows::Windows(std::vector<std::int32_t> first_bytes, std::vector<std::uint8_t> all_weights, std::size_t bytes,
                 std::size_t taps)
    : first(std::move(first_bytes)),
      weights(std::move(all_weights)),
      window(bytes),
      taken((taps + kTakenBy - 1) / kTakenBy * kTakenBy) {
  if (kTogether == 0 || first.size() < kByteLanes) return;
  for (std::size_t done = 0; done < first.size(); done += kByteLanes) {
    const std::size_t x = std::min(done, first.size() - kByteLanes);
    for (std::size_t i = x; i < x + kByteLanes; ++i) {
      const std::int32_t place = first[i] - first[x];
      reach = std::max(reach, place < 0 ? SIZE_MAX : static_cast<std::size_t>(place) + taps);
      for (std::size_t k = 0; k < kTogether; ++k)
        woven.push_back(static_cast<std::uint8_t>(place + static_cast<int>(k)));
    }
    for (std::size_t from = 0; from < taken; from += kTogether) {
      for (std::size_t i = x; i < x + kByteLanes; ++i) {
        for (std::size_t k = from; k < from + kTogether; ++k) woven.push_back(k < window ? weights[i * window + k] : 0);
      }
    }
  }
  if (reach > kReach) woven.clear();
}

std::span<const ReduceKernels> reduce_kernels() {
  std::span<const ReduceKernels> all = kKernels;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vbmi") == 0) all = all.subspan(1);
  if (!has_avx512()) all = all.last(2);
  if (!__builtin_cpu_supports("avx2")) all = all.last(1);
#endif
  return all;
}

}  // namespace kinglet::camera
