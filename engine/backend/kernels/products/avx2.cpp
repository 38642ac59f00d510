// SPDX-License-Identifier: Apache-2.0
// Why: the forms of the kernel of 8-bit products for processors with AVX2: six rows by sixteen outputs, two numbers of
// 16 bits a product, and in one of them half as many products, by Winograd's inner product (decision 57). Rows are
// widened once for all outputs, weights each time that they are read. Products of bytes (VPMADDUBSW) would be cut at 16
// bits. Compiled for them (engine/CMakeLists.txt).
#if defined(__x86_64__)
#include <immintrin.h>

#include "engine/backend/kernels/products/form.h"
#include "engine/backend/kernels/vectors/ahead.h"
#include "engine/backend/kernels/vectors/avx2_levels.h"
#include "engine/backend/kernels/vectors/unroll.h"

namespace kinglet::engine::kernels::products {
namespace {

constexpr std::size_t kBlock = 16;
constexpr std::size_t kRun = 2;
constexpr std::size_t kPair = 2 * kRun;  // two runs that meet in one product
constexpr std::size_t kMostNumbers = 4608;
constexpr std::size_t kOfRegister = 16;  // numbers of 16 bits
constexpr std::size_t kRegisters = 2;    // of a row's sums

__m256i run_of(const std::int16_t* from) {
  std::int32_t both = 0;
  __builtin_memcpy(&both, from, sizeof both);
  return _mm256_set1_epi32(both);
}

__m256i widened(const std::int8_t* from) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

std::int32_t sum_of(__m256i lanes) {
  __m128i of = _mm_add_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
  of = _mm_add_epi32(of, _mm_srli_si128(of, 8));
  of = _mm_add_epi32(of, _mm_srli_si128(of, 4));
  return _mm_cvtsi128_si32(of);
}

// Halved: of two numbers a and b of a row and an output's weights v and w for them (a + w)(b + v) = av + bw + ab + vw.
// ab is the row's, and taken off its sums; vw is the output's, whose bias lacks it (Form::is_halved). S. Winograd, "A
// New Algorithm for Inner Product", IEEE Transactions on Computers C-17, 1968.
template <std::size_t kCount, bool kIsHalved>
class Rows {
 public:
  // kOfRow: registers of a row's sums, of a block or of half of one.
  template <std::size_t kOfRow>
  using Sums = __m256i[kCount][kOfRow];

  explicit Rows(const Product& of) {
    for (std::size_t row = 0; row < kCount; ++row) {
      __m256i twice = _mm256_setzero_si256();
      for (std::size_t k = 0; k < of.numbers; k += kOfRegister) {
        __m256i some = widened(of.rows[row] + k);
        if constexpr (kIsHalved) {
          some = _mm256_and_si256(some, there(of.numbers - k));
          twice = _mm256_add_epi32(twice, _mm256_madd_epi16(some, _mm256_shuffle_epi32(some, kOtherRun)));
        }
        _mm256_store_si256(reinterpret_cast<__m256i*>(numbers_[row] + k), some);
      }
      if constexpr (kIsHalved) pairs_[row] = sum_of(twice) / 2;
    }
  }

  template <std::size_t kOfRow>
  void multiply(std::size_t count, const std::int8_t* weights, Sums<kOfRow>& sums) const {
    if constexpr (kIsHalved) {
      multiply_halved<kOfRow>(count, weights, sums);
    } else {
      multiply_all<kOfRow>(count, weights, sums);
    }
  }

 private:
  template <std::size_t kOfRow>
  void multiply_all(std::size_t count, const std::int8_t* weights, Sums<kOfRow>& sums) const {
    for (std::size_t k = 0; k < count; k += kRun, weights += kRun * kBlock) {
      __m256i factors[kOfRow];
      KINGLET_UNROLL
      for (std::size_t i = 0; i < kOfRow; ++i) factors[i] = widened(weights + i * kOfRegister);
      KINGLET_UNROLL
      for (std::size_t row = 0; row < kCount; ++row) {
        const __m256i both = run_of(numbers_[row] + k);
        KINGLET_UNROLL
        for (std::size_t i = 0; i < kOfRow; ++i)
          sums[row][i] = _mm256_add_epi32(sums[row][i], _mm256_madd_epi16(both, factors[i]));
      }
    }
  }

