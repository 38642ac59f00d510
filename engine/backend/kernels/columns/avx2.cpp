// SPDX-License-Identifier: Apache-2.0
// Why: the form of the kernel of depthwise columns for processors with AVX2: two rows side by side, widened to 16 bits
// while they are woven, once for all windows over them. Channels stand as the processor weaves them within halves of a
// register: 0 to 3 and 8 to 11 in one, the others in the next one; packing the levels undoes it. Compiled for them
// (engine/CMakeLists.txt).
#if defined(__x86_64__)
#include <immintrin.h>

#include "engine/backend/kernels/columns/form.h"
#include "engine/backend/kernels/vectors/avx2_levels.h"
#include "engine/backend/kernels/vectors/unroll.h"

namespace kinglet::engine::kernels::columns {
namespace {

constexpr std::size_t kGroup = 2;
constexpr std::size_t kRegisters = 2;  // of a block's channels
constexpr std::size_t kAtOnce = 4;     // outputs
constexpr std::size_t kMostGroups = kMostRows / kGroup;

__m256i widened(const std::int8_t* from) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

void weave(const Weave& of) {
  auto* to = reinterpret_cast<__m256i*>(of.to);
  for (std::size_t column = 0; column < of.columns; ++column) {
    for (std::size_t row = 0; row < of.row_count; row += kGroup, to += kRegisters) {
      const __m256i first = widened(of.rows[row] + column * of.steps[row]);
      const __m256i second =
          row + 1 < of.row_count ? widened(of.rows[row + 1] + column * of.steps[row + 1]) : _mm256_setzero_si256();
      _mm256_storeu_si256(to, _mm256_unpacklo_epi16(first, second));
      _mm256_storeu_si256(to + 1, _mm256_unpackhi_epi16(first, second));
    }
  }
}

// Of four times four numbers of 32 bits the first and the third four, and the others.
struct Halves {
  __m256i of[kRegisters];

  explicit Halves(const void* from) {
    const auto* fours = static_cast<const __m128i*>(from);
    for (std::size_t i = 0; i < kRegisters; ++i)
      of[i] = _mm256_set_m128i(_mm_loadu_si128(fours + 2 + i), _mm_loadu_si128(fours + i));
  }
};

// A filter, widened, in the order of the columns.
struct Filter {
  std::size_t groups;
  alignas(32) __m256i numbers[kMostTapsOfAvx2 * kMostGroups][kRegisters];

  explicit Filter(const Product& of) : groups((of.row_count + kGroup - 1) / kGroup) {
    for (std::size_t i = 0; i < of.taps * groups; ++i) {
      const __m256i first = widened(of.weights + i * kGroup * kBlock);
      const __m256i second = widened(of.weights + (i * kGroup + 1) * kBlock);
      numbers[i][0] = _mm256_permute2x128_si256(first, second, 0x20);
      numbers[i][1] = _mm256_permute2x128_si256(first, second, 0x31);
    }
  }
};

template <std::size_t kCount>
void multiply_some(const Product& of, const Filter& filter, const Halves& bias, std::size_t first,
                   const Avx2Levels& levels, const Halves& factors) {
  __m256i sums[kCount][kRegisters];
  KINGLET_UNROLL
  for (std::size_t i = 0; i < kCount; ++i) {
    KINGLET_UNROLL
    for (std::size_t v = 0; v < kRegisters; ++v) sums[i][v] = bias.of[v];
  }
  const auto* numbers = &filter.numbers[0];
  for (std::size_t tap = 0; tap < of.taps; ++tap) {
    const std::int8_t* column = of.columns + first * of.column_step + tap * of.tap_step;
    for (std::size_t group = 0; group < filter.groups; ++group, ++numbers, column += sizeof *numbers) {
      KINGLET_UNROLL
      for (std::size_t i = 0; i < kCount; ++i) {
        const auto* from = reinterpret_cast<const __m256i*>(column + i * of.column_step);
        KINGLET_UNROLL
        for (std::size_t v = 0; v < kRegisters; ++v)
          sums[i][v] = _mm256_add_epi32(sums[i][v], _mm256_madd_epi16(_mm256_loadu_si256(from + v), (*numbers)[v]));
      }
    }
  }
  KINGLET_UNROLL
  for (std::size_t i = 0; i < kCount; ++i)
    levels.store_halves(sums[i], factors.of, of.output + (first + i) * of.output_step);
}

void multiply(const Product& of) {
  const Filter filter(of);
  const Halves bias(of.bias);
  const Halves factors(of.factors);
  const Avx2Levels levels(*of.bounds);
  std::size_t first = 0;
  for (; first + kAtOnce <= of.count; first += kAtOnce)
    multiply_some<kAtOnce>(of, filter, bias, first, levels, factors);
  for (; first < of.count; ++first) multiply_some<1>(of, filter, bias, first, levels, factors);
}

}  // namespace

constexpr Form kAvx2{.group = kGroup, .number_bytes = sizeof(std::int16_t), .weave = weave, .multiply = multiply};

}  // namespace kinglet::engine::kernels::columns
#endif
