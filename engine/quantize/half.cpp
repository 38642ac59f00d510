// SPDX-License-Identifier: Apache-2.0
#include "engine/quantize/uncalibrated.h"

#include <algorithm>
#include <cmath>

#include "engine/base/format.h"
#include "engine/graph/float16.h"
#include "engine/ops/op.h"
#include "engine/quantize/weights/layers.h"
#include "engine/session/optimize.h"

namespace kinglet::engine {
namespace {

constexpr float kLeast = 1e-7F;
constexpr float kMost = 1e4F;
constexpr std::int64_t kFewest = 2;  // a single number is not worth a Cast
constexpr std::int64_t kOnnxFloat = 1, kOnnxFloat16 = 10;

class Converter {
 public:
  Converter(Graph graph, const HalfOptions& options) : graph_(std::move(graph)), options_(options) {}

  Result<HalfModel> run() {
    const std::vector<ValueId> values = graph_.values();
    for (const ValueId id : values) {
      const Tensor* constant = graph_.constant(id);
      if (constant == nullptr || constant->type() != DataType::kF32 || graph_.consumers(id).empty()) continue;
      if (options_.form == HalfForm::kWeights) {
        if (!is_kept(id)) store(id);
      } else {
        graph_.set_constant(id, halved(*constant));
      }
    }
    if (options_.form == HalfForm::kWhole) compute_in_half();
    if (report_.constants == 0) return fail(ErrorCode::kBadData, "the model has no float32 weights");
    if (!graph_.sort()) return fail(ErrorCode::kInternal, "the graph has a cycle");
    KINGLET_TRY(infer_shapes(graph_));
    return HalfModel{.graph = std::move(graph_), .report = report_};
  }

 private:
  Half half_of(float x) {
    const float size = std::abs(x);
    if (size > 0 && size < kLeast) {
      ++report_.raised;
      return to_half(std::copysign(kLeast, x));
    }
    if (std::isfinite(x) && size > kMost) {
      ++report_.lowered;
      return to_half(std::copysign(kMost, x));
    }
    return to_half(x);
  }

  Tensor halved(const Tensor& tensor) {
    ++report_.constants;
    Tensor out(DataType::kF16, tensor.shape());
    std::ranges::transform(tensor.data<float>(), out.mutable_data<Half>().begin(), [&](float x) { return half_of(x); });
    return out;
  }

  ValueId add_cast(ValueId from, DataType to, const std::string& name) {
    const ValueId made = graph_.add_value(name, to, graph_.value(from).shape);
    Attributes attributes;
    attributes.set("to", to == DataType::kF16 ? kOnnxFloat16 : kOnnxFloat);
    graph_.add_node({.op_type = "Cast",
                     .domain = {},
                     .name = graph_.value(made).name,
                     .inputs = {from},
                     .outputs = {made},
                     .attributes = std::move(attributes)});
    return made;
  }

  void read_instead(const std::vector<NodeId>& readers, ValueId from, ValueId to) {
    for (const NodeId reader : readers) {
      for (std::size_t i = 0; i < graph_.node(reader).inputs.size(); ++i) {
        if (graph_.node(reader).inputs[i] == from) graph_.set_input(reader, i, to);
      }
    }
  }

  void store(ValueId id) {
    const Tensor constant = *graph_.constant(id);
    if (constant.element_count() < kFewest) return;
    const std::vector<NodeId> readers = graph_.consumers(id);
    graph_.set_constant(id, halved(constant));
    read_instead(readers, id, add_cast(id, DataType::kF32, graph_.value(id).name + "_float32"));
  }

  bool is_kept(ValueId constant) const {
    return std::ranges::any_of(graph_.consumers(constant),
                               [&](NodeId reader) { return is_asked(graph_.node(reader)); });
  }

  bool is_asked(const Node& node) const {
    return options_.keep_float.contains(node.name) || options_.keep_float.contains(node.op_type);
  }

  bool is_blocked(const Node& node) const { return !traits_of(node).fits_half || is_asked(node); }

  void compute_in_half() {
    const std::vector<NodeId> nodes = graph_.nodes();
    for (const GraphInput& input : std::vector<GraphInput>(graph_.inputs())) {
      if (graph_.value(input.value).type != DataType::kF32 || graph_.constant(input.value) != nullptr) continue;
      const std::vector<NodeId> readers = graph_.consumers(input.value);
      read_instead(readers, input.value,
                   add_cast(input.value, DataType::kF16, graph_.value(input.value).name + "_float16"));
    }
    for (const NodeId id : nodes) halve_node(id);
    for (const ValueId output : std::vector<ValueId>(graph_.outputs())) {
      if (graph_.is_input(output) || graph_.value(output).type != DataType::kF16) continue;
      graph_.take_output(output, add_cast(output, DataType::kF32, graph_.value(output).name + "_float32"));
    }
  }

  void halve_node(NodeId id) {
    const bool blocked = is_blocked(graph_.node(id));
    const std::vector<ValueId> outputs = graph_.node(id).outputs;
    if (graph_.node(id).op_type == "Cast" && graph_.node(id).attributes.get_int("to", 0) == kOnnxFloat) {
      graph_.attributes(id).set("to", kOnnxFloat16);
    }
    if (blocked) {
      for (std::size_t i = 0; i < graph_.node(id).inputs.size(); ++i) {
        const ValueId input = graph_.node(id).inputs[i];
        if (input == kNoValue || graph_.value(input).type != DataType::kF16) continue;
        graph_.set_input(id, i, add_cast(input, DataType::kF32, graph_.value(input).name + "_float32"));
      }
    }
    for (const ValueId output : outputs) {
      if (output == kNoValue || graph_.value(output).type != DataType::kF32) continue;
      if (!blocked) {
        graph_.set_type_and_shape(output, DataType::kF16, graph_.value(output).shape);
        continue;
      }
      const std::vector<NodeId> readers = graph_.consumers(output);
      if (readers.empty()) continue;
      read_instead(readers, output, add_cast(output, DataType::kF16, graph_.value(output).name + "_float16"));
    }
  }

  Graph graph_;
  const HalfOptions& options_;
  HalfReport report_;
};

}  // namespace

Result<HalfModel> to_half_model(const Graph& graph, const HalfOptions& options) {
  Graph folded = KINGLET_TRY(optimize_model(graph, {.prove = false})).graph;
  std::vector<std::string_view> names;
  for (const NodeId id : folded.nodes()) {
    names.push_back(folded.node(id).name);
    names.push_back(folded.node(id).op_type);
  }
  KINGLET_TRY(check_layer_names(options.keep_float, names));
  return Converter(std::move(folded), options).run();
}

}  // namespace kinglet::engine
