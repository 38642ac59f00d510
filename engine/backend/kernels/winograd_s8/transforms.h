// SPDX-License-Identifier: Apache-2.0
// Why: the transforms of the Winograd kernel of 8 bits, written once over vectors that a compiler has for any
// processor. Each form that includes it has a copy of its own, so that nobody else gets to run it.
//
// The polynomials are taken at 0, +-1, +-2 and infinity. Nothing is rounded: a point of the input is at most 100 times
// a level, one of a filter (winograd_s8.cpp) 144 times a weight, and sums are modulo 2^32.
#pragma once

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__AVX2__)
#include <immintrin.h>
#endif

#include "engine/backend/kernels/vectors/unroll.h"
#include "engine/backend/kernels/winograd_s8/form.h"

namespace kinglet::engine::kernels::winograd_s8 {
namespace {

// Vectors of which one holds the points of so many channels.
template <std::size_t kChannels>
struct VectorsOf {
  static constexpr std::size_t kShorts = kChannels;
  static constexpr std::size_t kWords = kChannels / 2;
  using Bytes [[gnu::vector_size(kChannels)]] = std::int8_t;
  using Shorts [[gnu::vector_size(kChannels * 2)]] = std::int16_t;
  using Words [[gnu::vector_size(kChannels * 2)]] = std::uint32_t;
  using SignedWords [[gnu::vector_size(kChannels * 2)]] = std::int32_t;
};

template <typename Vector>
Vector vector_at(const void* from) {
  Vector vector;
  __builtin_memcpy(&vector, from, sizeof vector);
  return vector;
}

// GCC 14 would widen one number at a time, or half a vector.
template <typename V>
V::Shorts shorts_at(const std::int8_t* from) {
#if defined(__aarch64__)
  return __builtin_bit_cast(typename V::Shorts, vmovl_s8(vld1_s8(from)));
#else
#if defined(__AVX2__)
  if constexpr (V::kShorts == kPairedLanes)
    return __builtin_bit_cast(typename V::Shorts, _mm256_cvtepi8_epi16(vector_at<__m128i_u>(from)));
#endif
#if defined(__AVX512BW__)
  if constexpr (V::kShorts == kWideLanes)
    return __builtin_bit_cast(typename V::Shorts, _mm512_cvtepi8_epi16(vector_at<__m256i_u>(from)));
#endif
  return __builtin_convertvector(vector_at<typename V::Bytes>(from), typename V::Shorts);
#endif
}

template <typename Shorts>
void input_line(const Shorts (&from)[kSide], Shorts (&to)[kSide]) {
  constexpr std::int16_t kFour = 4;
  const Shorts even_of_two = from[4] - from[2];
  const Shorts odd_of_two = from[3] - from[1];
  const Shorts twice = odd_of_two + odd_of_two;
  const Shorts even_of_one = from[4] - from[2] * kFour;
  const Shorts odd_of_one = from[3] - from[1] * kFour;
  to[0] = (from[0] - from[2]) * kFour + even_of_two;
  to[1] = even_of_one + odd_of_one;
  to[2] = even_of_one - odd_of_one;
  to[3] = even_of_two + twice;
  to[4] = even_of_two - twice;
  to[5] = from[5] - from[3] - odd_of_two * kFour;
}

template <typename V>
void transform_input(const InputTile& of) {
  std::int16_t* to = of.points;
  for (std::size_t vector = 0; vector < of.vectors; ++vector, to += of.vector_step) {
    typename V::Shorts columns[kSide][kSide];
    KINGLET_UNROLL
    for (std::size_t x = 0; x < kSide; ++x) {
      typename V::Shorts line[kSide];
      KINGLET_UNROLL
      for (std::size_t y = 0; y < kSide; ++y) line[y] = shorts_at<V>(of.pixels[y * kSide + x] + vector * V::kShorts);
      input_line(line, columns[x]);
    }
    KINGLET_UNROLL
    for (std::size_t y = 0; y < kSide; ++y) {
      typename V::Shorts line[kSide];
      typename V::Shorts points[kSide];
      KINGLET_UNROLL
      for (std::size_t x = 0; x < kSide; ++x) line[x] = columns[x][y];
      input_line(line, points);
      KINGLET_UNROLL
      for (std::size_t x = 0; x < kSide; ++x)
        __builtin_memcpy(to + (y * kSide + x) * of.point_step, &points[x], sizeof points[x]);
    }
  }
}

// 24 times the first, 12 times each other (form.h).
template <typename Words>
void output_line(const Words (&from)[kSide], Words (&to)[kSize]) {
  const Words sum_of_one = from[1] + from[2];
  const Words difference_of_one = from[1] - from[2];
  const Words sum_of_two = from[3] + from[4];
  const Words difference_of_two = from[3] - from[4];
  const Words first = from[0] + sum_of_one;
  to[0] = first + first + sum_of_two;
  to[1] = difference_of_one + difference_of_two;
  to[2] = sum_of_one + sum_of_two + sum_of_two;
  to[3] = difference_of_one + difference_of_two * 4U + from[5];
}

template <typename V>
void transform_output(const OutputTile& of) {
  using Words = V::Words;
  using SignedWords = V::SignedWords;
  for (std::size_t first = 0; first < V::kShorts; first += V::kWords) {
    Words rows[kSize][kSide];
    KINGLET_UNROLL
    for (std::size_t x = 0; x < kSide; ++x) {
      Words line[kSide];
      Words column[kSize];
      KINGLET_UNROLL
      for (std::size_t y = 0; y < kSide; ++y)
        line[y] = vector_at<Words>(of.sums + (y * kSide + x) * of.point_step + first);
      output_line(line, column);
      KINGLET_UNROLL
      for (std::size_t y = 0; y < kSize; ++y) rows[y][x] = column[y];
    }
    KINGLET_UNROLL
    for (std::size_t y = 0; y < kSize; ++y) {
      Words line[kSize];
      output_line(rows[y], line);
      KINGLET_UNROLL
      for (std::size_t x = 0; x < kSize; ++x) {
        const SignedWords times = __builtin_bit_cast(SignedWords, line[x] * kInverseOfNine);
        const Words sum = __builtin_bit_cast(Words, times >> (bits_lost(y) + bits_lost(x))) +
                          vector_at<Words>(of.begin + (y * kSize + x) * of.begin_step + first);
        __builtin_memcpy(of.to + (y * kSize + x) * V::kShorts + first, &sum, sizeof sum);
      }
    }
  }
}

}  // namespace
}  // namespace kinglet::engine::kernels::winograd_s8
