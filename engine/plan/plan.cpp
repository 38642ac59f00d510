// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/plan.h"

#include "engine/base/format.h"

namespace kinglet::engine {

Result<Plan> make_plan(const Graph& graph, const PlanOptions& options) {
  for (const ValueId id : graph.values()) {
    const Value& value = graph.value(id);
    if (value.shape && is_static(*value.shape)) continue;
    return fail(ErrorCode::kBadData,
                format_text("the shape of \"{}\" is {}, a plan needs fixed sizes", value.name,
                            value.shape ? to_string(*value.shape) : "not known"),
                {}, "export the model with fixed input sizes");
  }
  Plan plan;
  plan.layouts = assign_layouts(graph);
  plan.segments = cut_segments(graph, plan.layouts, options);
  return plan;
}

}  // namespace kinglet::engine
