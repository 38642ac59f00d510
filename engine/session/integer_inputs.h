// SPDX-License-Identifier: Apache-2.0
// Why: a quantised model of floats begins by making levels of them. What prepares pictures looks a level up as soon as
// a float, of which four bytes would be written, read and divided.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/session/session.h"

namespace kinglet::engine {

// Of a graph after the passes: each input of floats that nobody reads but a QuantizeLinear to 8 bits becomes an input
// of its levels. One an input of the graph; nothing: it stays as it is.
[[nodiscard]] std::vector<std::optional<HeldLevels>> take_integer_inputs(Graph& graph);

// As that QuantizeLinear makes them; what is no number is the least level. `to`: one byte a number.
void make_levels(std::span<const float> numbers, const HeldLevels& levels, std::span<std::byte> to);

}  // namespace kinglet::engine
