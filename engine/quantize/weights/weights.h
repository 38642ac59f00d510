// SPDX-License-Identifier: Apache-2.0
// Why: the int8 weights of one layer, and what rounding them changes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/error.h"
#include "engine/quantize/weights/layers.h"

namespace kinglet::engine {

struct QuantizedWeights {
  std::vector<float> scales;        // one a channel; zero point 0
  std::vector<std::int8_t> levels;  // by channel, as WeightView says
  std::vector<std::int32_t> bias;   // in steps of input scale x scale of the channel
};

struct WeightOptions {
  bool per_channel = true;  // else one scale, repeated
  // Factors of input scale x weight scale / output scale that XNNPACK rounds by: scales are raised to the least.
  double input_scale = 1;
  double output_scale = 1;  // 0: the result is float
};

// Symmetric: |weight| at most 127 steps. A channel of zeros gets a scale that its bias fits. kBadData: a weight is NaN
// or infinite, or a bias needs more than 2^30 steps even so.
[[nodiscard]] Result<QuantizedWeights> quantize_weights(std::span<const float> weights, std::span<const float> bias,
                                                        const WeightView& view, const WeightOptions& options);
// Another bias for the same scales. kBadData as above.
[[nodiscard]] Result<void> set_bias(QuantizedWeights& weights, std::span<const float> bias,
                                    const WeightOptions& options);

}  // namespace kinglet::engine
