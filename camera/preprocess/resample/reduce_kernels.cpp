// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/resample/row_kernels.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace kinglet::camera {
namespace {

constexpr int kHalf = 1 << (kSmallBits - 1);

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

constexpr ReduceKernels kScalar{"scalar", blend_scalar, split_scalar, narrow_scalar};

// Sums fit 16 bits with their sign: at most 255 * 128 and the half.
#if defined(__x86_64__)
constexpr std::size_t kBlendBlock = 64;
#else
constexpr std::size_t kBlendBlock = 128;
#endif

// Whole blocks, and where the last one is not whole, one more that ends with the row: it repeats some bytes.
template <void (*block)(const std::uint8_t*, std::size_t, const std::uint8_t*, std::int32_t, std::uint8_t*)>
[[maybe_unused]] void blend_blocks(const std::uint8_t* top, std::size_t stride, std::size_t length,
                                   const std::uint8_t* weights, std::int32_t count, std::uint8_t* out) {
  if (length < kBlendBlock) return blend_scalar(top, stride, length, weights, count, out);
  std::size_t x = 0;
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
[[maybe_unused]] void narrow_row(const std::uint8_t* row, const std::int32_t* first, const std::uint8_t* weights,
                                 std::size_t window, std::size_t length, std::uint8_t* out) {
  const auto blocks = window == kHalfWindow      ? &narrow_blocks<half>
                      : window == kByteLanes     ? &narrow_blocks<one>
                      : window == 2 * kByteLanes ? &narrow_blocks<two>
                                                 : &narrow_blocks<any>;
  const std::size_t x = blocks(row, first, weights, window, length, out);
  narrow_scalar(row, first + x, weights + x * window, window, length - x, out + x);
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

constexpr std::array<ReduceKernels, 3> kKernels{
    {{"avx512", blend_blocks<blend_block_avx512>, split_avx2,
      narrow_row<narrow_halves_avx512, narrow_block_avx2<kByteLanes>, narrow_block_avx2<2 * kByteLanes>,
                 narrow_block_avx2<0>>},
     {"avx2", blend_blocks<blend_block_avx2>, split_avx2,
      narrow_row<narrow_block_avx2<kHalfWindow>, narrow_block_avx2<kByteLanes>, narrow_block_avx2<2 * kByteLanes>,
                 narrow_block_avx2<0>>},
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

void blend_block_neon(const std::uint8_t* top, std::size_t stride, const std::uint8_t* weights, std::int32_t count,
                      std::uint8_t* out) {
  // By name: an array of them would live in memory.
  uint8x16_t weight = vld1q_dup_u8(weights);
  Blend a(top, weight);
  Blend b(top + 16, weight);
  Blend c(top + 32, weight);
  Blend d(top + 48, weight);
  Blend e(top + 64, weight);
  Blend f(top + 80, weight);
  Blend g(top + 96, weight);
  Blend h(top + 112, weight);
  for (std::int32_t i = 1; i < count; ++i) {
    top += stride;
    weight = vld1q_dup_u8(weights + i);
    a.add(top, weight);
    b.add(top + 16, weight);
    c.add(top + 32, weight);
    d.add(top + 48, weight);
    e.add(top + 64, weight);
    f.add(top + 80, weight);
    g.add(top + 96, weight);
    h.add(top + 112, weight);
  }
  a.store(out);
  b.store(out + 16);
  c.store(out + 32);
  d.store(out + 48);
  e.store(out + 64);
  f.store(out + 80);
  g.store(out + 96);
  h.store(out + 112);
}
static_assert(kBlendBlock == 128);

void split_neon(const std::uint8_t* pairs, std::size_t count, std::uint8_t* first, std::uint8_t* second) {
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const uint8x16x2_t both = vld2q_u8(pairs + 2 * i);
    vst1q_u8(first + i, both.val[0]);
    vst1q_u8(second + i, both.val[1]);
  }
  split_scalar(pairs + 2 * i, count - i, first + i, second + i);
}

template <std::size_t kWindow>
uint16x8_t dot_neon(const std::uint8_t* row, const std::uint8_t* weights, std::size_t any_window) {
  if constexpr (kWindow == kHalfWindow) return vmull_u8(vld1_u8(row), vld1_u8(weights));
  const std::size_t window = kWindow > 0 ? kWindow : any_window;
  const uint8x16_t a = vld1q_u8(row);
  const uint8x16_t b = vld1q_u8(weights);
  uint16x8_t sums = vmlal_high_u8(vmull_u8(vget_low_u8(a), vget_low_u8(b)), a, b);
  for (std::size_t i = kByteLanes; i < window; i += kByteLanes) {
    const uint8x16_t c = vld1q_u8(row + i);
    const uint8x16_t d = vld1q_u8(weights + i);
    sums = vmlal_high_u8(vmlal_u8(sums, vget_low_u8(c), vget_low_u8(d)), c, d);
  }
  return sums;
}

template <std::size_t kWindow>
void narrow_block_neon(const std::uint8_t* row, const std::int32_t* first, const std::uint8_t* weights,
                       std::size_t any_window, std::uint8_t* out) {
  const std::size_t window = kWindow > 0 ? kWindow : any_window;
  const auto pair = [&](std::size_t i) {
    return vpaddq_u16(dot_neon<kWindow>(row + first[i], weights + i * window, window),
                      dot_neon<kWindow>(row + first[i + 1], weights + (i + 1) * window, window));
  };
  const uint16x8_t sums = vpaddq_u16(vpaddq_u16(pair(0), pair(2)), vpaddq_u16(pair(4), pair(6)));
  vst1_u8(out, vrshrn_n_u16(sums, kSmallBits));
}

constexpr std::array<ReduceKernels, 2> kKernels{
    {{"neon", blend_blocks<blend_block_neon>, split_neon,
      narrow_row<narrow_block_neon<kHalfWindow>, narrow_block_neon<kByteLanes>, narrow_block_neon<2 * kByteLanes>,
                 narrow_block_neon<0>>},
     kScalar}};

#else

constexpr std::array<ReduceKernels, 1> kKernels{{kScalar}};

#endif

}  // namespace

std::span<const ReduceKernels> reduce_kernels() {
  std::span<const ReduceKernels> all = kKernels;
#if defined(__x86_64__)
  if (!has_avx512()) all = all.subspan(1);
  if (!__builtin_cpu_supports("avx2")) all = all.last(1);
#endif
  return all;
}

}  // namespace kinglet::camera
