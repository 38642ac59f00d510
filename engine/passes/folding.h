// SPDX-License-Identifier: Apache-2.0
// Why: what fold_constants and fold_large_constants share: which nodes can be computed now, and doing it.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/passes/rewrite.h"

namespace kinglet::engine {

// The node depends on constants only, always gives the same, is of an operator we can evaluate, makes no graph output
// but something that is read, and has outputs of known size.
[[nodiscard]] bool is_foldable(const Graph& graph, NodeId id);

// Bytes of the node's inputs (each constant once) and outputs, by their shapes.
struct FoldSize {
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
};
// Nothing when a shape is not known or too large to count.
[[nodiscard]] std::optional<FoldSize> fold_size(const Graph& graph, NodeId id);

// Asks the budget for what folding the node adds: its outputs, less the inputs that nobody else reads.
[[nodiscard]] bool take_fold(PassBudget& budget, const Graph& graph, NodeId id, const FoldSize& size);

// Evaluates the node and puts constants in place of its outputs. Error: evaluation failed; the graph is untouched.
[[nodiscard]] Result<void> fold_node(Graph& graph, NodeId id);

}  // namespace kinglet::engine
