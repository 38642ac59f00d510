// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample as files before opset 11 wrote them, as today's Resize.
#include "engine/ops/common.h"
#include "engine/ops/families/resize_plan.h"
#include "engine/ops/normalize.h"

namespace kinglet::engine::ops {
namespace {

// Files before opset 11 round down where they enlarge and up where they shrink.
Result<void> set_old_nearest_mode(Graph& graph, NodeId id) {
  const ValueId scales = graph.node(id).inputs.at(kResizeScales);
  const Tensor* numbers = graph.constant(scales);
  bool shrinks = false;
  bool enlarges = numbers == nullptr;
  if (numbers != nullptr && numbers->type() == DataType::kF32) {
    for (const float scale : numbers->data<float>()) (scale < 1 ? shrinks : enlarges) |= scale != 1;
  }
  if (shrinks && enlarges) {
    return refuse(graph, id, ErrorCode::kUnsupported, "old-style nearest resizing both up and down",
                  "export with opset 11 or newer");
  }
  graph.attributes(id).set("nearest_mode", std::string(shrinks ? "ceil" : "floor"));
  return {};
}

Result<void> to_newest_resize(Graph& graph, NodeId id, ValueId scales) {
  const ValueId x = graph.node(id).inputs.at(0);
  graph.resize_inputs(id, 1);
  graph.set_input(id, 0, x);
  set_or_add_input(graph, id, kResizeScales, scales);
  Attributes& attributes = graph.attributes(id);
  attributes.set("coordinate_transformation_mode", std::string("asymmetric"));
  if (attributes.get_string("mode", "nearest") == "bilinear") attributes.set("mode", std::string("linear"));
  if (attributes.get_string("mode", "nearest") == "nearest") return set_old_nearest_mode(graph, id);
  return {};
}

}  // namespace

Result<void> normalize_resize(Graph& graph, NodeId id, std::int64_t opset) {
  if (opset >= 11) return {};
  if (graph.node(id).inputs.size() < 2 || graph.node(id).inputs[1] == kNoValue) {
    return refuse(graph, id, ErrorCode::kBadData, "has no scales");
  }
  return to_newest_resize(graph, id, graph.node(id).inputs[1]);
}

// Scales were two attributes, then one, then an input.
Result<void> normalize_upsample(Graph& graph, NodeId id, std::int64_t opset) {
  const Attributes& attributes = graph.node(id).attributes;
  std::vector<float> scales = attributes.get_floats("scales");
  if (opset < 7) {
    scales = {1, 1, attributes.get_float("height_scale", 1), attributes.get_float("width_scale", 1)};
  }
  ValueId numbers = graph.node(id).inputs.size() > 1 ? graph.node(id).inputs[1] : kNoValue;
  if (opset < 9) {
    Tensor tensor = Tensor::of<float>({static_cast<Dim>(scales.size())}, std::span<const float>(scales));
    numbers = add_node_constant(graph, id, "scales", std::move(tensor));
  }
  if (numbers == kNoValue) return refuse(graph, id, ErrorCode::kBadData, "has no scales");
  for (const std::string_view name : {"scales", "height_scale", "width_scale"}) graph.attributes(id).remove(name);
  graph.set_op_type(id, "", "Resize");
  return to_newest_resize(graph, id, numbers);
}

}  // namespace kinglet::engine::ops
