// SPDX-License-Identifier: Apache-2.0
// Why: a graph in the inner form (the newest opset) is written for an older one: operators take the form they had then,
// or become operators that were there.
#pragma once

#include <cstdint>

#include "engine/base/error.h"
#include "engine/graph/graph.h"

namespace kinglet::engine {

inline constexpr std::int64_t kOldestOpsetToWrite = 9;
inline constexpr std::int64_t kNewestOpsetToWrite = 22;

// Afterwards the graph holds forms of `opset`: it may be written (save.h) and is not to be run or inferred. kUsage: an
// opset kinglet does not write. kUnsupported: names the first node that has no form there, and why.
[[nodiscard]] Result<void> take_forms_of_opset(Graph& graph, std::int64_t opset);

}  // namespace kinglet::engine
