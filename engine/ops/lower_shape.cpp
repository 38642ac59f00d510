// SPDX-License-Identifier: Apache-2.0
// Operators that only move numbers, on XNNPACK.
#include <algorithm>
#include <numeric>

#include "engine/backend/xnnpack/subgraph_builder.h"
#include "engine/ops/common.h"
#include "engine/ops/lower.h"

namespace kinglet::engine::ops {
namespace {

using xnn::Dims;
using xnn::Operand;
using xnn::SubgraphBuilder;

std::optional<std::vector<std::int64_t>> constant_ints(const Graph& graph, const Node& node, std::size_t input) {
  if (input >= node.inputs.size()) return std::nullopt;
  const Tensor* tensor = graph.constant(node.inputs[input]);
  if (tensor == nullptr || !kIndices.contains(tensor->type())) return std::nullopt;
  return tensor->to_int64s();
}

// Constant axes of an input, or 0 .. count-1; nothing when they are computed.
std::optional<std::vector<std::size_t>> axes_of(const Graph& graph, const Node& node, std::size_t input,
                                                std::size_t count, std::size_t rank) {
  std::vector<std::size_t> axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  if (!is_given(node, input)) return axes;
  const auto given = constant_ints(graph, node, input);
  if (!given || given->size() != count) return std::nullopt;
  for (std::size_t i = 0; i < count; ++i) axes[i] = axis_index((*given)[i], rank);
  return axes;
}

}  // namespace

Result<bool> lower_concat(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Layout layout = builder.layout(node.outputs[0]);
  const std::size_t axis = axis_index(node.attributes.get_int("axis", 0), graph.value(node.outputs[0]).shape->size());
  std::vector<Operand> inputs;
  for (const ValueId input : node.inputs) inputs.push_back(KINGLET_TRY(builder.input(input, layout)));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.concatenate(physical_axis(axis, layout), inputs, output));
  return true;
}

Result<bool> lower_split(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const std::size_t axis = axis_index(node.attributes.get_int("axis", 0), graph.value(node.inputs[0]).shape->size());
  std::size_t start = 0;
  for (const ValueId value : node.outputs) {
    if (value == kNoValue) return false;
    const Layout layout = builder.layout(value);
    const Operand input = KINGLET_TRY(builder.input(node.inputs[0], layout));
    const Operand output = KINGLET_TRY(builder.output(value));
    const Dims sizes = builder.dims(output);
    Dims offsets(sizes.size(), 0);
    offsets.at(physical_axis(axis, layout)) = start;
    start += sizes.at(physical_axis(axis, layout));
    KINGLET_TRY(builder.slice(offsets, sizes, input, output));
  }
  return true;
}

Result<bool> lower_slice(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Shape& shape = *graph.value(node.inputs[0]).shape;
  const auto starts = constant_ints(graph, node, 1);
  if (!starts) return false;
  const auto axes = axes_of(graph, node, 3, starts->size(), shape.size());
  if (!axes) return false;
  if (is_given(node, 4)) {
    const auto steps = constant_ints(graph, node, 4);
    if (!steps || !std::ranges::all_of(*steps, [](auto step) { return step == 1; })) return false;
  }
  const Layout layout = builder.layout(node.outputs[0]);
  Dims offsets(shape.size(), 0);
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const std::int64_t size = shape.at((*axes)[i]);
    std::int64_t start = (*starts)[i];
    if (start < 0) start = start < -size ? 0 : start + size;
    offsets[physical_axis((*axes)[i], layout)] = static_cast<std::size_t>(std::min(start, size));
  }
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], layout));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.slice(offsets, Dims(builder.dims(output)), input, output));
  return true;
}

Result<bool> lower_reshape(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Operand input = KINGLET_TRY(builder.input_in_logical_order(node.inputs[0]));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.reshape(input, output));
  return true;
}

Result<bool> lower_transpose(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const std::size_t rank = graph.value(node.inputs[0]).shape->size();
  std::vector<std::int64_t> permutation = node.attributes.get_ints("perm");
  if (permutation.empty()) {
    for (std::size_t i = rank; i-- > 0;) permutation.push_back(static_cast<std::int64_t>(i));
  }
  if (permutation.size() != rank || rank == 0) return false;
  const Layout from = builder.layout(node.inputs[0]);
  const Layout to = builder.layout(node.outputs[0]);
  Dims physical(rank);
  for (std::size_t place = 0; place < rank; ++place) {
    physical[place] = physical_axis(static_cast<std::size_t>(permutation[logical_axis(place, to)]), from);
  }
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], from));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  if (std::ranges::is_sorted(physical)) {
    KINGLET_TRY(builder.reshape(input, output));
  } else {
    KINGLET_TRY(builder.transpose(physical, input, output));
  }
  return true;
}

Result<bool> lower_pad(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const std::size_t rank = graph.value(node.inputs[0]).shape->size();
  const auto pads = constant_ints(graph, node, 1);
  if (!pads || pads->size() % 2 != 0 || node.attributes.get_string("mode", "constant") != "constant") return false;
  const std::size_t count = pads->size() / 2;
  const auto axes = axes_of(graph, node, 3, count, rank);
  if (!axes || std::ranges::any_of(*pads, [](auto pad) { return pad < 0; })) return false;
  float value = 0;
  if (is_given(node, 2)) {
    const Tensor* constant = graph.constant(node.inputs[2]);
    if (constant == nullptr || constant->type() != DataType::kF32 || constant->element_count() != 1) return false;
    value = constant->data<float>()[0];
  }
  const Layout layout = builder.layout(node.outputs[0]);
  Dims before(rank, 0);
  Dims after(rank, 0);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t place = physical_axis((*axes)[i], layout);
    before[place] = static_cast<std::size_t>((*pads)[i]);
    after[place] = static_cast<std::size_t>((*pads)[count + i]);
  }
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], layout));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.pad(before, after, value, input, output));
  return true;
}

Result<bool> lower_copy(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.outputs.size() != 1) return false;
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], builder.layout(node.outputs[0])));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.reshape(input, output));
  return true;
}

}  // namespace kinglet::engine::ops
