// SPDX-License-Identifier: Apache-2.0
// Before:     nodes that read constants a and b
// After:      the same nodes read a
// Conditions: a and b have the same type, shape and bits (0.0 and -0.0 differ, so do NaNs); neither is a graph input or
//             output. eliminate_dead_nodes then drops b.
#include <algorithm>
#include <map>
#include <tuple>

#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

// Candidates share type, shape and their first bytes; only those are compared in full.
using Key = std::tuple<DataType, Shape, std::uint64_t, std::uint64_t>;
// More unequal constants that start alike than this are left alone: a bound on the comparisons.
constexpr std::size_t kAlike = 32;

Key key_of(const Tensor& tensor) {
  std::uint64_t ends[2] = {0, 0};
  const std::size_t count = std::min(tensor.byte_count(), sizeof ends[0]);
  tensor.copy_piece(0, std::as_writable_bytes(std::span(&ends[0], 1)).first(count));
  tensor.copy_piece(tensor.byte_count() - count, std::as_writable_bytes(std::span(&ends[1], 1)).first(count));
  return {tensor.type(), tensor.shape(), ends[0], ends[1]};
}

}  // namespace

Result<int> dedupe_constants(Graph& graph, PassBudget& budget) {
  int count = 0;
  std::map<Key, std::vector<ValueId>> seen;
  for (const ValueId id : graph.values()) {
    if (!budget.left()) break;
    const Tensor* constant = fixed_constant(graph, id);
    if (constant == nullptr || graph.is_output(id) || graph.consumers(id).empty()) continue;
    std::vector<ValueId>& alike = seen[key_of(*constant)];
    const auto same =
        std::ranges::find_if(alike, [&](ValueId other) { return graph.constant(other)->bit_equal(*constant); });
    if (same == alike.end()) {
      if (alike.size() < kAlike) alike.push_back(id);
      continue;
    }
    graph.replace_uses(id, *same);
    budget.spend(graph.value(id).name, "constant");
    ++count;
  }
  return count;
}

}  // namespace kinglet::engine::passes
