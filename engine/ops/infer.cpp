// SPDX-License-Identifier: Apache-2.0
// Shape inference over a graph: runs each operator's infer in order, and carries the numbers of small integer tensors
// (results of Shape, Gather, Concat ...) along, so that a Reshape behind them knows its shape before anything is
// folded.

#include <algorithm>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/ops/common.h"
#include "engine/ops/op.h"

namespace kinglet::engine {
namespace {

constexpr std::int64_t kKnownLimit = 64;  // elements of a tensor that describes a shape

std::string place(const Node& node) { return format_text("node \"{}\" ({})", printable(node.name), node.op_type); }

const Op& row_of(const Node& node) {
  const Op* op = find_op(node.domain, node.op_type);
  KINGLET_CHECK(op != nullptr);  // unknown operators were refused at load
  return *op;
}

Result<void> check_arity(const Node& node, const Op& op) {
  const auto within = [](std::size_t count, int low, int high) {
    return count >= static_cast<std::size_t>(low) && count <= static_cast<std::size_t>(high);
  };
  if (!within(node.inputs.size(), op.min_inputs, op.max_inputs)) {
    return fail(ErrorCode::kBadData,
                format_text("has {} inputs, expected {} to {}", node.inputs.size(), op.min_inputs, op.max_inputs),
                place(node));
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(op.min_inputs); ++i) {
    if (node.inputs[i] == kNoValue) {
      return fail(ErrorCode::kBadData, format_text("input {} is missing", i), place(node));
    }
  }
  if (!within(node.outputs.size(), 1, op.max_outputs)) {
    return fail(ErrorCode::kBadData,
                format_text("has {} outputs, expected 1 to {}", node.outputs.size(), op.max_outputs), place(node));
  }
  return {};
}

// What nodes make is bounded by check_size(); a tensor of no numbers may come from outside with any dimensions.
Result<void> check_inputs(const Graph& graph, const Node& node) {
  for (const ValueId input : node.inputs) {
    if (input == kNoValue || !graph.value(input).shape) continue;
    const Shape& shape = *graph.value(input).shape;
    if (std::ranges::all_of(shape, [](Dim dim) { return dim <= ops::kMaxDim; })) continue;
    return fail(ErrorCode::kBadData,
                format_text("an input has the shape {}, dimensions go up to {}", to_string(shape), ops::kMaxDim),
                place(node));
  }
  return {};
}

Result<void> check_size(const Graph& graph, const Node& node) {
  for (const ValueId output : node.outputs) {
    if (output == kNoValue || !graph.value(output).shape) continue;
    const Shape& shape = *graph.value(output).shape;
    bool fits = shape.size() <= ops::kMaxRank;
    std::int64_t bytes = static_cast<std::int64_t>(byte_size(graph.value(output).type));
    for (const Dim dim : shape) {
      fits = fits && dim <= ops::kMaxDim;
      if (fits && dim > 0) bytes *= dim;
      fits = fits && bytes <= ops::kMaxTensorBytes;
    }
    if (fits) continue;
    return fail(ErrorCode::kBadData,
                format_text("its output would have the shape {}, more than {} bytes or {} dimensions", to_string(shape),
                            ops::kMaxTensorBytes, ops::kMaxRank),
                place(node));
  }
  return {};
}

bool all_known(const InferContext& context) {
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    if (!context.has_input(i)) continue;
    const Tensor* tensor = context.input_constant(i);
    if (tensor == nullptr || tensor->element_count() > kKnownLimit) return false;
  }
  return true;
}

bool may_describe_a_shape(const Value& value) {
  if (!ops::kIndices.contains(value.type) && value.type != DataType::kBool && value.type != DataType::kF32)
    return false;
  const std::optional<std::int64_t> count = value.shape ? element_count(*value.shape) : std::nullopt;
  return count && *count <= kKnownLimit;
}

// Shape and Size know their result without the numbers of their input.
bool needs_only_shape(const Node& node, const InferContext& context) {
  return node.domain.empty() && (node.op_type == "Shape" || node.op_type == "Size") && context.input_shape(0) &&
         is_static(*context.input_shape(0));
}

void remember(const Graph& graph, NodeId id, const InferContext& context, KnownNumbers& known) {
  const Node& node = graph.node(id);
  if (!row_of(node).deterministic || node.outputs.size() != 1 || node.outputs[0] == kNoValue) return;
  if (!may_describe_a_shape(graph.value(node.outputs[0]))) return;
  if (needs_only_shape(node, context)) {
    const Value& output = graph.value(node.outputs[0]);
    Tensor numbers(DataType::kI64, *output.shape);
    if (!ops::shape_numbers(node, *context.input_shape(0), numbers)) return;
    known.insert_or_assign(std::to_underlying(node.outputs[0]), std::move(numbers));
    return;
  }
  constexpr double kMostSteps = 1 << 16;  // 64 numbers may still name a window of any size
  if (!all_known(context) || evaluation_steps(graph, id) > kMostSteps) return;
  std::vector<const Tensor*> inputs;
  inputs.reserve(context.input_count());
  for (std::size_t i = 0; i < context.input_count(); ++i) inputs.push_back(context.input_constant(i));
  auto results = evaluate_node(graph, id, inputs);
  if (results) known.insert_or_assign(std::to_underlying(node.outputs[0]), std::move(results->front()));
}

Result<void> infer_one(Graph& graph, NodeId id, KnownNumbers* known) {
  const Op& op = row_of(graph.node(id));
  KINGLET_TRY(check_arity(graph.node(id), op));
  KINGLET_TRY(check_inputs(graph, graph.node(id)));
  InferContext context(graph, id, known);
  KINGLET_TRY(op.infer(context));
  KINGLET_TRY(check_size(graph, graph.node(id)));
  if (known != nullptr) remember(graph, id, context, *known);
  return {};
}

}  // namespace

