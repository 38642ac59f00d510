// SPDX-License-Identifier: Apache-2.0
// Why: everything that is decided before a model runs: layouts, steps, buffers. Pure: graph in, plan out.
#pragma once

#include "engine/plan/buffers.h"
#include "engine/plan/layout.h"
#include "engine/plan/segments.h"

namespace kinglet::engine {

struct Plan {
  Layouts layouts;
  Segments segments;
  BufferPlan buffers;
};

// All shapes must be static. kBadData names a value that has no fixed shape.
[[nodiscard]] Result<Plan> make_plan(const Graph& graph, const PlanOptions& options);

}  // namespace kinglet::engine
