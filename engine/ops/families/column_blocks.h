// SPDX-License-Identifier: Apache-2.0
// Why: XNNPACK multiplies a few rows at a time by the whole matrix of weights. A matrix that the cache does not hold
// comes from memory once for each such few rows. Here it becomes several, one after the other, and their results are
// joined: each comes from memory once. docs/benchmarks.md has what that brings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/backend/kernels/work.h"
#include "engine/ops/lower.h"

namespace kinglet::engine::ops {

// Columns of a layer's output: channels of a convolution.
struct ColumnBlock {
  std::size_t first = 0;
  std::size_t count = 0;
};

// Do the weights of a block lie together? Else they are copied, which costs memory while the model is packed.
enum class BlockWeights : std::uint8_t { kTogether, kCopied };

// One block where the weights are small, or the rows so few that these are hardly read twice; few of copied weights.
// With several `threads` on x86-64 also where there are up to 64 rows: they share the columns out.
[[nodiscard]] std::vector<ColumnBlock> column_blocks(std::size_t columns, std::size_t weight_bytes, std::size_t rows,
                                                     BlockWeights weights, std::size_t threads);

// `lower` makes the columns of one block, the last physical axis of `output`.
using LowerBlock = std::function<Result<void>(const ColumnBlock& block, Operand part)>;
[[nodiscard]] Result<void> lower_in_blocks(SubgraphBuilder& builder, const std::vector<ColumnBlock>& blocks,
                                           Operand output, const LowerBlock& lower);

// The block along `axis`; shares the numbers where they lie together.
[[nodiscard]] Tensor columns_of(const Tensor& tensor, std::size_t axis, const ColumnBlock& block);

// input [..., K] times a float `weight` [K,N], plus `bias` [N] where there is one.
[[nodiscard]] Result<void> lower_matrix(SubgraphBuilder& builder, const Tensor& weight, const Tensor* bias,
                                        xnn::Range range, Operand input, Operand output);

// The same product as kernels of kinglet's own see it; nothing for what they do not take. `outputs_first`: the weight
// is [N,K]. Borrows the bias.
[[nodiscard]] std::optional<kernels::Work> matrix_work(const Graph& graph, const Node& node, const Tensor& weight,
                                                       bool outputs_first, const Tensor* bias);

}  // namespace kinglet::engine::ops
