// SPDX-License-Identifier: Apache-2.0
// Why: activations that exporters write as products of their input and a function of it (x * sigmoid(x), x * 0.5 *
// (1 + erf(x / sqrt 2)) ...), in whatever order the factors stand.
#pragma once

#include <optional>
#include <string>

#include "engine/passes/rewrite.h"

namespace kinglet::engine {

// scale * one * other, made by the node itself and the Mul or Div nodes whose results only it reads.
struct Product {
  double scale = 1;
  ValueId one = kNoValue;
  ValueId other = kNoValue;
};

// The node's result as such a product; nothing when it has other factors, or a constant of more than one element.
// Nodes with fused bounds do not take part.
[[nodiscard]] std::optional<Product> match_product(const Graph& graph, NodeId id);

// A constant float of one element at that input that does not widen the node's other input; nothing otherwise.
[[nodiscard]] std::optional<double> scalar_beside(const Graph& graph, const Node& node, std::size_t index);

// |a - b| <= 1e-4 * |b|: constants as exporters round them.
[[nodiscard]] bool is_about(double a, double b);

// Makes node `id` the operator `op_type` of `x` alone, without attributes, and drops the nodes that then nobody reads.
void become_function(Graph& graph, NodeId id, std::string domain, std::string op_type, ValueId x);

}  // namespace kinglet::engine
