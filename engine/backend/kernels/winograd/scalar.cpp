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
void multiply_halves(const Product<Half>& of) {
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

}  // namespace

constexpr Form<float> kScalar{.lanes = Scalar::kLanes,
                              .tiles = 3,
                              .two = kTransforms<Scalar, kTwo>,
                              .four = kTransforms<Scalar, kFour>,
                              .strided_two = kTransforms<Scalar, kStridedTwo>,
                              .multiply = {{multiply<Scalar, 1, 1>, multiply<Scalar, 2, 1>, multiply<Scalar, 3, 1>},
                                           {multiply<Scalar, 1, 2>, multiply<Scalar, 2, 2>, multiply<Scalar, 3, 2>}}};

constexpr Form<Half> kScalarHalf{.lanes = ScalarHalf::kLanes,
                                 .tiles = 3,
                                 .two = kTransforms<ScalarHalf, kTwo>,
                                 .four = kTransforms<ScalarHalf, kFour>,
                                 .strided_two = kTransforms<ScalarHalf, kStridedTwo>,
                                 .multiply = {{multiply_halves<1, 1>, multiply_halves<2, 1>, multiply_halves<3, 1>},
                                              {multiply_halves<1, 2>, multiply_halves<2, 2>, multiply_halves<3, 2>}}};

}  // namespace kinglet::engine::kernels::winograd
