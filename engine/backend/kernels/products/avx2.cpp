// SPDX-License-Identifier: Apache-2.0
// Why: the form of the kernel of 8-bit products for processors with AVX2: six rows by sixteen outputs, two numbers a
// product of 16 bits. Rows are widened once for all outputs, weights each time that they are read. Products of bytes
// (VPMADDUBSW) would be cut at 16 bits. Compiled for them (engine/CMakeLists.txt).
#if defined(__x86_64__)
#include <immintrin.h>

#include "engine/backend/kernels/products/form.h"
#include "engine/backend/kernels/vectors/avx2_levels.h"
#include "engine/backend/kernels/vectors/unroll.h"

namespace kinglet::engine::kernels::products {
namespace {

constexpr std::size_t kBlock = 16;
constexpr std::size_t kRun = 2;
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

template <std::size_t kCount>
struct Rows {
  alignas(32) std::int16_t numbers[kCount][kMostNumbers + kOfRegister];

  explicit Rows(const Product& of) {
    for (std::size_t row = 0; row < kCount; ++row) {
      for (std::size_t k = 0; k < of.numbers; k += kOfRegister) {
        _mm256_store_si256(reinterpret_cast<__m256i*>(numbers[row] + k), widened(of.rows[row] + k));
      }
    }
  }

  // kOfRow: registers of a row's sums, of a block or of half of one.
  template <std::size_t kOfRow>
  void multiply(std::size_t count, const std::int8_t* weights, __m256i (&sums)[kCount][kOfRow]) const {
    for (std::size_t k = 0; k < count; k += kRun, weights += kRun * kBlock) {
      __m256i factors[kOfRow];
      KINGLET_UNROLL
      for (std::size_t i = 0; i < kOfRow; ++i) factors[i] = widened(weights + i * kOfRegister);
      KINGLET_UNROLL
      for (std::size_t row = 0; row < kCount; ++row) {
        const __m256i both = run_of(numbers[row] + k);
        KINGLET_UNROLL
        for (std::size_t i = 0; i < kOfRow; ++i)
          sums[row][i] = _mm256_add_epi32(sums[row][i], _mm256_madd_epi16(both, factors[i]));
      }
    }
  }
};

template <std::size_t kOfRow, std::size_t kCount>
void multiply_block(const Product& of, const Rows<kCount>& rows, const Avx2Levels& levels, std::size_t first) {
  __m256i sums[kCount][kOfRow];
  KINGLET_UNROLL
  for (std::size_t row = 0; row < kCount; ++row) {
    KINGLET_UNROLL
    for (std::size_t i = 0; i < kOfRow; ++i)
      sums[row][i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(of.bias + first) + i);
  }
  rows.multiply(of.numbers, of.weights + first * of.numbers, sums);
  KINGLET_UNROLL
  for (std::size_t row = 0; row < kCount; ++row) {
    if constexpr (kOfRow == 1) {
      levels.store(sums[row][0], of.factors + first, of.outputs[row] + first);
    } else {
      levels.store(sums[row][0], sums[row][1], of.factors + first, of.outputs[row] + first);
    }
  }
}

template <std::size_t kCount>
void multiply_rows(const Product& of) {
  const Rows<kCount> rows(of);
  const Avx2Levels levels(*of.bounds);
  for (std::size_t block = 0; block < of.blocks; ++block) multiply_block<kRegisters>(of, rows, levels, block * kBlock);
  if (of.has_half) multiply_block<1>(of, rows, levels, of.blocks * kBlock);
}

void multiply(const Product& of) {
  constexpr void (*kOfCount[kMostRows])(const Product&) = {multiply_rows<1>, multiply_rows<2>, multiply_rows<3>,
                                                           multiply_rows<4>, multiply_rows<5>, multiply_rows<6>};
  kOfCount[of.row_count - 1](of);
}

}  // namespace

constexpr Form kAvx2{.block = kBlock,
                     .run = kRun,
                     .step = kRun,
                     .bias_lanes = 1,
                     .rows = kMostRows,
                     .has_halves = true,
                     .most_numbers = kMostNumbers,
                     .multiply = multiply};

}  // namespace kinglet::engine::kernels::products
#endif
