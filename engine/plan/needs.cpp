// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/needs.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/ops/op.h"

namespace kinglet::engine {
namespace {

double bytes_of(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  double bytes = static_cast<double>(byte_size(value.type));
  if (!value.shape) return bytes;
  for (const Dim dim : *value.shape) bytes *= dim == kUnknownDim ? 1.0 : static_cast<double>(dim);
  return bytes;
}

double constant_bytes(const Graph& graph) {
  std::unordered_set<const void*> seen;  // constants may share their numbers
  double bytes = 0;
  for (const ValueId id : graph.values()) {
    const Tensor* constant = graph.constant(id);
    if (constant != nullptr && seen.insert(constant->place()).second) bytes += bytes_of(graph, id);
  }
  return bytes;
}

// What XNNPACK keeps: what the row says, or, for operators that have windows, output places times cells of the window,
// each a pointer.
double window_bytes(const Graph& graph, const Node& node) {
  const Op* op = find_op(node.domain, node.op_type);
  if (op == nullptr || op->layout != LayoutRule::kNhwc || node.outputs.empty()) return 0;
  const std::optional<Shape>& out = graph.value(node.outputs[0]).shape;
  if (!out || out->size() != 4) return 0;
  if (op->kept_bytes != nullptr) return op->kept_bytes(graph, node);
  double cells = static_cast<double>(sizeof(void*));
  for (std::size_t axis = 2; axis < 4; ++axis) cells *= std::max(1.0, static_cast<double>((*out)[axis]));
  for (const std::int64_t size : node.attributes.get_ints("kernel_shape")) cells *= static_cast<double>(size);
  const bool weighted = node.inputs.size() > 1 && node.inputs[1] != kNoValue;
  if (node.attributes.find("kernel_shape") != nullptr || !weighted) return cells;
  const std::optional<Shape>& weight = graph.value(node.inputs[1]).shape;
  for (std::size_t axis = 2; weight && axis < weight->size(); ++axis) cells *= static_cast<double>((*weight)[axis]);
  return cells;
}

// Values in memory while the nodes run in order: from the node that makes them to their last reader.
class Alive {
 public:
  explicit Alive(const Graph& graph) : graph_(graph) {
    for (const GraphInput& input : graph.inputs()) bytes_ += bytes_of(graph, input.value);
  }
  [[nodiscard]] double bytes() const { return bytes_; }
  // Bytes while `node` runs.
  double run(const Node& node) {
    for (const ValueId output : node.outputs) {
      if (output != kNoValue) bytes_ += bytes_of(graph_, output);
    }
    const double now = bytes_;
    for (const ValueId input : node.inputs) {
      if (input == kNoValue || graph_.value(input).producer == kNoNode || graph_.is_output(input)) continue;
      if (++reads_[std::to_underlying(input)] == graph_.consumers(input).size()) bytes_ -= bytes_of(graph_, input);
    }
    for (const ValueId output : node.outputs) {
      if (output == kNoValue || !graph_.consumers(output).empty() || graph_.is_output(output)) continue;
      bytes_ -= bytes_of(graph_, output);
    }
    return now;
  }

 private:
  const Graph& graph_;
  std::unordered_map<std::uint32_t, std::size_t> reads_;
  double bytes_ = 0;
};

std::string size_text(double bytes) { return format_text("{:.0f} MiB", bytes / (1 << 20)); }

constexpr std::string_view kHint = "its shapes are out of proportion to the file: is it a model without its weights?";

std::unexpected<Error> too_much(const Needs& needs, std::string message) {
  return fail(ErrorCode::kBadData, std::move(message), needs.largest, std::string(kHint));
}

}  // namespace

Needs needs_of(const Graph& graph) {
  Needs needs{.constants = constant_bytes(graph)};
  double most = 0;
  const auto asks = [&](double amount, std::string_view kind, std::string_view name, std::string_view op_type) {
    if (amount <= most) return;
    most = amount;
    needs.largest = format_text("{} \"{}\"", kind, printable(name));
    if (!op_type.empty()) needs.largest += format_text(" ({})", op_type);
  };
  for (const GraphInput& input : graph.inputs()) {
    asks(bytes_of(graph, input.value), "input", graph.value(input.value).name, {});
  }
  Alive alive(graph);
  needs.values = alive.bytes();
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const double windows = window_bytes(graph, node);
    const double steps = evaluation_steps(graph, id);
    needs.values = std::max(needs.values, alive.run(node));
    needs.windows += windows;
    needs.steps += steps;
    double packed = 0;
    for (const ValueId input : node.inputs) {
      if (graph.constant(input) != nullptr) packed += bytes_of(graph, input);
    }
    needs.packed += packed;
    double own = windows + packed + steps * static_cast<double>(kBaseMemory) / kMostSteps;
    for (const ValueId output : node.outputs) own += output == kNoValue ? 0 : bytes_of(graph, output);
    asks(own, "node", node.name, node.op_type);
  }
  return needs;
}

std::int64_t memory_limit_of(const Graph& loaded) {
  constexpr std::int64_t kTimesWeights = 8;
  return kBaseMemory + kTimesWeights * static_cast<std::int64_t>(constant_bytes(loaded));
}

Result<void> check_needs(const Graph& graph, std::int64_t limit) {
  const Needs needs = needs_of(graph);
  const double bytes = bytes_of(needs);
  if (bytes > static_cast<double>(limit)) {
    return too_much(
        needs, format_text("asks for most of {}: {} of weights, {} packed, {} of values, {} of windows; "
                           "the limit is {}",
                           size_text(bytes), size_text(needs.constants), size_text(needs.packed),
                           size_text(needs.values), size_text(needs.windows), size_text(static_cast<double>(limit))));
  }
  if (needs.steps > kMostSteps) {
    return too_much(needs,
                    format_text("asks for most of {:.2g} steps a run, the limit is {:.2g}", needs.steps, kMostSteps));
  }
  return {};
}

Result<void> check_copies(const Graph& graph, const std::vector<Step>& steps, std::int64_t limit) {
  double bytes = 0;
  for (const Step& step : steps) {
    if (!step.is_evaluated()) continue;
    for (const ValueId input : step.inputs) bytes += bytes_of(graph, input);
    if (bytes <= static_cast<double>(limit)) continue;
    const Node& node = graph.node(step.nodes.front());
    return fail(ErrorCode::kBadData,
                format_text("up to here, operators that XNNPACK does not run keep {} of their inputs, the limit is {}",
                            size_text(bytes), size_text(static_cast<double>(limit))),
                format_text("node \"{}\" ({})", printable(node.name), node.op_type), std::string(kHint));
  }
  return {};
}

}  // namespace kinglet::engine
