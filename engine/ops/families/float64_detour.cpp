// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/families/float64_detour.h"

#include <algorithm>

#include "engine/ops/common.h"
#include "engine/ops/normalize.h"

namespace kinglet::engine::ops {
namespace {

constexpr std::int64_t kFloat64 = 11;

bool is_onnx(const Node& node, std::string_view op_type) { return node.domain.empty() && node.op_type == op_type; }

// The type of input 0 is known, and so is every number of it in float64.
bool is_exact_in_float64(DataType type) { return type != DataType::kI64; }

// The type that a Cast or CastLike makes, where that is known before inference has reached it.
std::optional<DataType> cast_type(const Graph& graph, const Node& node, ValueId x) {
  if (is_onnx(node, "Cast")) return type_of_number(node.attributes.get_int("to", 0));
  if (!is_onnx(node, "CastLike") || node.inputs.size() != 2 || node.inputs[1] == kNoValue) return std::nullopt;
  const ValueId like = node.inputs[1];
  const bool known = like == x || graph.is_input(like) || graph.constant(like) != nullptr;
  return known ? std::optional(graph.value(like).type) : std::nullopt;
}

// The only reader of the node's only output, when it is the operator and reads it as input 0.
NodeId next(const Graph& graph, NodeId id, std::string_view op_type) {
  if (id == kNoNode || graph.node(id).outputs.size() != 1 || graph.node(id).outputs[0] == kNoValue) return kNoNode;
  const ValueId output = graph.node(id).outputs[0];
  if (!graph.has_single_use(output)) return kNoNode;
  const NodeId reader = graph.consumers(output).front();
  const Node& node = graph.node(reader);
  const bool fits = (op_type.empty() || is_onnx(node, op_type)) && node.inputs[0] == output;
  return fits ? reader : kNoNode;
}

bool fold_log_sum_exp(Graph& graph, NodeId cast) {
  const ValueId x = graph.node(cast).inputs[0];
  const NodeId exp = next(graph, cast, "Exp");
  const NodeId sum = next(graph, exp, "ReduceSum");
  const NodeId log = next(graph, sum, "Log");
  const NodeId back = next(graph, log, "");
  if (back == kNoNode || cast_type(graph, graph.node(back), x) != graph.value(x).type) return false;
  if (!kFloats.contains(graph.value(x).type)) return false;
  std::vector<ValueId> inputs = graph.node(sum).inputs;
  inputs[0] = x;
  Attributes attributes = graph.node(sum).attributes;
  become(graph, back, "ReduceLogSumExp", inputs, std::move(attributes));
  for (const NodeId id : {log, sum, exp, cast}) graph.remove_node(id);
  return true;
}

void read_past(Graph& graph, NodeId cast) {
  const ValueId x = graph.node(cast).inputs[0];
  const ValueId y = graph.node(cast).outputs[0];
  if (graph.is_output(y)) return;
  const std::vector<NodeId> readers = graph.consumers(y);
  const bool all_cast = std::ranges::all_of(readers, [&](NodeId reader) {
    const Node& node = graph.node(reader);
    return std::ranges::count(node.inputs, y) == 1 && node.inputs[0] == y && cast_type(graph, node, x).has_value();
  });
  if (readers.empty() || !all_cast) return;
  for (const NodeId reader : readers) graph.set_input(reader, 0, x);
  graph.remove_node(cast);
}

}  // namespace

void take_out_float64_detour(Graph& graph, NodeId cast) {
  const Node& node = graph.node(cast);
  if (node.attributes.get_int("to", 0) != kFloat64 || node.inputs.size() != 1 || node.inputs[0] == kNoValue ||
      node.outputs.size() != 1 || node.outputs[0] == kNoValue ||
      !is_exact_in_float64(graph.value(node.inputs[0]).type)) {
    return;
  }
  if (!fold_log_sum_exp(graph, cast)) read_past(graph, cast);
}

}  // namespace kinglet::engine::ops
