// SPDX-License-Identifier: Apache-2.0
#include "engine/quantize/uncalibrated.h"

#include <map>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/ops/common.h"
#include "engine/ops/normalize.h"
#include "engine/ops/op.h"
#include "engine/passes/rewrite.h"
#include "engine/quantize/weights/layers.h"
#include "engine/quantize/weights/weights.h"
#include "engine/session/optimize.h"

namespace kinglet::engine {
namespace {

constexpr std::int64_t kOnnxFloat = 1;

// The levels of a value, its scale and zero point.
struct Levels {
  ValueId quantized, scale, zero_point;
};

class Writer {
 public:
  explicit Writer(Graph graph) : graph_(std::move(graph)) {}

  Result<void> quantize(NodeId id) {
    const WeightView view = *layer_of(graph_, id);
    const Tensor weight = *graph_.constant(graph_.node(id).inputs[1]);
    const std::vector<float> none(view.channels, 0.0F);
    const auto found = quantize_weights(by_channel(weight, view), none, view, {.output_scale = 0});
    if (!found) {
      return std::unexpected(with_context(found.error(), format_text("node \"{}\"", printable(graph_.node(id).name))));
    }
    const Levels x = levels_of(id);
    const ValueId w = add_weight(id, view, *found);
    const ValueId sums = add(id, "MatMulInteger", {x.quantized, w, x.zero_point}, DataType::kI32);
    Attributes to_float;
    to_float.set("to", kOnnxFloat);
    const ValueId real = add(id, "Cast", {sums}, DataType::kF32, std::move(to_float));
    const ValueId ws = ops::add_node_constant(
        graph_, id, "weight_scale", Tensor::of<float>({static_cast<Dim>(view.channels)}, std::span(found->scales)));
    const ValueId scales = add(id, "Mul", {x.scale, ws}, DataType::kF32);
    const bool biased = has_input(graph_.node(id), 2);
    if (!biased) {
      ops::become(graph_, id, "Mul", {real, scales}, {});
      return {};
    }
    const ValueId product = add(id, "Mul", {real, scales}, DataType::kF32);
    ops::become(graph_, id, "Add", {product, graph_.node(id).inputs[2]}, {});
    return {};
  }

  Graph take() { return std::move(graph_); }

 private:
  ValueId add(NodeId before, std::string_view op_type, std::vector<ValueId> inputs, DataType type,
              Attributes attributes = {}) {
    return ops::insert_before(graph_, before, op_type, std::move(inputs), std::move(attributes), type);
  }

  // One rounding for all layers that read the value.
  Levels levels_of(NodeId id) {
    const ValueId x = graph_.node(id).inputs[0];
    if (const auto known = levels_.find(x); known != levels_.end()) return known->second;
    const std::string name = graph_.value(x).name;
    const Levels made{.quantized = graph_.add_value(name + "_quantized", DataType::kU8, graph_.value(x).shape),
                      .scale = graph_.add_value(name + "_scale", DataType::kF32, Shape{}),
                      .zero_point = graph_.add_value(name + "_zero_point", DataType::kU8, Shape{})};
    graph_.insert_node(id, {.op_type = "DynamicQuantizeLinear",
                            .domain = {},
                            .name = graph_.value(made.quantized).name,
                            .inputs = {x},
                            .outputs = {made.quantized, made.scale, made.zero_point},
                            .attributes = {}});
    return levels_.emplace(x, made).first->second;
  }

  // [inputs, outputs], whatever the layer's own order.
  ValueId add_weight(NodeId id, const WeightView& view, const QuantizedWeights& found) {
    Tensor levels(DataType::kI8, {static_cast<Dim>(view.inner), static_cast<Dim>(view.channels)});
    const auto to = levels.mutable_data<std::int8_t>();
    for (std::size_t channel = 0; channel < view.channels; ++channel) {
      for (std::size_t i = 0; i < view.inner; ++i) {
        to[i * view.channels + channel] = found.levels[channel * view.inner + i];
      }
    }
    return graph_.add_constant(graph_.value(graph_.node(id).inputs[1]).name + "_quantized", std::move(levels));
  }

  Graph graph_;
  std::map<ValueId, Levels> levels_;
};

}  // namespace

Result<DynamicModel> to_dynamic_model(const Graph& graph, const std::set<std::string>& keep_float) {
  Graph folded = KINGLET_TRY(optimize_model(graph, {.prove = false})).graph;
  std::vector<NodeId> layers;
  std::vector<std::string_view> names;
  for (const NodeId id : folded.nodes()) {
    const Node& node = folded.node(id);
    const bool product = is_any_of(node, {"Gemm", "MatMul"}) && folded.constant(node.inputs[0]) == nullptr;
    if (!product || !layer_of(folded, id)) continue;
    names.push_back(node.name);
    if (!keep_float.contains(node.name)) layers.push_back(id);
  }
  KINGLET_TRY(check_layer_names(keep_float, names));
  if (layers.empty()) {
    return fail(ErrorCode::kBadData, "no matrix product with constant weights is left to quantise", {},
                "convolutions want calibration: leave --dynamic out and give --images");
  }
  Writer writer(std::move(folded));
  for (const NodeId id : layers) KINGLET_TRY(writer.quantize(id));
  DynamicModel out{.graph = writer.take(), .layers = layers.size()};
  if (!out.graph.sort()) return fail(ErrorCode::kInternal, "the graph has a cycle");
  KINGLET_TRY(infer_shapes(out.graph));
  return out;
}

}  // namespace kinglet::engine
