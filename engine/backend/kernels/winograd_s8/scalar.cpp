// SPDX-License-Identifier: Apache-2.0
// Why: the form of the Winograd kernel of 8 bits that any processor has: the twin of the others.
#include "engine/backend/kernels/convolution_parts.h"
#include "engine/backend/kernels/winograd_s8/transforms.h"

namespace kinglet::engine::kernels::winograd_s8 {
namespace {

template <std::size_t kTiles>
void multiply(const Product& of) {
  for (std::size_t i = 0; i < kTiles * kLanes; ++i) {
    const std::int16_t* numbers = of.tiles + i / kLanes * kLanes;
    const std::int16_t* weights = of.weights + i % kLanes;
    std::uint32_t sum = 0;
    for (std::size_t channel = 0; channel < of.vectors * kLanes; ++channel) {
      const int number = numbers[channel / kLanes * kTiles * kLanes + channel % kLanes];
      sum += static_cast<std::uint32_t>(number * weights[channel * kLanes]);
    }
    of.sums[i] = static_cast<std::int32_t>(sum);
  }
}

void levels(const LevelsOfTile& of) {
  const Levels levels{.zero = of.bounds->zero[0], .least = of.bounds->least[0], .most = of.bounds->most[0]};
  for (std::size_t i = 0; i < kOutputs * kLanes; ++i)
    of.to[i] = to_level(static_cast<std::uint32_t>(of.sums[i]), of.factors[i % kLanes], levels);
}

}  // namespace

constexpr Form kScalar{.input = transform_input<VectorsOf<kLanes>>,
                       .multiply = {multiply<1>, multiply<2>, multiply<3>, multiply<4>, multiply<5>, multiply<6>,
                                    multiply<7>, multiply<8>},
                       .output = transform_output<VectorsOf<kLanes>>,
                       .levels = levels};

}  // namespace kinglet::engine::kernels::winograd_s8
