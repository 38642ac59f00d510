// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/normalize.h"

#include <algorithm>

#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::engine::ops {

Result<void> normalize_node(Graph& graph, NodeId id, std::int64_t opset) {
  const Op* op = find_op(graph.node(id).domain, graph.node(id).op_type);
  KINGLET_CHECK(op != nullptr);
  graph.attributes(id).remove("consumed_inputs");
  // Old forms may have fewer inputs than new ones, but each has the first one and a result.
  const Node& node = graph.node(id);
  if (op->min_inputs > 0 && (node.inputs.empty() || node.inputs[0] == kNoValue)) {
    return refuse(graph, id, ErrorCode::kBadData, "input 0 is missing");
  }
  if (node.outputs.empty()) return refuse(graph, id, ErrorCode::kBadData, "has no output");
  if (op->normalize == nullptr) return {};
  // Old forms may have fewer inputs, but none without the first, and none with a hole where one is needed.
  const std::vector<ValueId>& inputs = graph.node(id).inputs;
  const std::size_t needed = std::min(inputs.size(), static_cast<std::size_t>(op->min_inputs));
  const auto hole = std::find(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(needed), kNoValue);
  if (inputs.empty() || hole != inputs.begin() + static_cast<std::ptrdiff_t>(needed)) {
    return refuse(graph, id, ErrorCode::kBadData, format_text("input {} is missing", hole - inputs.begin()));
  }
  return op->normalize(graph, id, opset);
}

ValueId add_node_constant(Graph& graph, NodeId id, std::string_view role, Tensor tensor) {
  return graph.add_constant(format_text("{}_{}", graph.node(id).name, role), std::move(tensor));
}

Tensor int64_tensor(std::span<const std::int64_t> values) {
  return Tensor::of<std::int64_t>({static_cast<Dim>(values.size())}, values);
}

void set_or_add_input(Graph& graph, NodeId id, std::size_t index, ValueId value) {
  if (graph.node(id).inputs.size() <= index) graph.resize_inputs(id, index + 1);
  graph.set_input(id, index, value);
}

void ints_to_input(Graph& graph, NodeId id, std::string_view attribute, std::size_t index) {
  if (graph.node(id).attributes.find(attribute) == nullptr) return;
  const std::vector<std::int64_t> values = graph.node(id).attributes.get_ints(attribute);
  set_or_add_input(graph, id, index, add_node_constant(graph, id, attribute, int64_tensor(values)));
  graph.attributes(id).remove(attribute);
}

Result<void> normalize_legacy_broadcast(Graph& graph, NodeId id, std::int64_t opset) {
  if (opset >= 7) return {};
  const bool broadcasts = graph.node(id).attributes.get_int("broadcast", 0) != 0;
  const bool has_axis = graph.node(id).attributes.find("axis") != nullptr;
  const std::int64_t axis = graph.node(id).attributes.get_int("axis", -1);
  graph.attributes(id).remove("broadcast");
  graph.attributes(id).remove("axis");
  if (!broadcasts || !has_axis || graph.node(id).inputs.size() != 2) return {};
  const std::optional<Shape>& a = graph.value(graph.node(id).inputs[0]).shape;
  const std::optional<Shape>& b = graph.value(graph.node(id).inputs[1]).shape;
  if (!a || !b)
    return refuse(graph, id, ErrorCode::kUnsupported, "old-style broadcast of inputs whose rank is unknown");
  const std::size_t start = KINGLET_TRY(normalize_axis(axis, a->size()));
  if (start + b->size() > a->size()) {
    return refuse(graph, id, ErrorCode::kBadData,
                  format_text("axis {} cannot align {} under {}", axis, to_string(*b), to_string(*a)));
  }
  std::vector<std::int64_t> axes;
  for (std::size_t i = b->size(); i < a->size() - start; ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (axes.empty()) return {};
  const ValueId added = add_node_constant(graph, id, "axes", int64_tensor(axes));
  const ValueId operand = graph.node(id).inputs[1];
  graph.set_input(id, 1, insert_before(graph, id, "Unsqueeze", {operand, added}, {}, graph.value(operand).type));
  return {};
}

ValueId insert_before(Graph& graph, NodeId before, std::string_view op_type, std::vector<ValueId> inputs,
                      Attributes attributes, DataType type) {
  const std::string name = format_text("{}_{}", graph.node(before).name, op_type);
  const ValueId made = graph.add_value(name, type, std::nullopt);
  graph.insert_node(before, Node{.op_type = std::string(op_type),
                                 .domain = {},
                                 .name = format_text("{}_{}", name, std::to_underlying(made)),
                                 .inputs = std::move(inputs),
                                 .outputs = {made},
                                 .attributes = std::move(attributes)});
  return made;
}

void become(Graph& graph, NodeId id, std::string_view op_type, const std::vector<ValueId>& inputs,
            Attributes attributes) {
  graph.set_op_type(id, "", std::string(op_type));
  graph.resize_inputs(id, 0);
  graph.resize_inputs(id, inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] != kNoValue) graph.set_input(id, i, inputs[i]);
  }
  graph.attributes(id) = std::move(attributes);
}

std::unexpected<Error> refuse(const Graph& graph, NodeId id, ErrorCode code, std::string message, std::string hint) {
  const Node& node = graph.node(id);
  return fail(code, std::move(message), format_text("node \"{}\" ({})", printable(node.name), node.op_type),
              std::move(hint));
}

}  // namespace kinglet::engine::ops
