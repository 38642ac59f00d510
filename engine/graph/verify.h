// SPDX-License-Identifier: Apache-2.0
// Why: one function that says whether a Graph is whole, run after loading, after every pass, and in every test.
#pragma once

#include "engine/base/error.h"
#include "engine/graph/graph.h"

namespace kinglet::engine {

// Every invariant that holds between the parts of a graph:
// - each value has exactly one source (graph input, constant or producer), unless nothing refers to it and it is gone;
// - producers list the values they make, consumers are listed once a use, in both directions;
// - nodes stand in an order in which every value is made before it is read (so there is no cycle);
// - value names and node names are unique and not empty, and find_value agrees;
// - graph inputs are distinct and have one name a dimension; graph outputs exist, are distinct and have a source;
// - a constant has the type and shape its value says; no dimension is negative but kUnknownDim.
// kInternal names the node or value: a graph that fails is an own bug, not the user's.
[[nodiscard]] Result<void> verify(const Graph& graph);

}  // namespace kinglet::engine
