// SPDX-License-Identifier: Apache-2.0
#include "engine/passes/padding.h"

#include <algorithm>

namespace kinglet::engine {
namespace {

// No sane model pads by more; keeps sums far from overflow.
constexpr std::int64_t kPadLimit = 1 << 20;

// The axis of each pad; all in order when the node names none.
std::optional<std::vector<std::size_t>> padded_axes(const Graph& graph, const Node& pad, std::size_t rank) {
  std::vector<std::size_t> axes;
  if (!has_input(pad, 3)) {
    for (std::size_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
    return axes;
  }
  const Tensor* named = fixed_input(graph, pad, 3);
  if (named == nullptr) return std::nullopt;
  for (const std::int64_t axis : named->to_int64s()) {
    const Result<std::size_t> normal = normalize_axis(axis, rank);
    if (!normal || std::ranges::find(axes, *normal) != axes.end()) return std::nullopt;
    axes.push_back(*normal);
  }
  return axes;
}

std::optional<float> pad_value(const Graph& graph, const Node& pad) {
  if (!has_input(pad, 2)) return 0.0F;
  const Tensor* value = fixed_input(graph, pad, 2);
  if (value == nullptr || value->element_count() != 1 || !is_float(value->type())) return std::nullopt;
  return value->to_floats()[0];
}

}  // namespace

std::optional<SpatialPad> match_spatial_pad(const Graph& graph, const Node& pad) {
  const std::optional<Shape>& shape = graph.value(pad.inputs[0]).shape;
  if (pad.attributes.get_string("mode", "constant") != "constant" || !shape || shape->size() < 3) return std::nullopt;
  if (!is_float(graph.value(pad.inputs[0]).type)) return std::nullopt;
  const std::optional<float> value = pad_value(graph, pad);
  const Tensor* constant = fixed_input(graph, pad, 1);
  const std::optional<std::vector<std::size_t>> axes = padded_axes(graph, pad, shape->size());
  if (!value || constant == nullptr || !axes) return std::nullopt;
  const std::vector<std::int64_t> pads = constant->to_int64s();
  if (pads.size() != axes->size() * 2) return std::nullopt;
  const std::size_t spatial = shape->size() - 2;
  SpatialPad match{.begin_end = std::vector<std::int64_t>(spatial * 2, 0), .value = *value};
  for (std::size_t i = 0; i < pads.size(); ++i) {
    const std::size_t axis = (*axes)[i % axes->size()];
    if (pads[i] < 0 || pads[i] > kPadLimit || (axis < 2 && pads[i] != 0)) return std::nullopt;
    if (axis >= 2) match.begin_end[axis - 2 + (i < axes->size() ? 0 : spatial)] = pads[i];
  }
  return match;
}

std::optional<std::vector<std::int64_t>> explicit_pads(const Node& node, std::size_t count) {
  const std::string_view auto_pad = node.attributes.get_string("auto_pad", "NOTSET");
  if (auto_pad != "NOTSET" && auto_pad != "VALID") return std::nullopt;
  std::vector<std::int64_t> pads = node.attributes.get_ints("pads");
  if (pads.empty() || auto_pad == "VALID") pads.assign(count, 0);
  if (pads.size() != count) return std::nullopt;
  return pads;
}

void set_pads(Graph& graph, NodeId id, std::vector<std::int64_t> own, const std::vector<std::int64_t>& more) {
  for (std::size_t i = 0; i < own.size(); ++i) own[i] += more[i];
  graph.attributes(id).remove("auto_pad");
  graph.attributes(id).set("pads", std::move(own));
}

}  // namespace kinglet::engine
