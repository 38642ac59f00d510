// SPDX-License-Identifier: Apache-2.0
#include "engine/passes/biased_matmul.h"

namespace kinglet::engine {

std::optional<BiasedMatMul> match_biased_matmul(const Graph& graph, const Node& add) {
  if (has_fused_clip(add)) return std::nullopt;
  for (const std::size_t side : {0U, 1U}) {
    const NodeId matmul = producer_of(graph, add.inputs[side], {"MatMul"});
    if (matmul == kNoNode || !graph.has_single_use(add.inputs[side]) || has_fused_clip(graph.node(matmul))) continue;
    if (fixed_input(graph, add, 1 - side) == nullptr) continue;
    return BiasedMatMul{.matmul = matmul, .bias = add.inputs[1 - side]};
  }
  return std::nullopt;
}

bool is_row(const Tensor& constant, Dim columns, std::size_t rank) {
  const Shape& shape = constant.shape();
  if (shape.size() > rank) return false;
  return constant.element_count() == 1 || (shape.back() == columns && constant.element_count() == columns);
}

}  // namespace kinglet::engine
