// SPDX-License-Identifier: Apache-2.0
// Before:     s = Shape(x) or Size(x); or d = Gather(Shape(x), i)
// After:      s or d is a constant
// Conditions: the asked dimensions of x are known (all of them for Shape and Size, the i-th for Gather with a constant
//             scalar i along axis 0); the result is no graph output.
#include <algorithm>

#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

// Dimensions that Shape(x) {start, end} lists; nothing when the rank is unknown.
std::optional<std::vector<std::int64_t>> listed(const Graph& graph, const Node& node) {
  const std::optional<Shape>& shape = graph.value(node.inputs[0]).shape;
  if (!shape) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(shape->size());
  const auto place = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t start = place(node.attributes.get_int("start", 0));
  const std::int64_t end = place(node.attributes.get_int("end", rank));
  if (start >= end) return std::vector<std::int64_t>{};
  return std::vector<std::int64_t>(shape->begin() + start, shape->begin() + end);
}

std::optional<Tensor> answer_gather(const Graph& graph, const Node& node) {
  const NodeId source = producer_of(graph, node.inputs[0], {"Shape"});
  const Tensor* index = fixed_input(graph, node, 1);
  if (source == kNoNode || index == nullptr || index->element_count() != 1 || index->shape().size() > 1) {
    return std::nullopt;
  }
  const std::optional<std::vector<std::int64_t>> dims = listed(graph, graph.node(source));
  if (!dims) return std::nullopt;
  const std::int64_t asked = index->to_int64s()[0];
  const std::int64_t at = asked < 0 ? asked + static_cast<std::int64_t>(dims->size()) : asked;
  if (at < 0 || at >= static_cast<std::int64_t>(dims->size())) return std::nullopt;
  const std::int64_t dim = (*dims)[static_cast<std::size_t>(at)];
  if (dim == kUnknownDim) return std::nullopt;
  return Tensor::of<std::int64_t>(index->shape(), {dim});
}

std::optional<Tensor> answer(const Graph& graph, const Node& node) {
  if (is_op(node, "Gather")) return answer_gather(graph, node);
  if (is_op(node, "Size")) {
    const std::optional<Shape>& shape = graph.value(node.inputs[0]).shape;
    const std::optional<std::int64_t> count = shape ? element_count(*shape) : std::nullopt;
    if (!count) return std::nullopt;
    return Tensor::of<std::int64_t>({}, {*count});
  }
  const std::optional<std::vector<std::int64_t>> dims = listed(graph, node);
  if (!dims || !is_static(*dims)) return std::nullopt;
  return Tensor::of<std::int64_t>({static_cast<Dim>(dims->size())}, std::span<const std::int64_t>(*dims));
}

bool fold(Graph& graph, NodeId id) {
  const ValueId output = graph.node(id).outputs[0];
  if (graph.is_output(output)) return false;
  std::optional<Tensor> tensor = answer(graph, graph.node(id));
  if (!tensor) return false;
  graph.detach_output(output);
  graph.remove_node(id);
  graph.set_constant(output, *std::move(tensor));
  return true;
}

}  // namespace

const NodePass fold_shapes{{"Shape", "Size", "Gather"}, fold};

}  // namespace kinglet::engine::passes
