// SPDX-License-Identifier: Apache-2.0
// Cast between element types, and tensors made of one number: ConstantOfShape. (Constant nodes become constants at
// load.)
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/format.h"
#include "engine/graph/float16.h"
#include "engine/ops/common.h"
#include "engine/ops/normalize.h"
#include "engine/ops/out_of_scope.h"
#include "engine/ops/rows.h"

namespace kinglet::engine::ops {
namespace {

constexpr std::int64_t kFloat64 = 11;

bool is_onnx(const Node& node, std::string_view op_type) { return node.domain.empty() && node.op_type == op_type; }

// The type of input 0 is known, and so is every number of it in float64.
bool is_exact_in_float64(DataType type) { return type != DataType::kI64; }

// The type that a Cast or CastLike makes, where that is known before inference has reached it.
std::optional<DataType> cast_type(const Graph& graph, const Node& node, ValueId x) {
  if (is_onnx(node, "Cast")) return type_of_number(node.attributes.get_int("to", 0));
  if (!is_onnx(node, "CastLike") || node.inputs.size() != 2 || node.inputs[1] == kNoValue) return std::nullopt;
  const ValueId like = node.inputs[1];
  const bool known = like == x || graph.is_input(like) || graph.constant(like) != nullptr;
  return known ? std::optional(graph.value(like).type) : std::nullopt;
}

// The only reader of the node's only output, when it is the operator and reads it as input 0.
NodeId next(const Graph& graph, NodeId id, std::string_view op_type) {
  if (id == kNoNode || graph.node(id).outputs.size() != 1 || graph.node(id).outputs[0] == kNoValue) return kNoNode;
  const ValueId output = graph.node(id).outputs[0];
  if (!graph.has_single_use(output)) return kNoNode;
  const NodeId reader = graph.consumers(output).front();
  const Node& node = graph.node(reader);
  const bool fits = (op_type.empty() || is_onnx(node, op_type)) && node.inputs[0] == output;
  return fits ? reader : kNoNode;
}

bool fold_log_sum_exp(Graph& graph, NodeId cast) {
  const ValueId x = graph.node(cast).inputs[0];
  const NodeId exp = next(graph, cast, "Exp");
  const NodeId sum = next(graph, exp, "ReduceSum");
  const NodeId log = next(graph, sum, "Log");
  const NodeId back = next(graph, log, "");
  if (back == kNoNode || cast_type(graph, graph.node(back), x) != graph.value(x).type) return false;
  if (!kFloats.contains(graph.value(x).type)) return false;
  std::vector<ValueId> inputs = graph.node(sum).inputs;
  inputs[0] = x;
  Attributes attributes = graph.node(sum).attributes;
  become(graph, back, "ReduceLogSumExp", inputs, std::move(attributes));
  for (const NodeId id : {log, sum, exp, cast}) graph.remove_node(id);
  return true;
}

void read_past(Graph& graph, NodeId cast) {
  const ValueId x = graph.node(cast).inputs[0];
  const ValueId y = graph.node(cast).outputs[0];
  if (graph.is_output(y)) return;
  const std::vector<NodeId> readers = graph.consumers(y);
  const bool all_cast = std::ranges::all_of(readers, [&](NodeId reader) {
    const Node& node = graph.node(reader);
    return std::ranges::count(node.inputs, y) == 1 && node.inputs[0] == y && cast_type(graph, node, x).has_value();
  });
  if (readers.empty() || !all_cast) return;
  for (const NodeId reader : readers) graph.set_input(reader, 0, x);
  graph.remove_node(cast);
}

// Exporters send float32 through float64 and back; kinglet has no float64, but the detours that change nothing, or that
// another operator takes exactly, can go.
// Before:     y = Cast(x, to f64) and then Cast back; or CastBack(Log(ReduceSum(Exp(y), axes)))
// After:      the Cast back reads x; or ReduceLogSumExp(x, axes), which takes its sums in double
// Conditions: every number of x is exact in float64; no result between is read by anything else
// Does nothing otherwise: inference then refuses the Cast.
void take_out_float64_detour(Graph& graph, NodeId cast) {
  const Node& node = graph.node(cast);
  if (node.attributes.get_int("to", 0) != kFloat64 || node.inputs.size() != 1 || node.inputs[0] == kNoValue ||
      node.outputs.size() != 1 || node.outputs[0] == kNoValue ||
      !is_exact_in_float64(graph.value(node.inputs[0]).type)) {
    return;
  }
  if (!fold_log_sum_exp(graph, cast)) read_past(graph, cast);
}

Result<void> normalize_cast(Graph& graph, NodeId id, std::int64_t /*opset*/) {
  take_out_float64_detour(graph, id);
  return {};
}

Result<void> infer_cast(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kAnyType));
  const std::int64_t number = context.attributes().get_int("to", 0);
  const std::optional<DataType> type = type_of_number(number);
  if (!type) return context.refuse(format_text("casts to {}", describe_refused_type(number)));
  context.set_output(0, *type, context.input_shape(0));
  return {};
}

