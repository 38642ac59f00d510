// SPDX-License-Identifier: Apache-2.0
// Before:     w = DequantizeLinear(int8 constant, ...), ConstantOfShape(...), Expand(constant, ...) and the like
// After:      w is a constant
// Conditions: as fold_constants, but results may be larger than their inputs, up to 512 MiB each, 2 GiB in a graph and
//             the budget's limits: a session needs the numbers in memory anyway, a file is better off without them.
//             Plan only.
#include "engine/passes/folding.h"

namespace kinglet::engine::passes {
namespace {
constexpr std::int64_t kEach = std::int64_t{512} << 20;
constexpr std::int64_t kAll = std::int64_t{2} << 30;

std::int64_t constant_bytes(const Graph& graph) {
  std::int64_t bytes = 0;
  for (const ValueId id : graph.values()) {
    const Tensor* constant = graph.constant(id);
    if (constant != nullptr) bytes += static_cast<std::int64_t>(constant->byte_count());
  }
  return bytes;
}

}  // namespace

Result<int> fold_large_constants(Graph& graph, PassBudget& budget) {
  std::int64_t bytes = constant_bytes(graph);
  return rewrite_each_node(graph, budget, [&](NodeId id) -> Result<bool> {
    if (!is_foldable(graph, id)) return false;
    const std::optional<FoldSize> size = fold_size(graph, id);
    if (!size || size->outputs > kEach || bytes + size->outputs > kAll) return false;
    if (!take_fold(budget, graph, id, *size)) return false;
    KINGLET_TRY(fold_node(graph, id));
    bytes += size->outputs;
    return true;
  });
}

}  // namespace kinglet::engine::passes
