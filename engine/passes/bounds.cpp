// SPDX-License-Identifier: Apache-2.0
#include "engine/passes/bounds.h"

#include <algorithm>
#include <cmath>

#include "engine/base/format.h"
#include "engine/graph/float16.h"
#include "engine/graph/fused_clip.h"

namespace kinglet::engine {
namespace {

// Depth of the search for a proof; chains of pools and reshapes in real models are shorter.
constexpr int kProofDepth = 16;

std::optional<float> bound(const Graph& graph, const Node& node, std::size_t index, float fallback) {
  if (!has_input(node, index)) return fallback;
  const Tensor* constant = fixed_input(graph, node, index);
  if (constant == nullptr || !is_float(constant->type()) || constant->element_count() != 1) return std::nullopt;
  const float number = constant->to_floats()[0];
  if (std::isnan(number)) return std::nullopt;
  return number;
}

bool is_never_negative(const Graph& graph, ValueId id, int depth) {
  if (const Tensor* constant = fixed_constant(graph, id)) {
    return is_float(constant->type()) && std::ranges::all_of(constant->to_floats(), [](float x) { return x >= 0; });
  }
  if (depth == 0 || graph.value(id).producer == kNoNode) return false;
  const Node& node = graph.node(graph.value(id).producer);
  if (node.outputs[0] != id || !node.domain.empty()) return false;
  if (fused_clip(node).min >= 0) return true;
  switch (traits_of(node).never_negative) {
    case NeverNegative::kAlways:
      return true;
    case NeverNegative::kLikeFirst:
      return windows_hold_data(node) && is_never_negative(graph, node.inputs[0], depth - 1);
    case NeverNegative::kLikeInputs:
      return std::ranges::all_of(
          node.inputs, [&](ValueId input) { return input != kNoValue && is_never_negative(graph, input, depth - 1); });
    case NeverNegative::kUnknown:
      break;
  }
  const std::optional<Bounds> bounds = bounds_of(graph, node);
  return bounds && bounds->min >= 0;
}

ValueId bound_constant(Graph& graph, NodeId id, float number, std::string_view what, DataType type) {
  if (!std::isfinite(number)) return kNoValue;
  Tensor tensor = type == DataType::kF16 ? Tensor::of<Half>({}, {to_half(number)}) : Tensor::of<float>({}, {number});
  return graph.add_constant(format_text("{}.{}", graph.node(id).name, what), std::move(tensor));
}

}  // namespace

std::optional<Bounds> bounds_of(const Graph& graph, const Node& node) {
  const Clamp clamp = traits_of(node).clamp;
  if (clamp == Clamp::kNo || !is_float(graph.value(node.inputs[0]).type)) return std::nullopt;
  Bounds bounds;
  if (clamp == Clamp::kAboveZero) {
    bounds.min = 0;
    return bounds;
  }
  const std::optional<float> min = bound(graph, node, 1, bounds.min);
  const std::optional<float> max = bound(graph, node, 2, bounds.max);
  if (!min || !max || *min > *max) return std::nullopt;
  return Bounds{.min = *min, .max = *max};
}

void set_bounds(Graph& graph, NodeId id, const Bounds& bounds) {
  const DataType type = graph.value(graph.node(id).inputs[0]).type;
  if (bounds.min == 0 && bounds.max == std::numeric_limits<float>::infinity()) {
    graph.set_op_type(id, "", "Relu");
    graph.resize_inputs(id, 1);
    return;
  }
  graph.set_op_type(id, "", "Clip");
  const ValueId min = bound_constant(graph, id, bounds.min, "min", type);
  const ValueId max = bound_constant(graph, id, bounds.max, "max", type);
  graph.resize_inputs(id, max != kNoValue ? 3 : min != kNoValue ? 2 : 1);
  if (min != kNoValue) graph.set_input(id, 1, min);
  if (min == kNoValue && max != kNoValue) graph.set_input(id, 1, kNoValue);
  if (max != kNoValue) graph.set_input(id, 2, max);
}

bool is_never_negative(const Graph& graph, ValueId id) { return is_never_negative(graph, id, kProofDepth); }

}  // namespace kinglet::engine
