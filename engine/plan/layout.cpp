// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/plan.h"

#include <algorithm>
#include <ranges>

#include "engine/ops/op.h"

namespace kinglet::engine {
namespace {

bool is_image(const Graph& graph, ValueId id) {
  if (id == kNoValue) return false;
  const Value& value = graph.value(id);
  return value.shape && value.shape->size() == 4 && !value.constant;
}

LayoutRule rule_of(const Node& node) {
  const Op* op = find_op(node.domain, node.op_type);
  return op == nullptr ? LayoutRule::kLogical : op->layout;
}

// Values that some reader, perhaps behind elementwise nodes, would like to read as NHWC. The flag sits on the value.
Layouts wanted_layouts(const Graph& graph) {
  Layouts wanted;
  const auto wants = [&](ValueId id) { return is_image(graph, id) && wanted.of(id) == Layout::kNhwc; };
  for (const NodeId id : std::views::reverse(graph.nodes())) {
    const Node& node = graph.node(id);
    const LayoutRule rule = rule_of(node);
    const bool asks =
        rule == LayoutRule::kNhwc || (rule == LayoutRule::kFollow && std::ranges::any_of(node.outputs, wants));
    if (!asks) continue;
    for (const ValueId input : node.inputs) {
      if (is_image(graph, input)) wanted.set(input, Layout::kNhwc);
    }
  }
  return wanted;
}

}  // namespace

Layouts assign_layouts(const Graph& graph) {
  const Layouts wanted = wanted_layouts(graph);
  Layouts layouts;
  for (const GraphInput& input : graph.inputs()) layouts.set(input.value, wanted.of(input.value));
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const LayoutRule rule = rule_of(node);
    const bool fed_nhwc = std::ranges::any_of(
        node.inputs, [&](ValueId input) { return is_image(graph, input) && layouts.of(input) == Layout::kNhwc; });
    for (const ValueId output : node.outputs) {
      if (!is_image(graph, output)) continue;
      const bool nhwc = rule == LayoutRule::kNhwc || (rule == LayoutRule::kFollow && fed_nhwc) ||
                        (rule == LayoutRule::kTransposes && wanted.of(output) == Layout::kNhwc);
      layouts.set(output, nhwc ? Layout::kNhwc : Layout::kLogical);
    }
  }
  return layouts;
}

}  // namespace kinglet::engine
