// SPDX-License-Identifier: Apache-2.0
// Why: the parts of `kinglet inspect` that show one thing instead of the whole model.
#pragma once

#include <string>

#include "cli/output.h"
#include "engine/base/error.h"
#include "engine/graph/graph.h"

namespace kinglet::cli {

// Nodes, weights and borders that came, went or changed from file `before` to file `after`.
[[nodiscard]] Result<void> print_diff(const std::string& before, const std::string& after, Output& out);

// One value of the graph: type, shape, who makes and reads it; for a constant its statistics and at most `most_values`
// numbers. kBadData when the graph has no value of that name, with the nearest one.
[[nodiscard]] Result<void> print_tensor(const engine::Graph& graph, const std::string& name, std::size_t most_values,
                                        Output& out);

}  // namespace kinglet::cli
