// SPDX-License-Identifier: Apache-2.0
// Why: the form of the kernel of woven rows for processors with AVX-512. XNNPACK's tile there is 32 outputs wide, of
// which layers of 16, 24 or 48 leave up to half empty. Here outputs are counted in eights, the lanes of half a
// register: a block is one or two registers and, at the end of a layer, half of one. Fourteen rows of 32 outputs take
// 28 of the 32 registers; one load brings a number into all lanes, so that rows are read where they lie and nothing is
// woven. Compiled for those processors (engine/CMakeLists.txt).
#if defined(__x86_64__)
#include <algorithm>
#include <utility>

#include "engine/backend/kernels/vectors/avx2.h"
#include "engine/backend/kernels/vectors/avx512.h"
#include "engine/backend/kernels/vectors/unroll.h"
#include "engine/backend/kernels/woven/blocks.h"
#include "engine/backend/kernels/woven/form.h"

namespace kinglet::engine::kernels::woven {
namespace {

constexpr std::size_t kHalf = Avx2::kLanes;

template <std::size_t kHalves, std::size_t kRows>
struct Block {
  static constexpr std::size_t kWhole = kHalves / 2;  // registers of a row
  static constexpr bool kHasHalf = kHalves % 2 != 0;
  static constexpr std::size_t kHalfAt = kWhole * Avx512::kLanes;
  static constexpr std::size_t kWidth = kHalves * kHalf;

  Avx512::Vector whole[kRows][std::max<std::size_t>(kWhole, 1)];
  Avx2::Vector half[kRows];

  // change(sum, row, first output, type of the register)
  template <typename Change>
  void each(const Change& change) {
    KINGLET_UNROLL
    for (std::size_t row = 0; row < kRows; ++row) {
      KINGLET_UNROLL
      for (std::size_t v = 0; v < kWhole; ++v) whole[row][v] = change(whole[row][v], row, v * Avx512::kLanes, Avx512{});
      if constexpr (kHasHalf) half[row] = change(half[row], row, kHalfAt, Avx2{});
    }
  }

  void begin(const Product<float>& of, std::size_t first) {
    each([&]<typename V>(auto, std::size_t, std::size_t at, V) { return V::load(of.bias + first + at); });
  }

  // Three rows have a pointer: with one for each there would be more than registers.
  void multiply_run(const Product<float>& of, const float* numbers, const float* weights) {
    constexpr std::size_t kOfPointer = 3;
    const std::size_t step = of.laid->step;
    const float* rows[(kRows + kOfPointer - 1) / kOfPointer];
    for (const float*& three : rows) three = std::exchange(numbers, numbers + kOfPointer * step);
    for (const float* end = rows[0] + of.laid->run_numbers; rows[0] != end; weights += kWidth) {
      Avx512::Vector factors[std::max<std::size_t>(kWhole, 1)];
      Avx2::Vector half_factors;
      KINGLET_UNROLL
      for (std::size_t v = 0; v < kWhole; ++v) factors[v] = Avx512::load(weights + v * Avx512::kLanes);
      if constexpr (kHasHalf) half_factors = Avx2::load(weights + kHalfAt);
      KINGLET_UNROLL
      for (std::size_t row = 0; row < kRows; ++row) {
        const float* number = rows[row / kOfPointer] + row % kOfPointer * step;
        KINGLET_UNROLL
        for (std::size_t v = 0; v < kWhole; ++v)
          whole[row][v] = Avx512::fma(Avx512::set(*number), factors[v], whole[row][v]);
        if constexpr (kHasHalf) half[row] = Avx2::fma(Avx2::set(*number), half_factors, half[row]);
      }
      for (const float*& three : rows) ++three;
    }
  }

  void end(const Product<float>& of, std::size_t first) {
    if (of.added != nullptr)
      each([&]<typename V>(auto sum, std::size_t row, std::size_t at, V) {
        return V::add(sum, V::load(of.added + row * of.step + first + at));
      });
    if (of.least != nullptr)
      each([&]<typename V>(auto sum, std::size_t, std::size_t, V) { return V::max(sum, V::set(*of.least)); });
    if (of.most != nullptr)
      each([&]<typename V>(auto sum, std::size_t, std::size_t, V) { return V::min(sum, V::set(*of.most)); });
    each([&]<typename V>(auto sum, std::size_t row, std::size_t at, V) {
      V::store(of.output + row * of.step + first + at, sum);
      return sum;
    });
  }
};

template <std::size_t... kBefore>
consteval Form<float> form_of(std::index_sequence<kBefore...>) {
  return {.tile = {.together = 1,
                   .lanes = kHalf,
                   .rows = sizeof...(kBefore),
                   .rows_of_one = sizeof...(kBefore),
                   .vectors = kMostVectors,
                   .most_numbers = kMostPanelNumbers},
          .weave = {},
          .multiply = {{multiply_blocks<Block<1, kBefore + 1>>...},
                       {multiply_blocks<Block<2, kBefore + 1>>...},
                       {multiply_blocks<Block<3, kBefore + 1>>...},
                       {multiply_blocks<Block<4, kBefore + 1>>...}}};
}

}  // namespace

constexpr Form<float> kAvx512 = form_of(std::make_index_sequence<kMostRows>());

}  // namespace kinglet::engine::kernels::woven
#endif
