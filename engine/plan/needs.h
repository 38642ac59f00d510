// SPDX-License-Identifier: Apache-2.0
// Why: a file of a hundred bytes may declare shapes of terabytes. What a graph needs is worked out from its shapes
// before any of it is taken, and refused above a limit that grows with the numbers the file really holds.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/error.h"
#include "engine/graph/graph.h"
#include "engine/plan/plan.h"

namespace kinglet::engine {

struct Needs {
  double constants = 0;  // bytes of all constants
  double packed = 0;     // bytes of constants counted once for each node that reads them: XNNPACK packs them anew
  double values = 0;     // bytes of the values alive at the same time, at most
  double windows = 0;    // bytes XNNPACK keeps for the windows of convolutions and pools: a pointer for each cell
  double steps = 0;      // of one run by evaluate (Op::steps)
  std::string largest;   // the node or input that asks for most of it, for people
};

// Bytes of all of it.
[[nodiscard]] inline double bytes_of(const Needs& needs) {
  return needs.constants + needs.packed + needs.values + needs.windows;
}

// All shapes must be static; what is not counts as one element. Pure.
[[nodiscard]] Needs needs_of(const Graph& graph);

// Enough for every small classifier; a file of weights may take several times its own size (packing, folding).
inline constexpr std::int64_t kBaseMemory = std::int64_t{192} << 20;
[[nodiscard]] std::int64_t memory_limit_of(const Graph& loaded);

// kBadData naming the node that asks for most: more than `limit` bytes, or more than kMostSteps steps a run.
inline constexpr double kMostSteps = 8e12;
[[nodiscard]] Result<void> check_needs(const Graph& graph, std::int64_t limit);

// The same for what only the plan tells: steps that run by evaluate keep a copy of each input.
[[nodiscard]] Result<void> check_copies(const Graph& graph, const std::vector<Step>& steps, std::int64_t limit);

}  // namespace kinglet::engine
