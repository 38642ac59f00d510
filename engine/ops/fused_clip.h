// SPDX-License-Identifier: Apache-2.0
// Why: nodes may carry a fused activation (graph/fused_clip.h); evaluate_node applies it once, after any operator.
#pragma once

#include "engine/graph/fused_clip.h"
#include "engine/ops/op.h"

namespace kinglet::engine {

// Clips every f32 output to the node's fused range, and the levels of an 8-bit operator to those of the range; nothing
// when the node has none. NaN stays NaN.
void apply_fused_clip(const Node& node, Inputs inputs, std::span<Tensor> outputs);

}  // namespace kinglet::engine
