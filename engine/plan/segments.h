// SPDX-License-Identifier: Apache-2.0
// Why: cuts the graph into steps: runs of nodes that XNNPACK takes, and single nodes that run by a kernel of kinglet's
// own or by evaluate.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "engine/backend/layout.h"
#include "engine/backend/xnnpack/subgraph_builder.h"
#include "engine/base/error.h"
#include "engine/graph/graph.h"
#include "engine/plan/kernel_choice.h"

namespace kinglet::engine {

struct PlanOptions {
  std::set<std::string> disabled_lowerings;  // operator types that run by evaluate
  std::set<NodeId> refused;                  // nodes the backend turned down after all
  KernelWishes kernels;
};

struct Step {
  bool lowered = false;                // to XNNPACK
  std::optional<ChosenKernel> kernel;  // of kinglet's own; neither: evaluate
  std::vector<NodeId> nodes;           // in the order of the graph; exactly one when not lowered
  std::vector<ValueId> inputs;         // read from outside, each once, no constants
  std::vector<ValueId> outputs;        // read outside, or read by nobody
};

// A node that does not run in XNNPACK, and why.
struct Fallback {
  NodeId node = kNoNode;
  std::string reason;
};

struct Segments {
  std::vector<Step> steps;  // every value is made in an earlier step than it is read in
  std::vector<Fallback> fallbacks;
};

// Asks every node's `lower` with a probing builder, then groups. Pure.
[[nodiscard]] Segments cut_segments(const Graph& graph, const Layouts& layouts, const PlanOptions& options);

// Lowers the nodes of one step for real. The error's where is the node's name; a node that the probe took and the
// build refuses is kInternal.
struct BuildFailure {
  NodeId node = kNoNode;
  Error error;
};
[[nodiscard]] std::expected<xnn::SubgraphBuilder::Built, BuildFailure> build_segment(const Graph& graph,
                                                                                     const Layouts& layouts,
                                                                                     const Step& step);

}  // namespace kinglet::engine
