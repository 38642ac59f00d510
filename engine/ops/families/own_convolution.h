// SPDX-License-Identifier: Apache-2.0
// Why: which QLinearConv engine/backend/kernels/ computes, and what the kernels have to know.
#pragma once

#include <memory>

#include "engine/backend/kernels/convolution_s8.h"
#include "engine/graph/graph.h"

namespace kinglet::engine::ops {

// Null: not on this processor, or of no form that a kernel is for; those are of i8 and run in integers.
[[nodiscard]] std::unique_ptr<kernels::ConvolutionS8> own_convolution(const Graph& graph, NodeId id);

}  // namespace kinglet::engine::ops
