// SPDX-License-Identifier: Apache-2.0
// Before:     d = x - ReduceMean(x); y = d / Sqrt(ReduceMean(d * d) + epsilon) * scale + bias
// After:      y = LayerNormalization(x, scale, bias) {axis, epsilon}
// Conditions: the result may use opset 17 (a session may, a file only if it has it); both means over the same last
//             axes, which they keep; d * d is Mul or Pow by 2; epsilon > 0 is one number; scale and bias are
//             constants of exactly the shape of those axes; every inner value is read by the pattern alone and is no
//             graph output.
#include <algorithm>

#include "engine/passes/product.h"

namespace kinglet::engine::passes {
namespace {

constexpr std::int64_t kLayerNormOpset = 17;

struct Scaled {
  ValueId made = kNoValue;   // the computed input
  ValueId other = kNoValue;  // the constant one
};

// `id` has this operator and a constant input.
std::optional<Scaled> match_with_constant(const Graph& graph, NodeId id, std::string_view op_type) {
  const Node& node = graph.node(id);
  if (!is_op(node, op_type) || has_fused_clip(node)) return std::nullopt;
  for (const std::size_t side : {1U, 0U}) {
    if (fixed_input(graph, node, side) != nullptr) {
      return Scaled{.made = node.inputs[1 - side], .other = node.inputs[side]};
    }
  }
  return std::nullopt;
}

// The first axis of a mean over the last ones, which it keeps.
std::optional<std::size_t> mean_from(const Graph& graph, const Node& mean) {
  const std::optional<Shape>& shape = graph.value(mean.inputs[0]).shape;
  const Tensor* axes = fixed_input(graph, mean, 1);
  if (!shape || axes == nullptr || mean.attributes.get_int("keepdims", 1) == 0) return std::nullopt;
  std::vector<std::size_t> normal;
  for (const std::int64_t axis : axes->to_int64s()) {
    const Result<std::size_t> at = normalize_axis(axis, shape->size());
    if (!at) return std::nullopt;
    normal.push_back(*at);
  }
  std::ranges::sort(normal);
  for (std::size_t i = 0; i < normal.size(); ++i) {
    if (normal[i] != shape->size() - normal.size() + i) return std::nullopt;
  }
  return normal.empty() ? std::nullopt : std::optional(normal.front());
}

struct Centred {
  ValueId x = kNoValue;
  ValueId difference = kNoValue;
  NodeId square = kNoNode;  // of the difference
  std::size_t axis = 0;
  double epsilon = 0;
};

// d / Sqrt(ReduceMean(d * d) + epsilon)
std::optional<Centred> match_division(const Graph& graph, NodeId id) {
  const Node& division = graph.node(id);
  const NodeId root = inner_producer(graph, division.inputs[1], {"Sqrt"});
  const NodeId sum = root == kNoNode ? kNoNode : inner_producer(graph, graph.node(root).inputs[0], {"Add"});
  if (sum == kNoNode) return std::nullopt;
  for (const std::size_t side : {1U, 0U}) {
    const std::optional<double> epsilon = scalar_beside(graph, graph.node(sum), side);
    const NodeId mean = inner_producer(graph, graph.node(sum).inputs[1 - side], {"ReduceMean"});
    if (!epsilon || !(*epsilon > 0) || mean == kNoNode) continue;
    const NodeId square = inner_producer(graph, graph.node(mean).inputs[0], {"Mul", "Pow"});
    const std::optional<std::size_t> axis = mean_from(graph, graph.node(mean));
    if (square == kNoNode || !axis) return std::nullopt;
    const ValueId difference = division.inputs[0];
    const Node& node = graph.node(square);
    const bool squares = is_op(node, "Mul") ? node.inputs[1] == difference : scalar_beside(graph, node, 1) == 2.0;
    if (!squares || node.inputs[0] != difference) return std::nullopt;
    return Centred{.x = kNoValue, .difference = difference, .square = square, .axis = *axis, .epsilon = *epsilon};
  }
  return std::nullopt;
}

// d = x - ReduceMean(x), read by the pattern alone.
std::optional<Centred> match_centred(const Graph& graph, NodeId division) {
  std::optional<Centred> match = match_division(graph, division);
  if (!match || graph.is_output(match->difference)) return std::nullopt;
  const NodeId minus = producer_of(graph, match->difference, {"Sub"});
  if (minus == kNoNode || has_fused_clip(graph.node(minus))) return std::nullopt;
  const NodeId mean = inner_producer(graph, graph.node(minus).inputs[1], {"ReduceMean"});
  match->x = graph.node(minus).inputs[0];
  if (mean == kNoNode || graph.node(mean).inputs[0] != match->x || mean_from(graph, graph.node(mean)) != match->axis) {
    return std::nullopt;
  }
  const bool alone = std::ranges::all_of(graph.consumers(match->difference),
                                         [&](NodeId id) { return id == division || id == match->square; });
  return alone ? match : std::nullopt;
}

bool fuse(Graph& graph, NodeId id) {
  const std::optional<Scaled> shift = match_with_constant(graph, id, "Add");
  const NodeId product = shift ? inner_producer(graph, shift->made, {"Mul"}) : kNoNode;
  const std::optional<Scaled> scale = product == kNoNode ? std::nullopt : match_with_constant(graph, product, "Mul");
  const NodeId division = scale ? inner_producer(graph, scale->made, {"Div"}) : kNoNode;
  const std::optional<Centred> match = division == kNoNode ? std::nullopt : match_centred(graph, division);
  if (!match || graph.value(match->x).type != graph.value(scale->other).type) return false;
  const Shape& shape = *graph.value(match->x).shape;
  const Shape last(shape.begin() + static_cast<std::ptrdiff_t>(match->axis), shape.end());
  if (graph.constant(scale->other)->shape() != last || graph.constant(shift->other)->shape() != last) return false;
  become_function(graph, id, "", "LayerNormalization", match->x);
  graph.resize_inputs(id, 3);
  graph.set_input(id, 1, scale->other);
  graph.set_input(id, 2, shift->other);
  graph.attributes(id).set("axis", static_cast<std::int64_t>(match->axis) - static_cast<std::int64_t>(shape.size()));
  graph.attributes(id).set("epsilon", static_cast<float>(match->epsilon));
  return true;
}

}  // namespace

const NodePass fuse_layer_norm{{"Add"}, fuse, kLayerNormOpset};

}  // namespace kinglet::engine::passes
