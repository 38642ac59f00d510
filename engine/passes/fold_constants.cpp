// SPDX-License-Identifier: Apache-2.0
// Before:     a node whose inputs are all constant
// After:      its outputs are constants, computed by the operator's own evaluate
// Conditions: the operator is deterministic and known; no input is a graph input (an initializer that is one may be
//             overridden); the result is at most max(bytes of the inputs, the budget's allowance), or its only reader
//             folds at once to that size; the budget has bytes and steps left for it (a hostile file may ask for any).
//             QuantizeLinear and DequantizeLinear stay: they are how a file keeps int8.
#include <algorithm>

#include "engine/passes/folding.h"

namespace kinglet::engine::passes {
namespace {

bool is_quantisation(const Node& node) {
  return node.op_type == "QuantizeLinear" || node.op_type == "DequantizeLinear" ||
         node.op_type == "DynamicQuantizeLinear";
}

// The large result of `id` is read once, by a node that makes it small again and reads constants only.
bool shrinks_at_once(const Graph& graph, NodeId id, std::int64_t input_bytes, std::int64_t allowance) {
  const Node& node = graph.node(id);
  if (node.outputs.size() != 1 || !graph.has_single_use(node.outputs[0])) return false;
  const NodeId reader_id = graph.consumers(node.outputs[0])[0];
  const Node& reader = graph.node(reader_id);
  const bool others_fixed = std::ranges::all_of(reader.inputs, [&](ValueId input) {
    return input == kNoValue || input == node.outputs[0] || fixed_constant(graph, input) != nullptr;
  });
  const bool inner = std::ranges::none_of(
      reader.outputs, [&](ValueId output) { return output != kNoValue && graph.is_output(output); });
  if (!others_fixed || !inner || is_quantisation(reader)) return false;
  const std::optional<FoldSize> size = fold_size(graph, reader_id);
  constexpr std::int64_t kScratchLimit = std::int64_t{64} << 20;
  return size && size->inputs <= kScratchLimit && size->outputs <= std::max(input_bytes, allowance);
}

bool is_worth_it(const Graph& graph, NodeId id, std::int64_t allowance) {
  if (is_quantisation(graph.node(id)) || !is_foldable(graph, id)) return false;
  const std::optional<FoldSize> size = fold_size(graph, id);
  if (!size) return false;
  if (graph.node(id).op_type == "Constant") return true;  // the number is in the file as it is
  return size->outputs <= std::max(size->inputs, allowance) || shrinks_at_once(graph, id, size->inputs, allowance);
}

}  // namespace

Result<int> fold_constants(Graph& graph, PassBudget& budget) {
  return rewrite_each_node(graph, budget, [&](NodeId id) -> Result<bool> {
    if (!is_worth_it(graph, id, budget.fold_allowance())) return false;
    if (!take_fold(budget, graph, id, *fold_size(graph, id))) return false;
    KINGLET_TRY(fold_node(graph, id));
    return true;
  });
}

}  // namespace kinglet::engine::passes
