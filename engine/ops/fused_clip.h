// SPDX-License-Identifier: Apache-2.0
// Why: nodes may carry a fused activation (graph/fused_clip.h); evaluate_node applies it once, after any operator.
#pragma once

#include <algorithm>
#include <span>

#include "engine/graph/fused_clip.h"
#include "engine/graph/tensor.h"

namespace kinglet::engine {

// Clips every f32 output to the node's fused range; nothing when the node has none. NaN stays NaN.
inline void apply_fused_clip(const Node& node, std::span<Tensor> outputs) {
  const FusedClip clip = fused_clip(node);
  if (clip.open()) return;
  for (Tensor& output : outputs) {
    if (output.type() != DataType::kF32) continue;
    for (float& x : output.mutable_data<float>()) x = std::min(std::max(x, clip.min), clip.max);
  }
}

}  // namespace kinglet::engine
