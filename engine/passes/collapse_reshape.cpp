// SPDX-License-Identifier: Apache-2.0
// Before:     y = Reshape / Flatten / Squeeze / Unsqueeze (x); z = one of the same (y)
// After:      z = Reshape(x, constant shape of z)
// Conditions: y is read by this node alone; the shape of z is known but for at most one dimension (written as -1),
//             and has no 0, which Reshape would read as "copy". Order of elements is kept by all four, so only the
//             last counts.
#include <algorithm>

#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

std::optional<Tensor> shape_constant(const std::optional<Shape>& shape) {
  if (!shape || std::ranges::count(*shape, 0) > 0 || std::ranges::count(*shape, kUnknownDim) > 1) return std::nullopt;
  return Tensor::of<std::int64_t>({static_cast<Dim>(shape->size())}, std::span<const std::int64_t>(*shape));
}

bool collapse(Graph& graph, NodeId id) {
  const Node& last = graph.node(id);
  const NodeId first = inner_producer(graph, last.inputs[0], is_reshape);
  if (first == kNoNode) return false;
  std::optional<Tensor> shape = shape_constant(graph.value(last.outputs[0]).shape);
  if (!shape) return false;
  std::string name = last.name + ".shape";
  const ValueId shape_value = graph.add_constant(std::move(name), *std::move(shape));
  graph.resize_inputs(id, 2);
  graph.set_input(id, 0, graph.node(first).inputs[0]);
  graph.set_input(id, 1, shape_value);
  graph.set_op_type(id, "", "Reshape");
  graph.attributes(id) = {};
  graph.remove_node(first);
  return true;
}

}  // namespace

const NodePass collapse_reshape{is_reshape, collapse};

}  // namespace kinglet::engine::passes
