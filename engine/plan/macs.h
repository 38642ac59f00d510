// SPDX-License-Identifier: Apache-2.0
// Why: multiply-adds of a node, the measure of work in plans and reports.
#pragma once

#include "engine/graph/graph.h"

namespace kinglet::engine {

// Of Conv, ConvTranspose, Gemm, MatMul and Linear; 0 for all others and where shapes are not known.
[[nodiscard]] std::int64_t multiply_adds(const Graph& graph, NodeId id);

}  // namespace kinglet::engine
