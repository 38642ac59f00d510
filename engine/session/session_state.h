// SPDX-License-Identifier: Apache-2.0
// Why: the inside of a Session: the plan turned into things that run. Only session*.cpp include this.
#pragma once

#include <optional>

#include "engine/backend/kernels/kernel.h"
#include "engine/backend/layout.h"
#include "engine/backend/xnnpack/runtime.h"
#include "engine/plan/plan.h"
#include "engine/session/session.h"
#include "engine/session/thread_pool.h"
#include "engine/threads/small_runs.h"

namespace kinglet::engine {

struct Session::State {
  // One value of the arena.
  struct Place {
    std::span<std::byte> memory;
    Layout layout = Layout::kLogical;
    Shape shape;  // logical
    DataType type = DataType::kF32;
  };
  // A node that runs by evaluate: its inputs are copied out of the arena in logical order.
  struct Evaluated {
    NodeId node = kNoNode;
    std::vector<Tensor> tensors;                // one an input; constants are shared with the graph
    std::vector<std::optional<Place>> places;   // of computed inputs
    std::vector<std::optional<Place>> results;  // nothing where the output is absent
    std::vector<const Tensor*> read;            // the tensors, nullptr where an input is absent
    std::vector<Tensor> made;                   // kept from run to run; empty where f16 is involved
  };
  // A node that runs by a kernel of our own, from the arena to the arena.
  struct OwnKernel {
    std::unique_ptr<kernels::Kernel> kernel;
    std::vector<std::span<const std::byte>> inputs;
    std::vector<std::span<std::byte>> outputs;
    std::span<std::byte> scratch;
  };
  // One of the three.
  struct RunStep {
    std::optional<xnn::Runtime> runtime;
    std::optional<OwnKernel> own;
    std::optional<Evaluated> evaluated;
    std::size_t first_info = 0;  // the step's rows in info.steps
    std::size_t info_count = 0;
  };

  [[nodiscard]] Result<void> build(Graph model, const SessionOptions& options, std::unique_ptr<PackedWeights> packed);
  [[nodiscard]] Result<void> run();
  [[nodiscard]] bool is_trying() const { return caller_.pool != nullptr && runs_.tries(); }

  Graph::Metadata metadata;
  std::vector<TensorInfo> inputs, outputs;
  std::vector<OutputForm> output_forms;
  std::vector<std::optional<HeldLevels>> held_inputs;  // one an input, or none
  std::vector<std::span<std::byte>> input_memory, output_memory;
  PlanInfo info;

 private:
  // A plan and its built segments; nodes the backend turns down after all make it plan again without them.
  struct Built {
    Plan plan;
    std::vector<std::optional<xnn::SubgraphBuilder::Built>> subgraphs;  // one a step
    std::vector<std::optional<xnn::Runtime>> runtimes;                  // one a step
    std::vector<std::unique_ptr<kernels::Kernel>> kernels;              // one a step
    BufferPlan buffers;
  };
  [[nodiscard]] Result<Built> build_plan(const SessionOptions& options);
  [[nodiscard]] Result<void> place_values(Built& built) const;
  [[nodiscard]] Result<void> pack(Built& built);
  void release_weights_of(std::span<const NodeId> nodes);
  void release_weights(const Plan& plan);
  void describe_borders(const Plan& plan);
  void describe_plan(const Built& built);
  [[nodiscard]] Result<void> place_steps(Built built);
  // Where no node is evaluated nobody looks at it again: half a megabyte of a MobileNet.
  void let_go_of_graph();
  [[nodiscard]] OwnKernel place_kernel(const Built& built, std::size_t step, std::unique_ptr<kernels::Kernel> kernel);
  [[nodiscard]] Evaluated make_evaluated(const Built& built, NodeId id);
  [[nodiscard]] Place place_of(const Built& built, ValueId id);
  [[nodiscard]] Result<void> evaluate(Evaluated& step);
  [[nodiscard]] Result<void> store(const Evaluated& step, std::span<const Tensor> results);
  [[nodiscard]] Result<void> run_steps();
  [[nodiscard]] Result<void> run_step(RunStep& step);
  [[nodiscard]] Result<void> run_timed(RunStep& step);

  std::shared_ptr<const ThreadPool> pool_;  // outlives the runtimes
  Pool::Caller caller_;                     // the same; the runtimes know its place
  std::unique_ptr<PackedWeights> packed_;   // the same
  TensorBuffer arena_;
  Graph graph_;  // empty when a run does not look at it
  std::vector<RunStep> steps_;
  SmallRuns runs_;
  std::vector<NodeId> info_nodes_;  // the node behind each row of info.steps
  bool timed_ = false;
  bool ends_with_kernel_ = false;  // of ours: it leaves the pool's workers awake
};

}  // namespace kinglet::engine