bool InferContext::has_input(std::size_t i) const { return i < node().inputs.size() && node().inputs[i] != kNoValue; }

DataType InferContext::input_type(std::size_t i) const { return graph_.value(node().inputs.at(i)).type; }

const std::optional<Shape>& InferContext::input_shape(std::size_t i) const {
  return graph_.value(node().inputs.at(i)).shape;
}

const Tensor* InferContext::input_constant(std::size_t i) const {
  if (!has_input(i)) return nullptr;
  const ValueId id = node().inputs[i];
  if (const Tensor* constant = graph_.constant(id)) return constant;
  if (known_ == nullptr) return nullptr;
  const auto at = known_->find(std::to_underlying(id));
  return at == known_->end() ? nullptr : &at->second;
}

void InferContext::set_output(std::size_t i, DataType type, std::optional<Shape> shape) {
  if (i >= node().outputs.size() || node().outputs[i] == kNoValue) return;
  graph_.set_type_and_shape(node().outputs[i], type, std::move(shape));
}

std::unexpected<Error> InferContext::fail(std::string message, std::string hint) const {
  return ::kinglet::fail(ErrorCode::kBadData, std::move(message), place(node()), std::move(hint));
}

std::unexpected<Error> InferContext::refuse(std::string message, std::string hint) const {
  return ::kinglet::fail(ErrorCode::kUnsupported, std::move(message), place(node()), std::move(hint));
}

Result<void> infer_node(Graph& graph, NodeId id) { return infer_one(graph, id, nullptr); }

Result<void> infer_node(Graph& graph, NodeId id, KnownNumbers& known) { return infer_one(graph, id, &known); }

Result<void> infer_shapes(Graph& graph) {
  KnownNumbers known;
  for (const NodeId id : graph.nodes()) KINGLET_TRY(infer_one(graph, id, &known));
  return {};
}

}  // namespace kinglet::engine