  template <std::size_t kOfRow>
  void multiply_halved(std::size_t count, const std::int8_t* weights, Sums<kOfRow>& sums) const {
    KINGLET_UNROLL
    for (std::size_t row = 0; row < kCount; ++row) {
      KINGLET_UNROLL
      for (std::size_t i = 0; i < kOfRow; ++i)
        sums[row][i] = _mm256_sub_epi32(sums[row][i], _mm256_set1_epi32(pairs_[row]));
    }
    for (std::size_t k = 0; k < count; k += kPair, weights += kPair * kBlock) {
      ask_for<kPair * kBlock>(weights, count * kBlock);  // of the next block
      __m256i first[kOfRow];
      __m256i second[kOfRow];
      KINGLET_UNROLL
      for (std::size_t i = 0; i < kOfRow; ++i) {
        first[i] = widened(weights + i * kOfRegister);
        second[i] = widened(weights + kRun * kBlock + i * kOfRegister);
      }
      KINGLET_UNROLL
      for (std::size_t row = 0; row < kCount; ++row) {
        const __m256i a = run_of(numbers_[row] + k);
        const __m256i b = run_of(numbers_[row] + k + kRun);
        KINGLET_UNROLL
        for (std::size_t i = 0; i < kOfRow; ++i) {
          const __m256i products = _mm256_madd_epi16(_mm256_add_epi16(a, second[i]), _mm256_add_epi16(b, first[i]));
          sums[row][i] = _mm256_add_epi32(sums[row][i], products);
        }
      }
    }
  }

  static constexpr int kOtherRun = 0b10'11'00'01;

  // All bits of the first `count` numbers of a register: what stands behind a row is no part of its pairs.
  static __m256i there(std::size_t count) {
    static constexpr std::int16_t kThere[2 * kOfRegister] = {-1, -1, -1, -1, -1, -1, -1, -1,
                                                             -1, -1, -1, -1, -1, -1, -1, -1};
    const std::size_t absent = count < kOfRegister ? kOfRegister - count : 0;
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kThere + absent));
  }

  alignas(32) std::int16_t numbers_[kCount][kMostNumbers + kOfRegister];
  std::int32_t pairs_[kCount];
};

template <std::size_t kOfRow, std::size_t kCount, bool kIsHalved>
void multiply_block(const Product& of, const Rows<kCount, kIsHalved>& rows, const Avx2Levels& levels,
                    std::size_t first) {
  __m256i sums[kCount][kOfRow];
  KINGLET_UNROLL
  for (std::size_t row = 0; row < kCount; ++row) {
    KINGLET_UNROLL
    for (std::size_t i = 0; i < kOfRow; ++i)
      sums[row][i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(of.bias + first) + i);
  }
  rows.template multiply<kOfRow>(of.numbers, of.weights + first * of.numbers, sums);
  KINGLET_UNROLL
  for (std::size_t row = 0; row < kCount; ++row) {
    if constexpr (kOfRow == 1) {
      levels.store(sums[row][0], of.factors + first, of.outputs[row] + first);
    } else {
      levels.store(sums[row][0], sums[row][1], of.factors + first, of.outputs[row] + first);
    }
  }
}

template <bool kIsHalved, std::size_t kCount>
void multiply_rows(const Product& of) {
  const Rows<kCount, kIsHalved> rows(of);
  const Avx2Levels levels(*of.bounds);
  for (std::size_t block = 0; block < of.blocks; ++block) multiply_block<kRegisters>(of, rows, levels, block * kBlock);
  if (of.has_half) multiply_block<1>(of, rows, levels, of.blocks * kBlock);
}

template <bool kIsHalved>
void multiply(const Product& of) {
  constexpr void (*kOfCount[kMostRows])(const Product&) = {multiply_rows<kIsHalved, 1>, multiply_rows<kIsHalved, 2>,
                                                           multiply_rows<kIsHalved, 3>, multiply_rows<kIsHalved, 4>,
                                                           multiply_rows<kIsHalved, 5>, multiply_rows<kIsHalved, 6>};
  kOfCount[of.row_count - 1](of);
}

template <bool kIsHalved>
constexpr Form form() {
  return {.block = kBlock,
          .run = kRun,
          .step = kIsHalved ? kPair : kRun,
          .bias_lanes = 1,
          .rows = kMostRows,
          .has_halves = true,
          .is_halved = kIsHalved,
          .most_numbers = kMostNumbers,
          .multiply = multiply<kIsHalved>};
}

}  // namespace

constexpr Form kAvx2 = form<false>();
constexpr Form kAvx2Halved = form<true>();

}  // namespace kinglet::engine::kernels::products
#endif