Result<void> infer_cast_like(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kAnyType));
  context.set_output(0, context.input_type(1), context.input_shape(0));
  return {};
}

// Floats are cut towards zero; what does not fit the integer wraps or, for floats, stops at the limit. NaN is 0.
template <typename To, typename From>
To cast(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From{};
  } else if constexpr (std::is_same_v<From, float> && std::is_integral_v<To>) {
    if (x != x) return To{0};
    constexpr float kLow = -9223372036854775808.0F;
    if (x >= -kLow) return static_cast<To>(std::numeric_limits<std::int64_t>::max());
    if (x < kLow) return static_cast<To>(std::numeric_limits<std::int64_t>::min());
    return static_cast<To>(static_cast<std::int64_t>(x));
  } else {
    return static_cast<To>(x);
  }
}

Result<void> evaluate_cast(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  visit_type(inputs[0]->type(), [&]<typename From>() {
    visit_type(outputs[0].type(), [&]<typename To>() {
      const auto from = inputs[0]->data<From>();
      const auto to = outputs[0].mutable_data<To>();
      for (std::size_t i = 0; i < from.size(); ++i) to[i] = cast<To, From>(from[i]);
    });
  });
  return {};
}

Result<void> infer_constant_of_shape(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kIndices));
  DataType type = DataType::kF32;
  if (const Attribute* value = context.attributes().find("value")) {
    const Tensor* tensor = std::get_if<Tensor>(value);
    if (tensor == nullptr || tensor->element_count() != 1) return context.fail("attribute value is not one number");
    type = tensor->type();
  }
  const Tensor* shape = context.input_constant(0);
  if (shape == nullptr) {
    context.set_output(0, type, std::nullopt);
    return {};
  }
  const std::vector<std::int64_t> dims = shape->to_int64s();
  for (const std::int64_t dim : dims) {
    if (dim < 0 || dim > kMaxDim) return context.fail(format_text("the shape holds {}", dim));
  }
  context.set_output(0, type, dims);
  return {};
}

Result<void> evaluate_constant_of_shape(const Node& node, Inputs /*inputs*/, std::span<Tensor> outputs) {
  const Attribute* value = node.attributes.find("value");
  if (value == nullptr) return {};
  const Tensor& one = std::get<Tensor>(*value);
  if (one.type() == DataType::kF16) {
    std::ranges::fill(outputs[0].mutable_data<float>(), to_float(one.data<Half>()[0]));
    return {};
  }
  visit_size(one.type(), [&]<typename T>() { std::ranges::fill(raw<T>(outputs[0]), raw<T>(one)[0]); });
  return {};
}

}  // namespace

const OpParts kCast{.normalize = normalize_cast,
                    .infer = infer_cast,
                    .evaluate = evaluate_cast,
                    .traits = {.elementwise = Elementwise::kUnary, .numbers = Numbers::kMoved}};
const OpParts kCastLike{.infer = infer_cast_like, .evaluate = evaluate_cast, .traits = {.numbers = Numbers::kMoved}};
const OpParts kConstantOfShape{.infer = infer_constant_of_shape, .evaluate = evaluate_constant_of_shape};

}  // namespace kinglet::engine::ops
