// SPDX-License-Identifier: Apache-2.0
// Runs nodes and whole graphs by their evaluate: the oracle. A node is put into a graph of its own whose inputs are
// constants, so that inference and its checks see the actual shapes and numbers.
#include <algorithm>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/graph/float16.h"
#include "engine/graph/fused_clip.h"
#include "engine/ops/common.h"
#include "engine/ops/levels.h"
#include "engine/ops/op.h"
#include "engine/ops/quantized.h"

namespace kinglet::engine {
namespace {

// Of one node: some minutes. The largest convolutions of classifiers take 1e10.
constexpr double kMostSteps = 2e11;

template <typename From, typename To>
Tensor converted(const Tensor& tensor, DataType type, To (*convert)(From)) {
  Tensor out(type, tensor.shape());
  std::ranges::transform(tensor.data<From>(), out.mutable_data<To>().begin(), convert);
  return out;
}

Tensor widen(const Tensor& tensor) { return converted(tensor, DataType::kF32, to_float); }
Tensor narrow(const Tensor& tensor) { return converted(tensor, DataType::kF16, to_half); }

// Outputs of inferred type and shape, zeroed; f16 becomes f32.
// Inference knows all numbers here, also of an operator that makes as many rows as they say: what stays unknown is
// beyond counting ([0,2^31,2^31,...] flattened). Optional outputs that the node `asked` does not have may be unknown.
Result<std::vector<Tensor>> make_outputs(const Graph& alone, const Node& node, const Node& asked) {
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const Value& value = alone.value(node.outputs[i]);
    const DataType type = value.type == DataType::kF16 ? DataType::kF32 : value.type;
    const bool known = value.shape && is_static(*value.shape);
    if (!known && asked.outputs[i] != kNoValue) {
      return fail(ErrorCode::kBadData, "has an output whose shape is beyond counting",
                  format_text("node \"{}\" ({})", printable(node.name), node.op_type));
    }
    outputs.push_back(known ? Tensor(type, *value.shape) : Tensor());
  }
  return outputs;
}

template <typename T>
void clip_levels(const FusedClip& clip, float scale, std::int32_t zero_point, std::span<T> levels) {
  const T low = ops::quantized<T>(clip.min, scale, zero_point);
  const T high = ops::quantized<T>(clip.max, scale, zero_point);
  for (T& level : levels) level = std::min(std::max(level, low), high);
}

// A node may carry a fused activation: clips every f32 output to its range, and the levels of an 8-bit operator to
// those of the range; nothing when the node has none. NaN stays NaN.
void apply_fused_clip(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const FusedClip clip = fused_clip(node);
  if (clip.open()) return;
  const QLinearForm* form = qlinear_form(node);
  for (Tensor& output : outputs) {
    if (output.type() == DataType::kF32) {
      for (float& x : output.mutable_data<float>()) x = std::min(std::max(x, clip.min), clip.max);
    } else if (form != nullptr) {
      ops::visit_bytes(output.type(), [&]<typename T>() {
        clip_levels<T>(clip, ops::scale_of(inputs, form->y_scale), ops::zero_point_of(inputs, form->y_scale + 1),
                       output.mutable_data<T>());
      });
    }
  }
}

// Nothing may have any number of rows: no operator needs to walk through them.
Result<void> fill(const Op& op, const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  if (std::ranges::all_of(outputs, [](const Tensor& output) { return output.element_count() == 0; })) return {};
  KINGLET_TRY(op.evaluate(node, inputs, outputs));
  apply_fused_clip(node, inputs, outputs);
  return {};
}

Result<void> check_input(const Graph& graph, const GraphInput& input, const Tensor& tensor) {
  const Value& value = graph.value(input.value);
  bool fits = tensor.type() == value.type && (!value.shape || value.shape->size() == tensor.shape().size());
  for (std::size_t i = 0; fits && value.shape && i < value.shape->size(); ++i) {
    fits = (*value.shape)[i] == kUnknownDim || (*value.shape)[i] == tensor.shape()[i];
  }
  if (fits) return {};
  return fail(ErrorCode::kBadData, format_text("input \"{}\" takes {}{}, but got {}{}", printable(value.name),
                                               to_string(value.type), value.shape ? to_string(*value.shape) : "",
                                               to_string(tensor.type()), to_string(tensor.shape())));
}

// Tensors of a run by value id, each dropped after its last reader.
class Memory {
 public:
  explicit Memory(const Graph& graph) : graph_(graph) {
    for (const NodeId id : graph.nodes()) {
      for (const ValueId input : graph.node(id).inputs) {
        if (input != kNoValue) ++readers_[std::to_underlying(input)];
      }
    }
    for (const ValueId output : graph.outputs()) ++readers_[std::to_underlying(output)];
  }
  void put(ValueId id, Tensor tensor) {
    if (readers_.contains(std::to_underlying(id))) tensors_.insert_or_assign(std::to_underlying(id), std::move(tensor));
  }
  const Tensor* get(ValueId id) const {
    if (const Tensor* constant = graph_.constant(id)) return constant;
    const auto at = tensors_.find(std::to_underlying(id));
    return at == tensors_.end() ? nullptr : &at->second;
  }
  void release(ValueId id) {
    if (id != kNoValue && --readers_[std::to_underlying(id)] == 0) tensors_.erase(std::to_underlying(id));
  }

