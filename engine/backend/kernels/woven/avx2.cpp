// SPDX-License-Identifier: Apache-2.0
// Why: the form of the kernel of woven rows for processors with AVX2 and FMA. One load brings a number into all lanes,
// so that rows are read where they lie and nothing is woven. Six rows by sixteen outputs take twelve of the sixteen
// registers, their factors two: what fits as a whole; of eight outputs fourteen rows do. Compiled for them
// (engine/CMakeLists.txt).
#if defined(__x86_64__)
#include <utility>

#include "engine/backend/kernels/vectors/avx2.h"
#include "engine/backend/kernels/vectors/unroll.h"
#include "engine/backend/kernels/woven/blocks.h"
#include "engine/backend/kernels/woven/form.h"

namespace kinglet::engine::kernels::woven {
namespace {

template <std::size_t kVectors, std::size_t kRows>
struct Block {
  using V = Avx2::Vector;
  static constexpr std::size_t kWidth = kVectors * Avx2::kLanes;

  V sums[kRows][kVectors];

  template <typename Change>
  void each(const Change& change) {
    KINGLET_UNROLL
    for (std::size_t row = 0; row < kRows; ++row) {
      KINGLET_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) sums[row][v] = change(sums[row][v], row, v * Avx2::kLanes);
    }
  }

  void begin(const Product<float>& of, std::size_t first) {
    each([&](V, std::size_t, std::size_t at) { return Avx2::load(of.bias + first + at); });
  }

  // Three rows have a pointer: with one for each there would be more than registers.
  void multiply_run(const Product<float>& of, const float* numbers, const float* weights) {
    constexpr std::size_t kOfPointer = 3;
    const float* rows[(kRows + kOfPointer - 1) / kOfPointer];
    for (const float*& three : rows) three = std::exchange(numbers, numbers + kOfPointer * of.laid->step);
    for (const float* end = rows[0] + of.laid->run_numbers; rows[0] != end; weights += kWidth) {
      V factors[kVectors];
      KINGLET_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) factors[v] = Avx2::load(weights + v * Avx2::kLanes);
      KINGLET_UNROLL
      for (std::size_t row = 0; row < kRows; ++row) {
        const V number = Avx2::set(rows[row / kOfPointer][row % kOfPointer * of.laid->step]);
        KINGLET_UNROLL
        for (std::size_t v = 0; v < kVectors; ++v) sums[row][v] = Avx2::fma(number, factors[v], sums[row][v]);
      }
      for (const float*& three : rows) ++three;
    }
  }

  void end(const Product<float>& of, std::size_t first) {
    if (of.added != nullptr)
      each([&](V sum, std::size_t row, std::size_t at) {
        return Avx2::add(sum, Avx2::load(of.added + row * of.step + first + at));
      });
    if (of.least != nullptr)
      each([least = Avx2::set(*of.least)](V sum, std::size_t, std::size_t) { return Avx2::max(sum, least); });
    if (of.most != nullptr)
      each([most = Avx2::set(*of.most)](V sum, std::size_t, std::size_t) { return Avx2::min(sum, most); });
    each([&](V sum, std::size_t row, std::size_t at) {
      Avx2::store(of.output + row * of.step + first + at, sum);
      return sum;
    });
  }
};

template <std::size_t... kBeforeOfOne, std::size_t... kBefore>
consteval Form<float> form_of(std::index_sequence<kBeforeOfOne...>, std::index_sequence<kBefore...>) {
  return {.tile = {.together = 1,
                   .lanes = Avx2::kLanes,
                   .rows = sizeof...(kBefore),
                   .rows_of_one = sizeof...(kBeforeOfOne),
                   .vectors = 2,
                   .most_numbers = kMostPanelNumbers},
          .weave = {},
          .multiply = {{multiply_blocks<Block<1, kBeforeOfOne + 1>>...}, {multiply_blocks<Block<2, kBefore + 1>>...}}};
}

}  // namespace

constexpr Form<float> kAvx2 = form_of(std::make_index_sequence<14>(), std::make_index_sequence<6>());

}  // namespace kinglet::engine::kernels::woven
#endif
