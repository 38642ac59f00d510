// SPDX-License-Identifier: Apache-2.0
// Why: how the numbers that a layer multiplies vary together on real pictures: an error in one weight may be taken back
// by another whose input moves alike.
#pragma once

#include <map>
#include <vector>

#include "engine/base/error.h"
#include "engine/graph/graph.h"
#include "engine/quantize/layers.h"
#include "engine/quantize/samples.h"

namespace kinglet::engine {

// Of a layer's inputs, for each group of channels: the covariance of the numbers that one output's weights meet, in the
// order of the weights, WeightView::inner x inner.
using Moments = std::vector<std::vector<float>>;

// Of at most 32 samples and 32 places of each. Layers whose outputs have more than 1,152 weights each are left out: the
// matrix would be large and the samples few.
[[nodiscard]] Result<std::map<NodeId, Moments>> measure_moments(const Graph& graph, const std::vector<NodeId>& layers,
                                                                const Samples& samples, const Progress& progress);

}  // namespace kinglet::engine
