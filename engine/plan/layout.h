// SPDX-License-Identifier: Apache-2.0
// Why: decides once, for the whole graph, which 4-D values lie as [N,H,W,C]. Transposes then appear only where a value
// and its reader disagree.
#pragma once

#include "engine/backend/layout.h"
#include "engine/graph/graph.h"

namespace kinglet::engine {

// From each operator's LayoutRule: inputs of the graph and free-moving operators lie as the readers want, the rest
// follows what feeds it. All shapes must be static.
[[nodiscard]] Layouts assign_layouts(const Graph& graph);

}  // namespace kinglet::engine
