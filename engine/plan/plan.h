// SPDX-License-Identifier: Apache-2.0
// Why: everything that is decided before a model runs: which values lie as [N,H,W,C], which nodes run in one step, and
// one arena for all values that are computed and for what kernels write beside them. Pure: graph in, plan out.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/backend/layout.h"
#include "engine/backend/xnnpack/subgraph_builder.h"
#include "engine/base/error.h"
#include "engine/graph/graph.h"
#include "engine/plan/kernel_choice.h"

namespace kinglet::engine {

// From each operator's LayoutRule: inputs of the graph and free-moving operators lie as the readers want, the rest
// follows what feeds it. All shapes must be static.
[[nodiscard]] Layouts assign_layouts(const Graph& graph);

struct PlanOptions {
  std::set<std::string> disabled_lowerings;  // operator types that run by evaluate
  std::set<NodeId> refused;                  // nodes the backend turned down after all
  bool half = false;                         // compute in float16 what XNNPACK has a form for
  bool half_everywhere = false;              // also where the conversions cost more (tests)
  std::set<NodeId> refused_halves = {};      // as refused, in float16
  KernelWishes kernels;
};

struct Step {
  bool lowered = false;                // to XNNPACK
  std::optional<ChosenKernel> kernel;  // of kinglet's own
  bool joined = false;                 // nothing is left to do: kernels wrote what it reads where it lies in its output
  std::vector<NodeId> nodes;           // in the order of the graph; one by evaluate, one or what a kernel ends with
  std::set<NodeId> halves = {};        // those of them that are computed in float16
  std::vector<ValueId> inputs;         // read from outside, each once, no constants
  std::vector<ValueId> outputs;        // read outside, or read by nobody
  std::set<ValueId> half_values = {};  // of both, those that lie as float16

  [[nodiscard]] bool is_evaluated() const { return !lowered && !kernel && !joined; }
};

// A node that does not run in XNNPACK, and why.
struct Fallback {
  NodeId node = kNoNode;
  std::string reason;
};

struct Segments {
  std::vector<Step> steps;  // every value is made in an earlier step than it is read in
  std::vector<Fallback> fallbacks;

  // The step after which a run needs the pool's workers no more; nothing: none of them does.
  [[nodiscard]] std::optional<std::size_t> last_of_workers() const;
};

// Asks every node's `lower` with a probing builder, then groups. Pure.
[[nodiscard]] Segments cut_segments(const Graph& graph, const Layouts& layouts, const PlanOptions& options);

// Lowers the nodes of one step for real, for so many threads. The error's where is the node's name; a node that the
// probe took and the build refuses is kInternal.
struct BuildFailure {
  NodeId node = kNoNode;
  Error error;
};
[[nodiscard]] std::expected<xnn::SubgraphBuilder::Built, BuildFailure> build_segment(const Graph& graph,
                                                                                     const Layouts& layouts,
                                                                                     const Step& step,
                                                                                     std::size_t threads = 1);

struct BufferPlan {
  struct Slot {
    std::size_t offset = 0;  // from the arena's start, a multiple of kBufferAlignment but for what is joined in place
    std::size_t bytes = 0;   // of what lies there; at least kBufferSlack readable bytes follow
  };
  std::map<ValueId, Slot> slots;
  std::map<std::size_t, Slot> scratch;                // by step: of a kernel that wants some
  std::map<std::size_t, std::vector<Slot>> segments;  // by step: of a segment's external values, in their order
  std::size_t arena_bytes = 0;
};

inline constexpr std::size_t kBufferAlignment = 64;
inline constexpr std::size_t kBufferSlack = 64;  // XNNPACK reads 16 bytes past the end

// A slot for each graph input and output (alive all the time), for each value that crosses steps, for each one inside a
// segment (alive from the node that makes it to the last that reads it) and for each kernel's scratch (alive in its
// step). What is written over something that is not read any more shares its slot, and what is joined in place ends
// with the whole. `externals`: one a step, of built segments; empty for others. kBadData when the sizes do not fit
// memory. Pure.
[[nodiscard]] Result<BufferPlan> plan_buffers(const Graph& graph, const std::vector<Step>& steps,
                                              std::span<const std::span<const xnn::ExternalValue>> externals);

// Buffers come last: what needs memory inside a segment shows when it is built.
struct Plan {
  Layouts layouts;
  Segments segments;
};

// All shapes must be static. kBadData names a value that has no fixed shape.
[[nodiscard]] Result<Plan> make_plan(const Graph& graph, const PlanOptions& options);

}  // namespace kinglet::engine
