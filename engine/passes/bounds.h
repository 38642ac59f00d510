// SPDX-License-Identifier: Apache-2.0
// Why: operators that clamp (Relu, Clip) as one thing, a range of floats: what merge_clip and fuse_activation compute
// with.
#pragma once

#include <limits>
#include <optional>

#include "engine/passes/rewrite.h"

namespace kinglet::engine {

struct Bounds {
  float min = -std::numeric_limits<float>::infinity();
  float max = std::numeric_limits<float>::infinity();
};

// The range that a node clamps floats to; nothing when it does not clamp, or when a bound is computed, NaN, or min >
// max.
[[nodiscard]] std::optional<Bounds> bounds_of(const Graph& graph, const Node& node);

// Makes the Relu or Clip a clamp to `bounds`: Relu for [0, inf), else Clip without its infinite bounds.
void set_bounds(Graph& graph, NodeId id, const Bounds& bounds);

// Every element of the value is >= 0 (or NaN), whatever the graph's inputs are.
[[nodiscard]] bool is_never_negative(const Graph& graph, ValueId id);

}  // namespace kinglet::engine
