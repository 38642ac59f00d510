// SPDX-License-Identifier: Apache-2.0
#include "engine/passes/biased_matmul.h"

#include <array>
#include <utility>

namespace kinglet::engine {

std::optional<BiasedMatMul> match_biased_matmul(const Graph& graph, const Node& add) {
  if (has_fused_clip(add)) return std::nullopt;
  for (const std::size_t side : {0U, 1U}) {
    const NodeId matmul = inner_producer(graph, add.inputs[side], {"MatMul"});
    if (matmul == kNoNode || fixed_input(graph, add, 1 - side) == nullptr) continue;
    return BiasedMatMul{.matmul = matmul, .bias = add.inputs[1 - side]};
  }
  return std::nullopt;
}

void become_layer(Graph& graph, NodeId id, const BiasedMatMul& match, ValueId bias, std::string domain,
                  std::string op_type) {
  const Node& matmul = graph.node(match.matmul);
  const std::array inputs{matmul.inputs[0], matmul.inputs[1], bias};
  graph.resize_inputs(id, inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) graph.set_input(id, i, inputs[i]);
  graph.set_op_type(id, std::move(domain), std::move(op_type));
  graph.remove_node(match.matmul);
}

bool is_row(const Tensor& constant, Dim columns, std::size_t rank) {
  const Shape& shape = constant.shape();
  if (shape.size() > rank) return false;
  return constant.element_count() == 1 || (shape.back() == columns && constant.element_count() == columns);
}

}  // namespace kinglet::engine