 private:
  const Graph& graph_;
  std::unordered_map<std::uint32_t, std::size_t> readers_;
  std::unordered_map<std::uint32_t, Tensor> tensors_;
};

}  // namespace

Result<std::vector<Tensor>> evaluate_node(const Graph& graph, NodeId id, Inputs inputs) {
  const Node& node = graph.node(id);
  const Op* op = find_op(node.domain, node.op_type);
  KINGLET_CHECK(op != nullptr && inputs.size() == node.inputs.size());
  Graph alone;
  Node copy = node;
  std::vector<Tensor> widened;
  widened.reserve(inputs.size());
  std::vector<const Tensor*> numbers;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    copy.inputs[i] = inputs[i] == nullptr ? kNoValue : alone.add_constant({}, *inputs[i]);
    const bool half = inputs[i] != nullptr && inputs[i]->type() == DataType::kF16;
    numbers.push_back(half ? &widened.emplace_back(widen(*inputs[i])) : inputs[i]);
  }
  for (ValueId& output : copy.outputs) output = alone.add_value({}, DataType::kF32, std::nullopt);
  const NodeId only = alone.add_node(std::move(copy));
  KINGLET_TRY(infer_node(alone, only));
  if (const double steps = evaluation_steps(alone, only); steps > kMostSteps) {
    return fail(ErrorCode::kBadData, format_text("would take {:.2g} steps, the limit is {:.2g}", steps, kMostSteps),
                format_text("node \"{}\" ({})", printable(node.name), node.op_type));
  }
  std::vector<Tensor> outputs = KINGLET_TRY(make_outputs(alone, alone.node(only), node));
  if (op->evaluate == nullptr) {
    return fail(ErrorCode::kUnsupported, "has no reference evaluation",
                format_text("node \"{}\"", printable(node.name)));
  }
  KINGLET_TRY(fill(*op, alone.node(only), numbers, outputs));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Value& value = alone.value(alone.node(only).outputs[i]);
    if (value.type == DataType::kF16 && outputs[i].type() == DataType::kF32) outputs[i] = narrow(outputs[i]);
  }
  return outputs;
}

Result<void> evaluate_node_into(const Graph& graph, NodeId id, Inputs inputs, std::span<Tensor> outputs) {
  const Node& node = graph.node(id);
  const Op* op = find_op(node.domain, node.op_type);
  KINGLET_CHECK(op != nullptr && op->evaluate != nullptr && inputs.size() == node.inputs.size());
  for (Tensor& output : outputs) std::ranges::fill(output.mutable_bytes(), std::byte{0});
  return fill(*op, node, inputs, outputs);
}

Result<std::vector<Tensor>> evaluate_graph(const Graph& graph, std::span<const Tensor> inputs) {
  if (inputs.size() != graph.inputs().size()) {
    return fail(ErrorCode::kBadData,
                format_text("got {} inputs, the model has {}", inputs.size(), graph.inputs().size()));
  }
  Memory memory(graph);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    KINGLET_TRY(check_input(graph, graph.inputs()[i], inputs[i]));
    memory.put(graph.inputs()[i].value, inputs[i]);
  }
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    std::vector<const Tensor*> arguments;
    arguments.reserve(node.inputs.size());
    for (const ValueId input : node.inputs) arguments.push_back(input == kNoValue ? nullptr : memory.get(input));
    std::vector<Tensor> results = KINGLET_TRY(evaluate_node(graph, id, arguments));
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (node.outputs[i] != kNoValue) memory.put(node.outputs[i], std::move(results[i]));
    }
    for (const ValueId input : node.inputs) memory.release(input);
  }
  std::vector<Tensor> results;
  for (const ValueId output : graph.outputs()) results.push_back(*memory.get(output));
  return results;
}

}  // namespace kinglet::engine
