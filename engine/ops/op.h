// SPDX-License-Identifier: Apache-2.0
// Why: what the engine knows about one operator: schema, type and shape inference, exact evaluation, lowering.
// ops.def has its names, how many inputs and outputs it takes and the layout that it works in; one .cpp of families/
// has its functions side by side. Their defaults are null: without `lower` it runs through `evaluate`, slow but right.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/base/error.h"
#include "engine/graph/graph.h"
#include "engine/graph/quantization.h"
#include "engine/ops/traits.h"

namespace kinglet::engine {

namespace xnn {
class SubgraphBuilder;  // engine/backend/xnnpack/subgraph_builder.h
}
namespace kernels {
struct Work;  // engine/backend/kernels/work.h
}

// Numbers of computed values that inference worked out (small ones that describe shapes), by value id.
using KnownNumbers = std::unordered_map<std::uint32_t, Tensor>;

// What inference sees of a node: input types and shapes and, where they are constant, the numbers.
class InferContext {
 public:
  InferContext(Graph& graph, NodeId id, const KnownNumbers* known = nullptr) : graph_(graph), id_(id), known_(known) {}

  [[nodiscard]] const Node& node() const { return graph_.node(id_); }
  [[nodiscard]] const Attributes& attributes() const { return node().attributes; }
  [[nodiscard]] std::size_t input_count() const { return node().inputs.size(); }
  [[nodiscard]] bool has_input(std::size_t i) const;
  [[nodiscard]] DataType input_type(std::size_t i) const;
  [[nodiscard]] const std::optional<Shape>& input_shape(std::size_t i) const;  // own bug when the input is absent
  [[nodiscard]] const Tensor* input_constant(std::size_t i) const;             // nullptr: absent or not known
  // Replaces what was known before: inference alone is trusted, never a file's own value_info.
  void set_output(std::size_t i, DataType type, std::optional<Shape> shape);
  // kBadData with the node's name and operator in where.
  [[nodiscard]] std::unexpected<Error> fail(std::string message, std::string hint = {}) const;
  // The same as kUnsupported: right ONNX, but of a form that kinglet does not have.
  [[nodiscard]] std::unexpected<Error> refuse(std::string message, std::string hint = {}) const;

 private:
  Graph& graph_;
  NodeId id_;
  const KnownNumbers* known_;
};

// Each number of a row that there is not (OpParts::most_rows); such rows come last.
inline constexpr std::int64_t kNoRow = -1;

// Inputs as the node lists them; nullptr where an optional one is absent.
using Inputs = std::span<const Tensor* const>;

// Which layout a lowered node works in (engine/plan/plan.h turns this into the layout of each value).
enum class LayoutRule : std::uint8_t {
  kLogical,     // reads and writes the order of its shape (Reshape, Gemm ...)
  kFollow,      // any; its 4-D outputs lie as its inputs do (elementwise, Concat, Slice ...)
  kNhwc,        // 4-D outputs lie as [N,H,W,C], and it wants its data input so (Conv, pooling ...)
  kTransposes,  // moves the numbers anyway, so its output may lie as its readers want it (Transpose)
};

// What an operator's family has of it. All functions are pure; reentrant.
struct OpParts {
  // Turns the node, as opset `opset` of its domain wrote it, into the inner (newest) form: attributes that became
  // inputs, old defaults spelled out. Null: all opsets are alike. kBadData or kUnsupported for forms out of scope.
  Result<void> (*normalize)(Graph& graph, NodeId id, std::int64_t opset) = nullptr;

  // Checks attributes, input types and shapes (all that are known), and sets types and shapes of the outputs.
  // Unknown input shapes give unknown output shapes, never an error.
  Result<void> (*infer)(InferContext& context) = nullptr;

  // Exact reference: computes all outputs from all inputs. Shapes were checked by infer on the actual static shapes;
  // outputs come with type and shape set and zeroed, one for each output of the node, unless data-dependent.
  // Never sees f16: evaluate_node gives such inputs as f32 and rounds the results, so call it, not this pointer.
  // Accumulates in double where sums are long. Null: shape-only operators that are always folded.
  Result<void> (*evaluate)(const Node& node, Inputs inputs, std::span<Tensor> outputs) = nullptr;

  // About how many elementary steps evaluate takes on these shapes (multiply-adds, cells of windows), for the bounds on
  // what a file may ask for. Null: a step for each number in and out.
  double (*steps)(const Graph& graph, const Node& node) = nullptr;

