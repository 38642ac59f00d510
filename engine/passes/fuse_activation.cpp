// SPDX-License-Identifier: Apache-2.0
// Before:     y = Conv / Gemm / Add / Sub / Mul / Div / pool (...), which Traits::takes_clip names; z = Relu(y) or
//             Clip(y, a, b)
// After:      z = the same {kinglet_min=a, kinglet_max=b}
// Conditions: y is read by this node alone, is no graph output and is f32; the node makes nothing else; the bounds
//             are fixed constants with a < b. Plan only: ONNX has no such attributes (engine/graph/fused_clip.h says
//             what they do).
#include <algorithm>
#include <limits>
#include <string>

#include "engine/graph/fused_clip.h"
#include "engine/passes/bounds.h"
#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

bool fuse(Graph& graph, NodeId id) {
  const Node& activation = graph.node(id);
  const ValueId middle = activation.inputs[0];
  const NodeId producer = producer_of(graph, middle, [](const Node& node) { return traits_of(node).takes_clip; });
  if (producer == kNoNode || !graph.has_single_use(middle) || graph.node(producer).outputs.size() != 1) return false;
  if (graph.value(middle).type != DataType::kF32) return false;
  const std::optional<Bounds> bounds = bounds_of(graph, activation);
  if (!bounds) return false;
  const FusedClip before = fused_clip(graph.node(producer));
  const float min = std::clamp(before.min, bounds->min, bounds->max);
  const float max = std::clamp(before.max, bounds->min, bounds->max);
  if (!(min < max) || !bypass_node(graph, id, middle)) return false;
  if (min > -kInfinity) graph.attributes(producer).set(std::string(kClipMinAttribute), min);
  if (max < kInfinity) graph.attributes(producer).set(std::string(kClipMaxAttribute), max);
  return true;
}

}  // namespace

const NodePass fuse_activation{is_clamp, fuse};

}  // namespace kinglet::engine::passes
