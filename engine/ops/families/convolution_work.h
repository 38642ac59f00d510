// SPDX-License-Identifier: Apache-2.0
// Why: what a Conv and a QLinearConv are to engine/backend/kernels/.
#pragma once

#include <optional>

#include "engine/backend/kernels/work.h"
#include "engine/graph/graph.h"

namespace kinglet::engine::ops {

// A Conv of f32 with constant weights; nothing for others.
[[nodiscard]] std::optional<kernels::Work> float_convolution_work(const Graph& graph, NodeId id);
// A QLinearConv of i8, in integers, with constant weights around 0; nothing for others.
[[nodiscard]] std::optional<kernels::Work> convolution_work(const Graph& graph, NodeId id);

// Of a node with a convolution's attributes; nothing for other shapes than pictures', and windows that XNNPACK has not.
[[nodiscard]] std::optional<kernels::ConvolutionShape> shape_of(const Node& node, const Shape& x, const Shape& weight,
                                                                const Shape& y);
// As XNNPACK turns a bound in real numbers into a level.
[[nodiscard]] std::int8_t level_of(float bound, const LinearQuantization& of);

}  // namespace kinglet::engine::ops