  // Adds XNNPACK nodes for this node. Returns false (nothing added) when XNNPACK cannot take this form, with no
  // error: the node then runs through evaluate. Everything was verified before by infer; shapes are static here.
  Result<bool> (*lower)(xnn::SubgraphBuilder& builder, const Graph& graph, NodeId id) = nullptr;

  // What passes, planner and quantiser ask.
  Traits traits;

  // Of an 8-bit operator: what it computes, and where its tensors stand. A pass makes it of what stands between
  // DequantizeLinear and QuantizeLinear (fuse_quantized), and the other way round (expand_qlinear).
  QLinearForm qlinear;

  // Multiply-adds of a product with weights, 0 while a shape is not known. Null: it has none.
  std::int64_t (*multiply_adds)(const Graph& graph, const Node& node) = nullptr;

  // Bytes that XNNPACK keeps beside values and weights, from above; asked where output 0 has four axes and lies as
  // kNhwc says. Null: a pointer for each cell of each window (engine/plan/needs.h).
  double (*kept_bytes)(const Graph& graph, const Node& node) = nullptr;

  // What this node, which lower takes as well, is to kernels of kinglet's own; nothing for forms that none is for. Its
  // inputs are the node's computed ones. 4-D values lie as [N,H,W,C], or as kLogical says. Borrows from the graph.
  std::optional<kernels::Work> (*work)(const Graph& graph, NodeId id) = nullptr;

  // The same of forms that lower does not take, for kernels of work that XNNPACK has nothing for: one of them, or
  // evaluate.
  std::optional<kernels::Work> (*work_alone)(const Graph& graph, NodeId id) = nullptr;

  // Of an operator that gives as many rows as the numbers say (NonMaxSuppression): the most that output 0 may have,
  // its other axes being known; nothing while a shape is not static. A session has room for so many, and a row that a
  // run does not have is kNoRow there (evaluate fills what it is given). Null: shapes follow from shapes.
  std::optional<Dim> (*most_rows)(const Graph& graph, const Node& node) = nullptr;

  // Output numbers depend on nothing but the inputs (random operators would say false).
  bool deterministic = true;
};

// A row of ops.def with its parts.
struct Op : OpParts {
  std::string_view domain;  // "" is ONNX's own
  std::string_view op_type;
  int min_inputs = 1;
  int max_inputs = 1;   // kVariadic: any number
  int max_outputs = 1;  // at least one
  LayoutRule layout = LayoutRule::kLogical;

  static constexpr int kVariadic = 1 << 20;
};

// The row, or nullptr for an operator that kinglet does not know.
[[nodiscard]] const Op* find_op(std::string_view domain, std::string_view op_type);

// All rows, sorted as in ops.def.
[[nodiscard]] std::span<const Op> all_ops();

// Infers types and shapes of every node in order. Errors name the node.
[[nodiscard]] Result<void> infer_shapes(Graph& graph);

// The same for one node; with `known`, numbers of shape arithmetic are carried from node to node.
[[nodiscard]] Result<void> infer_node(Graph& graph, NodeId id);
[[nodiscard]] Result<void> infer_node(Graph& graph, NodeId id, KnownNumbers& known);

// Steps of the node's evaluate (Op::steps), in shapes as far as they are known.
[[nodiscard]] double evaluation_steps(const Graph& graph, NodeId id);

// Multiply-adds of the node (Op::multiply_adds); 0 for what is no product.
[[nodiscard]] std::int64_t multiply_adds(const Graph& graph, NodeId id);

// Runs one node by its evaluate on actual tensors (types and shapes of the outputs are inferred from them).
[[nodiscard]] Result<std::vector<Tensor>> evaluate_node(const Graph& graph, NodeId id, Inputs inputs);

// The same into tensors at hand, for a node that runs often on inputs of one shape: `outputs` have the types and shapes
// that inference gave the node in `graph`, all static and none f16. Most operators allocate little or nothing then.
[[nodiscard]] Result<void> evaluate_node_into(const Graph& graph, NodeId id, Inputs inputs, std::span<Tensor> outputs);

// Runs the whole graph by evaluate: the oracle of everything. `inputs` in the order of graph.inputs(); results in the
// order of graph.outputs().
[[nodiscard]] Result<std::vector<Tensor>> evaluate_graph(const Graph& graph, std::span<const Tensor> inputs);

}  // namespace kinglet::engine
