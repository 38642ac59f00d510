// SPDX-License-Identifier: Apache-2.0
// Before:     a = Slice(x, 0, 4, axis), b = Slice(x, 4, 10, axis) ... in any order
// After:      a, b ... = Split(x, {4, 6 ...}) {axis}
// Conditions: each cuts that one axis by steps of 1, starts and ends are fixed constants, and together they take every
//             element of the axis once. x is not made by DequantizeLinear, which first moves behind its Slices.
#include <algorithm>

#include "engine/passes/slicing.h"

namespace kinglet::engine::passes {
namespace {

struct Part {
  NodeId slice = kNoNode;
  Cut cut;
};

// The only axis a Slice of steps of 1 cuts.
std::optional<Cut> only_cut(const Graph& graph, const Node& slice) {
  const std::optional<std::vector<Cut>> cuts = cuts_of(graph, slice);
  if (!cuts || cuts->size() != 1) return std::nullopt;
  const Dim length = (*graph.value(slice.inputs[0]).shape)[static_cast<std::size_t>(cuts->front().axis)];
  const std::optional<Cut> cut = resolved(cuts->front(), length);
  return cut && cut->step == 1 ? cut : std::nullopt;
}

// The Slices of `x` along the axis of `first`, from its begin to its end; empty when they leave or share an element.
std::vector<Part> parts_of(const Graph& graph, ValueId x, const Cut& first) {
  std::vector<Part> parts;
  for (const NodeId reader : graph.consumers(x)) {
    const Node& node = graph.node(reader);
    if (!is_op(node, "Slice") || node.inputs[0] != x) continue;
    const std::optional<Cut> cut = only_cut(graph, node);
    if (cut && cut->axis == first.axis) parts.push_back({reader, *cut});
  }
  std::ranges::sort(parts, {}, [](const Part& part) { return part.cut.start; });
  std::int64_t end = 0;
  for (const Part& part : parts) {
    if (part.cut.start != end) return {};
    end = part.cut.end;
  }
  const Dim length = (*graph.value(x).shape)[static_cast<std::size_t>(first.axis)];
  return parts.size() > 1 && end == length ? parts : std::vector<Part>();
}

bool fuse(Graph& graph, NodeId id) {
  const ValueId x = graph.node(id).inputs[0];
  if (producer_of(graph, x, {"DequantizeLinear"}) != kNoNode) return false;
  const std::optional<Cut> first = only_cut(graph, graph.node(id));
  if (!first) return false;
  const std::vector<Part> parts = parts_of(graph, x, *first);
  if (parts.empty()) return false;

  std::vector<std::int64_t> lengths;
  Node split{
      .op_type = "Split", .domain = {}, .name = graph.node(id).name, .inputs = {}, .outputs = {}, .attributes = {}};
  for (const Part& part : parts) {
    const Value& kept = graph.value(graph.node(part.slice).outputs[0]);
    lengths.push_back(part.cut.end - part.cut.start);
    split.outputs.push_back(graph.add_value(kept.name, kept.type, kept.shape));
  }
  const Dim count = static_cast<Dim>(lengths.size());
  split.inputs = {x, graph.add_constant(split.name + ".split",
                                        Tensor::of<std::int64_t>({count}, std::span<const std::int64_t>(lengths)))};
  split.attributes.set("axis", first->axis);
  const std::vector<ValueId> outputs = split.outputs;
  graph.insert_node(id, std::move(split));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    replace_value(graph, graph.node(parts[i].slice).outputs[0], outputs[i]);
    graph.remove_node(parts[i].slice);
  }
  return true;
}

}  // namespace

const NodePass fuse_slices_into_split{{"Slice"}, fuse};

}  // namespace kinglet::engine::passes
