// SPDX-License-Identifier: Apache-2.0
// Why: an activation that a pass folded into its producer stays on that node as two attributes; passes, evaluate and
// lowering must read them the same way.
#pragma once

#include <limits>
#include <string_view>

#include "engine/graph/graph.h"

namespace kinglet::engine {

inline constexpr std::string_view kClipMinAttribute = "kinglet_min";
inline constexpr std::string_view kClipMaxAttribute = "kinglet_max";

struct FusedClip {
  float min = -std::numeric_limits<float>::infinity();
  float max = std::numeric_limits<float>::infinity();
  [[nodiscard]] bool open() const {
    return min == -std::numeric_limits<float>::infinity() && max == std::numeric_limits<float>::infinity();
  }
};

[[nodiscard]] inline FusedClip fused_clip(const Node& node) {
  const FusedClip none;
  return {.min = node.attributes.get_float(kClipMinAttribute, none.min),
          .max = node.attributes.get_float(kClipMaxAttribute, none.max)};
}

}  // namespace kinglet::engine
