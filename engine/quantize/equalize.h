// SPDX-License-Identifier: Apache-2.0
// Why: one channel with large weights makes the levels of all others coarse. Where a function lets positive factors
// through (Relu, LeakyRelu, or nothing), a channel may be made smaller in one convolution and larger in the next: the
// answers stay, the ranges become alike (cross-layer equalisation; Nagel et al. 2019, arXiv:1906.04721, section 4.1).
#pragma once

#include <string_view>

#include "engine/graph/graph.h"

namespace kinglet::engine {

// Changes weights and biases of pairs of layers that are joined by such a function alone. Exact but for the rounding of
// float32. What lies between the two of a pair is not what it was, channel by channel: such values are listed in the
// graph's metadata, for those who compare values by name. Gives the number of pairs.
int equalize(Graph& graph);

inline constexpr std::string_view kRescaledProperty = "kinglet.rescaled";  // names, one a line

}  // namespace kinglet::engine
