// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/steps.h"

#include <algorithm>

#include "engine/ops/op.h"

namespace kinglet::engine {
namespace ops {
namespace {

double numbers_of(const Graph& graph, ValueId id) {
  if (id == kNoValue || !graph.value(id).shape) return 0;
  double count = 1;
  for (const Dim dim : *graph.value(id).shape) count *= dim == kUnknownDim ? 1.0 : static_cast<double>(dim);
  return count;
}

}  // namespace

double input_numbers(const Graph& graph, const Node& node, std::size_t i) {
  return i < node.inputs.size() ? numbers_of(graph, node.inputs[i]) : 0;
}

double output_numbers(const Graph& graph, const Node& node, std::size_t i) {
  return i < node.outputs.size() ? numbers_of(graph, node.outputs[i]) : 0;
}

double input_dim(const Graph& graph, const Node& node, std::size_t i, int axis) {
  if (i >= node.inputs.size() || node.inputs[i] == kNoValue || !graph.value(node.inputs[i]).shape) return 1;
  const Shape& shape = *graph.value(node.inputs[i]).shape;
  const auto at = axis < 0 ? static_cast<std::int64_t>(shape.size()) + axis : axis;
  if (at < 0 || at >= static_cast<std::int64_t>(shape.size())) return 1;
  return std::max(1.0, static_cast<double>(shape[static_cast<std::size_t>(at)]));
}

double convolution_steps(const Graph& graph, const Node& node, std::size_t weight) {
  const double numbers = input_numbers(graph, node, weight);
  return output_numbers(graph, node) * numbers / input_dim(graph, node, weight, 0) + numbers;
}

double product_steps(const Graph& graph, const Node& node) {
  const bool transposed = node.attributes.get_int("transA", 0) != 0;
  return output_numbers(graph, node) * input_dim(graph, node, 0, transposed ? -2 : -1);
}

double pool_steps(const Graph& graph, const Node& node) {
  double taps = 1;
  for (const std::int64_t size : node.attributes.get_ints("kernel_shape")) taps *= static_cast<double>(size);
  const double planes = input_dim(graph, node, 0, 0) * input_dim(graph, node, 0, 1);
  const double cells = std::min(taps, input_numbers(graph, node, 0) / planes);
  return output_numbers(graph, node) * (taps / planes + cells);
}

}  // namespace ops

double evaluation_steps(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  double steps = 1;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) steps += ops::input_numbers(graph, node, i);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) steps += ops::output_numbers(graph, node, i);
  const Op* op = find_op(node.domain, node.op_type);
  return op == nullptr || op->steps == nullptr ? steps : steps + op->steps(graph, node);
}

}  // namespace kinglet::engine
