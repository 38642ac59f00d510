// SPDX-License-Identifier: Apache-2.0
// Why: Conv and QLinearConv become the same XNNPACK nodes and differ in how weights and bias are given.
#pragma once

#include <functional>

#include "engine/ops/families/column_blocks.h"
#include "engine/ops/lower.h"

namespace kinglet::engine::ops {

// The filter as a static operand: its numbers in the order of `dims`, whose `channel_axis` is the output channels.
using MakeFilter = std::function<Result<Operand>(const Tensor& numbers, const Dims& dims, std::size_t channel_axis)>;
// Of a block of the output channels; of all of them where the numbers are not float.
using MakeBias = std::function<Result<std::optional<Operand>>(Operand filter, const ColumnBlock& block)>;

// Input 0 of `node` with `weight` [O,I/group,kh,kw] and the node's window and fused clip. False: not 2-D, or a window
// that XNNPACK does not have.
[[nodiscard]] Result<bool> lower_convolution(SubgraphBuilder& builder, const Node& node, const Tensor& weight,
                                             const MakeFilter& make_filter, const MakeBias& make_bias);

}  // namespace kinglet::engine::ops
