// SPDX-License-Identifier: Apache-2.0
// Why: what the estimates of Op::steps share. In double: a product of dimensions of a hostile file cannot overflow it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/graph/graph.h"

namespace kinglet::engine::ops {

// Numbers of input or output `i` of the node; 0 when it is absent or of unknown shape; an unknown dimension counts 1.
[[nodiscard]] double input_numbers(const Graph& graph, const Node& node, std::size_t i);
[[nodiscard]] double output_numbers(const Graph& graph, const Node& node, std::size_t i = 0);
// A dimension of input `i`, from the end when negative; 1 when it is not known.
[[nodiscard]] double input_dim(const Graph& graph, const Node& node, std::size_t i, int axis);
// Multiply-adds of a convolution whose weight [M,C/g,k1..kn] is input `weight`.
[[nodiscard]] double convolution_steps(const Graph& graph, const Node& node, std::size_t weight);

// Of a matrix product whose left side is input 0, transposed where attribute transA says so.
[[nodiscard]] double product_steps(const Graph& graph, const Node& node);

// Op::multiply_adds of a product whose weight is input `weight`: of a convolution, [M,C/g,k1..kn]; of a matrix product,
// whose left side is input 0, transposed where attribute transA says so. 0 while a shape is not static.
[[nodiscard]] std::int64_t convolution_multiply_adds(const Graph& graph, const Node& node, std::size_t weight);
[[nodiscard]] std::int64_t product_multiply_adds(const Graph& graph, const Node& node, std::size_t weight);
// The same as a row's function.
template <std::size_t kWeight>
[[nodiscard]] std::int64_t convolution_multiply_adds(const Graph& graph, const Node& node) {
  return convolution_multiply_adds(graph, node, kWeight);
}
template <std::size_t kWeight>
[[nodiscard]] std::int64_t product_multiply_adds(const Graph& graph, const Node& node) {
  return product_multiply_adds(graph, node, kWeight);
}

// Of a pool: each window of attribute kernel_shape is walked once, its cells inside the input once more for each plane.
[[nodiscard]] double pool_steps(const Graph& graph, const Node& node);

}  // namespace kinglet::engine::ops
