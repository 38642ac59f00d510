// SPDX-License-Identifier: Apache-2.0
// Why: inputs for a model nobody gave any for: seeded, so that a failure can be repeated.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/graph/graph.h"

namespace kinglet::engine {

enum class MadeInput : std::uint8_t { kNormal, kLargeNegative, kZeros, kTwoInBatch };
[[nodiscard]] std::string_view to_string(MadeInput kind);

// The first dimension of an input is free.
[[nodiscard]] bool has_free_batch(const Graph& graph);

// A size for the other free dimensions with which the graph's shapes work out; the usual sides of pictures first.
[[nodiscard]] Result<Dim> find_side(const Graph& graph);

// The graph with all input dimensions fixed and shapes inferred. kBadData: an input of unknown rank.
[[nodiscard]] Result<Graph> bind_inputs(const Graph& graph, Dim batch, Dim side);

// One tensor an input of a graph with fixed dimensions.
[[nodiscard]] std::vector<Tensor> make_inputs(const Graph& bound, MadeInput kind);

}  // namespace kinglet::engine
