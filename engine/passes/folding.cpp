// SPDX-License-Identifier: Apache-2.0
#include "engine/passes/folding.h"

#include <algorithm>

#include "engine/ops/op.h"

namespace kinglet::engine {
namespace {

std::optional<std::int64_t> byte_count(const Value& value) {
  if (!value.shape) return std::nullopt;
  const std::optional<std::int64_t> count = element_count(*value.shape);
  if (!count || *count > (std::int64_t{1} << 40)) return std::nullopt;
  return *count * static_cast<std::int64_t>(byte_size(value.type));
}

}  // namespace

bool is_foldable(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Op* op = find_op(node.domain, node.op_type);
  if (op == nullptr || !op->deterministic || op->evaluate == nullptr) return false;
  const bool inputs_fixed = std::ranges::all_of(
      node.inputs, [&](ValueId input) { return input == kNoValue || fixed_constant(graph, input) != nullptr; });
  const bool inner =
      std::ranges::none_of(node.outputs, [&](ValueId output) { return output != kNoValue && graph.is_output(output); });
  const bool wanted = std::ranges::any_of(
      node.outputs, [&](ValueId output) { return output != kNoValue && !graph.consumers(output).empty(); });
  return inputs_fixed && inner && wanted;
}

std::optional<FoldSize> fold_size(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  FoldSize size;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue ||
        std::ranges::count(node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(i), node.inputs[i]) >
            0)
      continue;
    const std::optional<std::int64_t> bytes = byte_count(graph.value(node.inputs[i]));
    if (!bytes) return std::nullopt;
    size.inputs += *bytes;
  }
  for (const ValueId output : node.outputs) {
    if (output == kNoValue) continue;
    const std::optional<std::int64_t> bytes = byte_count(graph.value(output));
    if (!bytes) return std::nullopt;
    size.outputs += *bytes;
  }
  return size;
}

bool take_fold(PassBudget& budget, const Graph& graph, NodeId id, const FoldSize& size) {
  auto growth = static_cast<double>(size.outputs);
  for (const ValueId input : graph.node(id).inputs) {
    if (input != kNoValue && graph.has_single_use(input)) {
      growth -= static_cast<double>(byte_count(graph.value(input)).value_or(0));
    }
  }
  return budget.take_fold(std::max(0.0, growth), evaluation_steps(graph, id));
}

Result<void> fold_node(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  std::vector<const Tensor*> inputs;
  inputs.reserve(node.inputs.size());
  for (const ValueId input : node.inputs) inputs.push_back(graph.constant(input));
  std::vector<Tensor> results = KINGLET_TRY(evaluate_node(graph, id, inputs));
  for (const ValueId output : node.outputs) {
    if (output != kNoValue) graph.detach_output(output);
  }
  graph.remove_node(id);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != kNoValue) graph.set_constant(node.outputs[i], std::move(results[i]));
  }
  return {};
}

}  // namespace kinglet::engine
