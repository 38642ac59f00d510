// SPDX-License-Identifier: Apache-2.0
// Why: the nearest level of each weight is not the best one for their sum. Weights go up or down so that the layer's
// results change least (the layer-wise problem of AdaRound, Nagel et al. 2020, arXiv:2004.10568, equation 20, solved by
// descent over single weights): an error in one weight may be taken back by another whose input moves alike.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "engine/base/error.h"
#include "engine/graph/graph.h"
#include "engine/quantize/calibration/samples.h"
#include "engine/quantize/weights/layers.h"
#include "engine/quantize/weights/weights.h"

namespace kinglet::engine {

// Of a layer's inputs, for each group of channels: the covariance of the numbers that one output's weights meet, in the
// order of the weights, WeightView::inner x inner.
using Moments = std::vector<std::vector<float>>;

// Of at most 32 samples and 32 places of each. Layers whose outputs have more than 1,152 weights each are left out: the
// matrix would be large and the samples few.
[[nodiscard]] Result<std::map<NodeId, Moments>> measure_moments(const Graph& graph, const std::vector<NodeId>& layers,
                                                                const Samples& samples, const Progress& progress);

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
