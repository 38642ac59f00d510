// SPDX-License-Identifier: Apache-2.0
// Why: the runtime of one model, and the only header of the engine's machinery that daemon and tool need.
//
// A Session owns its plan and all buffers, and shares the pool of threads it is given; after open() nothing is
// allocated by run() unless a segment falls back to evaluate(). Thread-bound: one thread at a time calls run() and
// touches input()/output().
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/graph/graph.h"
#include "engine/recipe/output_form.h"
#include "engine/recipe/recipe.h"

namespace kinglet::engine {

class PackedWeights;  // engine/backend/packed_weights.h
class ThreadPool;     // engine/session/thread_pool.h

// Where packed weights are kept from one load of a model to the next (kept_weights.h).
struct WeightsFolder {
  std::filesystem::path folder;  // made where it is missing, not what it lies in
  std::string digest;            // of the model file, as file_digest() says it
  std::string stamp;             // of that file before it was read for its digest, as stamp_of_file() says it

  // Of the model as it lies there now. Errors as of file_digest().
  [[nodiscard]] static Result<WeightsFolder> of(std::filesystem::path folder, const std::filesystem::path& model);
};

struct SessionOptions {
  int threads = 1;                           // >= 1; 1 = the caller's thread, no pool
  std::shared_ptr<const ThreadPool> pool;    // of those threads, in place of one of its own; may be empty
  bool optimize = true;                      // run the passes first
  bool time_nodes = false;                   // per-step times (a few percent slower)
  std::set<std::string> disabled_lowerings;  // operator names that must run through evaluate (tests, bisecting)
  bool own_kernels = true;                   // false: XNNPACK alone, to compare
  bool half = false;                         // compute in float16 where XNNPACK can, converting in and out; the
                                             // processor must have its arithmetic (xnnpack/processor.h)
  bool half_everywhere = false;              // with `half`: also where the conversions cost more (tests)
  std::set<std::string> forced_kernels;      // of kernels.def, by name: wherever they can, slower or not (tests)
  std::set<std::string> skipped_passes;
  // Bytes that weights, values and XNNPACK's copies may take together; absent: in proportion to the file's own weights
  // (engine/plan/needs.h), so that a small file cannot ask for gigabytes.
  std::optional<std::int64_t> memory_limit;
  std::optional<WeightsFolder> weights;  // of open(); a model with data files beside it is packed at each load
  std::int64_t batch = 1;                // binds the free first dimension of every input
  bool integer_inputs = false;           // memory of a quantised model's float inputs holds its levels (HeldLevels)
};

// What the memory of an input of floats holds in their place.
struct HeldLevels {
  DataType type = DataType::kI8;  // or kU8
  Quantization quantization;
};

// A tensor at the border of the model. `shape` is the logical (ONNX) shape; where layout is kNhwc the memory holds
// [N,H,W,C] although shape says [N,C,H,W].
struct TensorInfo {
  std::string name;
  DataType type = DataType::kF32;
  Shape shape;
  TensorLayout layout = TensorLayout::kNchw;
  std::optional<Quantization> quantization;  // of u8 and i8, where the graph says it: its DequantizeLinear at an input,
                                             // its QuantizeLinear at an output, one scale for the whole tensor
  std::optional<HeldLevels> held;            // SessionOptions::integer_inputs: in place of `type`
};

// What the plan chose in place of XNNPACK, and why.
struct KernelInfo {
  std::string name;              // in kernels.def; "in_place": nothing is done, what it would make lies there
  double cost = 1;               // in times of XNNPACK's
  std::size_t packed_bytes = 0;  // that it keeps of the weights
};

// One step of the plan, as shown to people.
struct StepInfo {
  std::string name;                  // the node's name
  std::string op_type;               // "Conv+Clip" where an activation was fused
  std::string backend;               // "xnnpack", "kinglet" (a kernel of our own) or "evaluate"
  std::optional<KernelInfo> kernel;  // of our own, or in place
  bool half = false;                 // computed in float16
  std::size_t segment = 0;
  std::string output_shape;  // logical
  std::int64_t macs = 0;
  double last_us = 0;  // time of the last run, with time_nodes; per segment where the backend fused steps
};

// What became of SessionOptions::weights.
struct KeptInfo {
  bool found = false;       // packed before: nothing was packed now
  std::uint64_t bytes = 0;  // of the file; 0: there is none
  std::string problem;      // why there is none, where that is not the model's kind
};

struct PlanInfo {
  std::size_t nodes_in_file = 0;
  std::size_t nodes_after_passes = 0;
  std::size_t segments = 0;
  std::size_t transposes = 0;  // layout changes that really copy
  std::int64_t macs = 0;
  double xnnpack_mac_ratio = 1;  // share of the multiply-adds that XNNPACK runs
  double half_mac_ratio = 0;     // share of them that it runs in float16
  double float_mac_ratio = 1;    // share of them that are of floats, in whatever they run
  std::size_t weight_bytes = 0;
  KeptInfo kept;
  std::size_t arena_bytes = 0;  // inputs, outputs, what operators give to each other, scratch of own kernels
  std::vector<StepInfo> steps;
  std::vector<std::string> fallback_nodes;
  std::chrono::duration<double, std::milli> load_time{};
};

class Session {
 public:
  // SessionOptions::half may be asked for.
  [[nodiscard]] static bool half_arithmetic();

  // Loads (open_model), optimises, plans. Errors as of the model loader; kBadData also for shapes that do not verify;
  // kUnavailable when XNNPACK refuses the machine, or float16 is asked for that the processor does not compute with.
  [[nodiscard]] static Result<Session> open(const std::filesystem::path& model, const SessionOptions& options);
  // The same for a graph at hand (tests, self-proof of the optimiser).
  [[nodiscard]] static Result<Session> create(Graph graph, const SessionOptions& options);

  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  [[nodiscard]] const std::vector<TensorInfo>& inputs() const;
  [[nodiscard]] const std::vector<TensorInfo>& outputs() const;
  // What the model's last operators say of its outputs, one each.
  [[nodiscard]] const std::vector<OutputForm>& output_forms() const;
  // Planned memory, valid for the life of the session (also after a move of the session object).
  [[nodiscard]] std::span<std::byte> input(std::size_t index);
  [[nodiscard]] std::span<const std::byte> output(std::size_t index) const;

  // Answers what is in input(). kInternal when the backend fails.
  [[nodiscard]] Result<void> run();
  // The next run is one of a few that find out whether several threads are quicker than one (threads/small_runs.h).
  [[nodiscard]] bool is_trying() const;

  // Convenience for tools and tests: copies a logical (NCHW) tensor in or out, changing the layout where needed.
  [[nodiscard]] Result<void> set_input(std::size_t index, const Tensor& logical);
  [[nodiscard]] Tensor get_output(std::size_t index) const;

  [[nodiscard]] const PlanInfo& plan() const;
  [[nodiscard]] const Graph::Metadata& metadata() const;

 private:
  struct State;
  [[nodiscard]] static Result<Session> make(Graph graph, const SessionOptions& options,
                                            std::unique_ptr<PackedWeights> packed);
  [[nodiscard]] static Result<Session> open_kept(const std::filesystem::path& model, const SessionOptions& options);
  [[nodiscard]] static Result<Session> open_packed(const std::filesystem::path& model, const SessionOptions& options,
                                                   std::unique_ptr<PackedWeights> packed);
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kinglet::engine
