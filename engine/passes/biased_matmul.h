// SPDX-License-Identifier: Apache-2.0
// Why: a MatMul and the constant that is added to its product, as exporters write a linear layer: what the passes that
// fold into one share.
#pragma once

#include <optional>
#include <string>

#include "engine/passes/rewrite.h"

namespace kinglet::engine {

struct BiasedMatMul {
  NodeId matmul = kNoNode;
  ValueId bias = kNoValue;  // a fixed constant
};

// An Add of a fixed constant to a product that it alone reads; nothing where either carries fused bounds.
[[nodiscard]] std::optional<BiasedMatMul> match_biased_matmul(const Graph& graph, const Node& add);

// The Add `id` becomes this operator over the product's inputs and that bias; the product goes.
void become_layer(Graph& graph, NodeId id, const BiasedMatMul& match, ValueId bias, std::string domain,
                  std::string op_type);

// One element, or one a column ([N], [1,N], [1,..,N] up to `rank` axes): it does not widen what it is added to.
[[nodiscard]] bool is_row(const Tensor& constant, Dim columns, std::size_t rank);

}  // namespace kinglet::engine
