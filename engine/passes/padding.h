// SPDX-License-Identifier: Apache-2.0
// Why: Pad and the pads attribute read alike for fuse_pad_into_conv and fuse_pad_into_pool.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/passes/rewrite.h"

namespace kinglet::engine {

struct SpatialPad {
  std::vector<std::int64_t> begin_end;  // begins of the spatial axes, then their ends, as the attribute pads has them
  float value = 0;
};

// A Pad of mode constant whose pads are constant, >= 0 and 0 on the first two axes; axes in any order. Nothing
// otherwise.
[[nodiscard]] std::optional<SpatialPad> match_spatial_pad(const Graph& graph, const Node& pad);

// The pads a Conv or pool has itself, `count` numbers; nothing when auto_pad decides or the count is another.
[[nodiscard]] std::optional<std::vector<std::int64_t>> explicit_pads(const Node& node, std::size_t count);

// Writes the sum of both as the node's own pads.
void set_pads(Graph& graph, NodeId id, std::vector<std::int64_t> own, const std::vector<std::int64_t>& more);

}  // namespace kinglet::engine
