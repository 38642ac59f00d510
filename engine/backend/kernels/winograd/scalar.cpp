// SPDX-License-Identifier: Apache-2.0
// Why: the forms of the Winograd kernel that any processor has: the twins of the others.
#include "engine/backend/kernels/vectors/scalar.h"
#include "engine/backend/kernels/vectors/scalar_half.h"
#include "engine/backend/kernels/winograd/transforms.h"
#include "engine/backend/kernels/woven/form.h"

namespace kinglet::engine::kernels::winograd {
namespace {

// The channels [first, end) of one tile and output upon a sum.
template <std::size_t kTiles, std::size_t kVectors>
Half add_up(const Product<Half>& of, std::size_t at, std::size_t first, std::size_t end, Half sum) {
  for (std::size_t channel = first; channel < end; ++channel) {
    sum = ScalarHalf::fma(of.tiles[channel * kTiles + at / kVectors], of.weights[channel * kVectors + at % kVectors],
                          sum);
  }
  return sum;
}

// Sums of as many channels, and upon them what fills no vector of ARM's.
template <std::size_t kTiles, std::size_t kVectors>
void multiply_one_of_halves(const Product<Half>& of) {
  const std::size_t whole = of.channels - of.channels % woven::kLanes<Half>;
  for (std::size_t at = 0; at < kTiles * kVectors; ++at) {
    Half sum{};
    for (std::size_t first = 0; first < whole; first += kMostSummed<Half>) {
      const std::size_t end = whole - first < kMostSummed<Half> ? whole : first + kMostSummed<Half>;
      const Half of_some = add_up<kTiles, kVectors>(of, at, first, end, Half{});
      sum = first == 0 ? of_some : ScalarHalf::add(of_some, sum);
    }
    of.sums[at] = add_up<kTiles, kVectors>(of, at, whole, of.channels, sum);
  }
}

constexpr std::size_t kTiles = 3, kVectors = 2;

template <std::size_t kTilesOfGroup, std::size_t kVectorsOfBlock>
void multiply_halves(const Product<Half>& of) {
  for (std::size_t sum = 0; sum < of.count; ++sum) {
    Product<Half> one = of;
    one.tiles += sum * of.tiles_step;
    one.weights += sum * of.channels * kVectorsOfBlock;
    one.sums += sum * kTiles * kVectors;
    multiply_one_of_halves<kTilesOfGroup, kVectorsOfBlock>(one);
  }
}

consteval Form<Half> form_of_halves() {
  auto form = form_without_products<ScalarHalf, kTiles, kVectors>();
  [&form]<std::size_t... kBefore>(std::index_sequence<kBefore...>) {
    ((form.multiply[0][kBefore] = multiply_halves<kBefore + 1, 1>), ...);
    ((form.multiply[1][kBefore] = multiply_halves<kBefore + 1, 2>), ...);
  }(std::make_index_sequence<kTiles>());
  return form;
}

}  // namespace

constexpr Form<float> kScalar = form_of<Scalar, kTiles>();
constexpr Form<Half> kScalarHalf = form_of_halves();

}  // namespace kinglet::engine::kernels::winograd
