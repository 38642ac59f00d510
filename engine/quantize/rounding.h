// SPDX-License-Identifier: Apache-2.0
// Why: the nearest level of each weight is not the best one for their sum. Weights go up or down so that the layer's
// results change least (the layer-wise problem of AdaRound, Nagel et al. 2020, arXiv:2004.10568, equation 20, solved by
// descent over single weights).
#pragma once

#include <map>
#include <span>
#include <vector>

#include "engine/quantize/moments.h"
#include "engine/quantize/weights.h"

namespace kinglet::engine {

// For each channel e of errors, weight by weight, makes e^T covariance e smaller; a level never leaves the two around
// its weight. Gives the number of levels that changed.
std::size_t improve_rounding(std::span<const float> weights, const WeightView& view, const Moments& moments,
                             QuantizedWeights& rounded);

// The same layers are rounded again for each trial of ranges: their levels are worked out once.
class Rounding {
 public:
  explicit Rounding(std::map<NodeId, Moments> moments) : moments_(std::move(moments)) {}

  void improve(NodeId layer, std::span<const float> weights, const WeightView& view, QuantizedWeights& rounded);

 private:
  struct Known {
    std::vector<float> scales;
    std::vector<std::int8_t> before, after;
  };
  std::map<NodeId, Moments> moments_;
  std::map<NodeId, Known> known_;
};

}  // namespace kinglet::engine
