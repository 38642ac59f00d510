// SPDX-License-Identifier: Apache-2.0
// Why: a graph of text with its shapes, ready to be planned; and all that is planned of it.
#pragma once

#include <gtest/gtest.h>

#include "engine/ops/op.h"
#include "engine/plan/plan.h"
#include "tests/support/graph_text.h"

namespace kinglet::engine {

inline Graph inferred(std::string_view text) {
  Graph graph = std::move(parse_text(text).value().graph);
  const auto done = infer_shapes(graph);
  EXPECT_TRUE(done) << describe(done.error());
  return graph;
}

// A plan, its segments built, and where their values lie.
struct Placed {
  Plan plan;
  std::vector<std::vector<xnn::ExternalValue>> externals;  // one a step
  BufferPlan buffers;
};

inline Placed placed(const Graph& graph, const PlanOptions& options = {}) {
  Placed out{.plan = make_plan(graph, options).value(), .externals = {}, .buffers = {}};
  std::vector<std::span<const xnn::ExternalValue>> views;
  for (const Step& step : out.plan.segments.steps) {
    auto& externals = out.externals.emplace_back();
    if (step.lowered) externals = build_segment(graph, out.plan.layouts, step).value().externals;
  }
  for (const auto& externals : out.externals) views.emplace_back(externals);
  out.buffers = plan_buffers(graph, out.plan.segments.steps, views).value();
  return out;
}

}  // namespace kinglet::engine
