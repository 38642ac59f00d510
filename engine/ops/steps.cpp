// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/steps.h"

#include <algorithm>
#include <span>

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

const Shape* static_shape(const Graph& graph, const std::vector<ValueId>& ids, std::size_t index) {
  if (index >= ids.size() || ids[index] == kNoValue) return nullptr;
  const auto& shape = graph.value(ids[index]).shape;
  return shape && is_static(*shape) ? &*shape : nullptr;
}

std::int64_t count(std::span<const Dim> shape) { return element_count(shape).value_or(0); }

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

std::int64_t convolution_multiply_adds(const Graph& graph, const Node& node, std::size_t weight) {
  const Shape* filter = static_shape(graph, node.inputs, weight);
  const Shape* output = static_shape(graph, node.outputs, 0);
  if (filter == nullptr || output == nullptr || filter->empty()) return 0;
  return count(*output) * count(std::span(*filter).subspan(1));
}

std::int64_t product_multiply_adds(const Graph& graph, const Node& node, std::size_t weight) {
  const Shape* left = static_shape(graph, node.inputs, 0);
  const Shape* output = static_shape(graph, node.outputs, 0);
  if (left == nullptr || output == nullptr || left->empty() || static_shape(graph, node.inputs, weight) == nullptr) {
    return 0;
  }
  const bool transposed = node.attributes.get_int("transA", 0) != 0 && left->size() == 2;
  return count(*output) * (transposed ? left->front() : left->back());
}

double pool_steps(const Graph& graph, const Node& node) {
  double taps = 1;
  for (const std::int64_t size : node.attributes.get_ints("kernel_shape")) taps *= static_cast<double>(size);
  const double planes = input_dim(graph, node, 0, 0) * input_dim(graph, node, 0, 1);
  const double cells = std::min(taps, input_numbers(graph, node, 0) / planes);
  return output_numbers(graph, node) * (taps / planes + cells);
}

}  // namespace ops

std::int64_t multiply_adds(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Op* op = find_op(node.domain, node.op_type);
  return op == nullptr || op->multiply_adds == nullptr ? 0 : op->multiply_adds(graph, node);
}

double evaluation_steps(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  double steps = 1;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) steps += ops::input_numbers(graph, node, i);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) steps += ops::output_numbers(graph, node, i);
  const Op* op = find_op(node.domain, node.op_type);
  return op == nullptr || op->steps == nullptr ? steps : steps + op->steps(graph, node);
}

}  // namespace kinglet::engine
