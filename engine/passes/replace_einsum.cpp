// SPDX-License-Identifier: Apache-2.0
// Before:     y = Einsum(a, b) {equation="bij,bjk->bik"}
// After:      y = MatMul(a, b)
// Conditions: those of engine/passes/contraction.h, and no factor nor the result has to be transposed.
#include "engine/passes/contraction.h"

namespace kinglet::engine::passes {
namespace {

bool replace(Graph& graph, NodeId id) {
  const std::optional<Contraction> match = match_contraction(graph, graph.node(id));
  if (!match || !match->is_plain()) return false;
  graph.attributes(id) = {};
  graph.set_op_type(id, "", "MatMul");
  return true;
}

}  // namespace

const NodePass replace_einsum{{"Einsum"}, replace};

}  // namespace kinglet::engine::passes
