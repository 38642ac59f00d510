// SPDX-License-Identifier: Apache-2.0
// Before:     y = Op(x, w) of float16; Cast(.., to=float16)
// After:      the same of float32, with a Cast behind each float16 input and in front of each float16 output of the
//             graph
// Conditions: some value that is no graph input is float16. What lies between is no longer rounded to 11 bits: answers
//             may be nearer to those of the float32 model than the file's are. Plan only: a file keeps its size. Where
//             the processor computes in float16 the plan goes back to it node by node (decision 29).
#include <algorithm>
#include <set>

#include "engine/graph/float16.h"
#include "engine/ops/normalize.h"
#include "engine/ops/op.h"
#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

constexpr std::int64_t kOnnxFloat = 1;
constexpr std::int64_t kOnnxFloat16 = 10;

Tensor widened(const Tensor& tensor) {
  Tensor out(DataType::kF32, tensor.shape());
  std::ranges::transform(tensor.data<Half>(), out.mutable_data<float>().begin(),
                         [](Half half) { return to_float(half); });
  return out;
}

Attributes cast_to(std::int64_t type) {
  Attributes attributes;
  attributes.set("to", type);
  return attributes;
}

ValueId add_cast(Graph& graph, ValueId from, std::int64_t to, DataType type) {
  const ValueId made = graph.add_value(graph.value(from).name + "_cast", type, graph.value(from).shape);
  graph.add_node({.op_type = "Cast",
                  .domain = {},
                  .name = graph.value(made).name,
                  .inputs = {from},
                  .outputs = {made},
                  .attributes = cast_to(to)});
  return made;
}

void widen_inputs(Graph& graph) {
  for (const GraphInput& input : std::vector<GraphInput>(graph.inputs())) {
    if (graph.value(input.value).type != DataType::kF16 || graph.constant(input.value) != nullptr) continue;
    const std::vector<NodeId> readers = graph.consumers(input.value);
    const ValueId wide = add_cast(graph, input.value, kOnnxFloat, DataType::kF32);
    for (const NodeId reader : readers) {
      for (std::size_t i = 0; i < graph.node(reader).inputs.size(); ++i) {
        if (graph.node(reader).inputs[i] == input.value) graph.set_input(reader, i, wide);
      }
    }
  }
}

void narrow_outputs(Graph& graph) {
  for (const ValueId output : std::vector<ValueId>(graph.outputs())) {
    const Value& value = graph.value(output);
    if (value.type != DataType::kF16 || graph.is_input(output) || value.constant) continue;
    graph.take_output(output, add_cast(graph, output, kOnnxFloat16, DataType::kF16));
  }
}

void widen_nodes(Graph& graph, const std::set<ValueId>& kept) {
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (is_op(node, "Cast") && !kept.contains(node.outputs[0]) && node.attributes.get_int("to", 0) == kOnnxFloat16) {
      graph.attributes(id).set("to", kOnnxFloat);
    }
    const Attribute* value = graph.node(id).attributes.find("value");
    const Tensor* tensor = value == nullptr ? nullptr : std::get_if<Tensor>(value);
    if (tensor != nullptr && tensor->type() == DataType::kF16) graph.attributes(id).set("value", widened(*tensor));
  }
}

}  // namespace

Result<int> widen_halves(Graph& graph, PassBudget& budget) {
  const auto is_half = [&](ValueId id) { return graph.value(id).type == DataType::kF16; };
  const bool between = std::ranges::any_of(
      graph.values(), [&](ValueId id) { return is_half(id) && !graph.is_input(id) && !graph.is_output(id); });
  if (!between || !budget.left()) return 0;
  widen_inputs(graph);
  narrow_outputs(graph);
  const std::set<ValueId> kept(graph.outputs().begin(), graph.outputs().end());
  widen_nodes(graph, kept);
  for (const ValueId id : graph.values()) {
    if (!is_half(id) || graph.is_input(id) || kept.contains(id)) continue;
    if (const Tensor* constant = graph.constant(id)) graph.set_constant(id, widened(*constant));
    graph.set_type_and_shape(id, DataType::kF32, graph.value(id).shape);
  }
  if (!graph.sort()) return fail(ErrorCode::kInternal, "the graph has a cycle");
  KINGLET_TRY(infer_shapes(graph));
  budget.spend("float16", "Cast");
  return 1;
}

}  // namespace kinglet::engine::passes
