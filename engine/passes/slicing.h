// SPDX-License-Identifier: Apache-2.0
// Why: what a Slice keeps, as the passes that join Slices need it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/passes/rewrite.h"

namespace kinglet::engine {

struct Cut {
  std::int64_t axis = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::int64_t step = 1;
};

// The cuts of a Slice as its inputs say, axes counted from the front; nothing when the rank of what it cuts is unknown
// or an input is no fixed constant.
[[nodiscard]] std::optional<std::vector<Cut>> cuts_of(const Graph& graph, const Node& slice);

// The elements the cut keeps of `length`, with start and end (behind the last one) counted from the front. Nothing for
// an unknown length, a negative step, or when nothing is left.
[[nodiscard]] std::optional<Cut> resolved(Cut cut, Dim length);

}  // namespace kinglet::engine
