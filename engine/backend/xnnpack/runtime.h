// SPDX-License-Identifier: Apache-2.0
// Why: a built subgraph that runs: owns the XNNPACK runtime and the static data it still reads.
#pragma once

#include <pthreadpool.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/backend/xnnpack/packing.h"
#include "engine/backend/xnnpack/subgraph_builder.h"

namespace kinglet::engine::xnn {

// Time of one XNNPACK operator in the last run.
struct OperatorTime {
  std::string name;  // XNNPACK's own: "Convolution (NHWC, F32) GEMM"
  double microseconds = 0;
};

// Thread-bound: the thread that invokes is one of the pool's.
class Runtime {
 public:
  struct Options {
    bool time_nodes = false;
    bool is_last = true;  // of all that have the pool's workers in a run: a pause follows
  };
  // Packs the weights into `weights`, each filter let go of as soon as it is packed, and drops `built.packed_data`
  // before memory for running is taken. The pool and `weights` must outlive the runtime. kInternal when XNNPACK
  // refuses, or when the shapes it works out differ from ours.
  [[nodiscard]] static Result<Runtime> create(SubgraphBuilder::Built built, PackedWeights& weights, pthreadpool_t pool,
                                              const Options& options);

  // Binds the memory of every external value, in the order of externals(); each pointer has the value's size plus
  // XNN_EXTRA_BYTES behind it and stays valid until the next bind(). Values that are not alive at the same node, or of
  // which one may be written over the other, may lie at one place.
  [[nodiscard]] Result<void> bind(std::span<void* const> pointers);
  [[nodiscard]] Result<void> invoke();

  [[nodiscard]] const std::vector<ExternalValue>& externals() const { return externals_; }
  [[nodiscard]] const std::vector<DefinedNode>& nodes() const { return nodes_; }
  // Empty without time_nodes or before the first run.
  [[nodiscard]] Result<std::vector<OperatorTime>> profile() const;

 private:
  struct Delete {
    void operator()(xnn_runtime_t runtime) const { xnn_delete_runtime(runtime); }
  };
  Runtime() = default;
  [[nodiscard]] Result<void> check_shapes() const;

  std::vector<Tensor> kept_data_;  // outlives runtime_: destroyed after it
  std::unique_ptr<Packing> packing_;
  std::vector<ExternalValue> externals_;
  std::vector<DefinedNode> nodes_;
  std::unique_ptr<xnn_runtime, Delete> runtime_;
  bool bound_ = false;
  bool timed_ = false;
};

// Adds up the operators' times by the graph's node. XNNPACK fuses and drops some nodes, so operators are matched to
// nodes in order by kind; what fits nowhere is counted at the last node matched.
[[nodiscard]] std::vector<std::pair<NodeId, double>> times_by_node(std::span<const DefinedNode> nodes,
                                                                   std::span<const OperatorTime> times);

}  // namespace kinglet::engine::xnn
