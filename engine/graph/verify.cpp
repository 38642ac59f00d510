// SPDX-License-Identifier: Apache-2.0
#include "engine/graph/verify.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::engine {
namespace {

std::unexpected<Error> broken(std::string message) {
  return fail(ErrorCode::kInternal, std::move(message), "graph", "this is a mistake in kinglet, please report it");
}

std::string quoted(const Value& value) { return '"' + printable(value.name) + '"'; }
std::string quoted(const Node& node) { return format_text("node \"{}\" ({})", printable(node.name), node.op_type); }

// What the nodes of the order say, to be compared with what the values say.
struct Links {
  std::unordered_map<std::uint32_t, std::vector<NodeId>> uses;
  std::unordered_set<std::uint32_t> made;
};

// Checks inputs and outputs of the nodes, in order, and collects who reads and makes what.
Result<Links> verify_nodes(const Graph& graph) {
  Links links;
  auto& [uses, made] = links;
  std::unordered_set<std::string_view> names;
  for (const NodeId id : graph.nodes()) {
    if (!graph.contains(id)) return broken("a removed node stands in the order");
    const Node& node = graph.node(id);
    if (node.name.empty() || !names.insert(node.name).second) {
      return broken(format_text("{}: the name is empty or taken", quoted(node)));
    }
    for (const ValueId input : node.inputs) {
      if (input == kNoValue) continue;
      if (!graph.contains(input)) return broken(format_text("{} reads a removed value", quoted(node)));
      const Value& value = graph.value(input);
      if (value.producer != kNoNode && !made.contains(std::to_underlying(input))) {
        return broken(format_text("{} reads {} before it is made", quoted(node), quoted(value)));
      }
      uses[std::to_underlying(input)].push_back(id);
    }
    for (const ValueId output : node.outputs) {
      if (output == kNoValue) continue;
      if (!graph.contains(output)) return broken(format_text("{} makes a removed value", quoted(node)));
      if (graph.value(output).producer != id || !made.insert(std::to_underlying(output)).second) {
        return broken(format_text("{} is not the one producer of {}", quoted(node), quoted(graph.value(output))));
      }
    }
  }
  return links;
}

Result<void> verify_source(const Graph& graph, ValueId id, const Links& links) {
  const Value& value = graph.value(id);
  const bool produced = value.producer != kNoNode;
  const int sources = (produced ? 1 : 0) + (value.constant ? 1 : 0) + (graph.is_input(id) ? 1 : 0);
  if (sources != 1) return broken(format_text("value {} has {} sources, expected 1", quoted(value), sources));
  if (!produced) return {};
  if (!links.made.contains(std::to_underlying(id))) {
    return broken(format_text("the producer of {} is gone or out of the order", quoted(value)));
  }
  const Node& node = graph.node(value.producer);
  if (std::ranges::count(node.outputs, id) != 1) {
    return broken(format_text("{} does not list its output {}", quoted(node), quoted(value)));
  }
  return {};
}

Result<void> verify_value(const Graph& graph, ValueId id, const Links& links) {
  const Value& value = graph.value(id);
  if (value.name.empty()) return broken("a value has no name");
  if (graph.find_value(value.name) != id) return broken(format_text("the name {} leads elsewhere", quoted(value)));
  KINGLET_TRY(verify_source(graph, id, links));
  if (value.shape && std::ranges::any_of(*value.shape, [](Dim dim) { return dim < 0 && dim != kUnknownDim; })) {
    return broken(format_text("value {} has a negative dimension: {}", quoted(value), to_string(*value.shape)));
  }
  if (value.constant && (value.constant->type() != value.type || value.shape != value.constant->shape())) {
    return broken(format_text("constant {} differs from its own type and shape", quoted(value)));
  }
  return {};
}

Result<void> verify_consumers(const Graph& graph, ValueId id, Links& links) {
  std::vector<NodeId> listed = graph.consumers(id);
  std::vector<NodeId>& real = links.uses[std::to_underlying(id)];
  std::ranges::sort(listed);
  std::ranges::sort(real);
  if (listed == real) return {};
  return broken(
      format_text("value {} lists {} uses, the nodes have {}", quoted(graph.value(id)), listed.size(), real.size()));
}

Result<void> verify_borders(const Graph& graph) {
  std::unordered_set<std::uint32_t> seen;
  for (const GraphInput& input : graph.inputs()) {
    if (!graph.contains(input.value)) return broken("a graph input was removed");
    const Value& value = graph.value(input.value);
    if (!seen.insert(std::to_underlying(input.value)).second) {
      return broken(format_text("graph input {} is listed twice", quoted(value)));
    }
    if (value.shape && !input.dim_names.empty() && input.dim_names.size() != value.shape->size()) {
      return broken(format_text("graph input {} has {} dimension names for {} dimensions", quoted(value),
                                input.dim_names.size(), value.shape->size()));
    }
  }
  seen.clear();
  for (const ValueId output : graph.outputs()) {
    if (!graph.contains(output)) return broken("a graph output was removed");
    if (!seen.insert(std::to_underlying(output)).second) {
      return broken(format_text("graph output {} is listed twice", quoted(graph.value(output))));
    }
  }
  return {};
}

}  // namespace

Result<void> verify(const Graph& graph) {
  Links links = KINGLET_TRY(verify_nodes(graph));
  KINGLET_TRY(verify_borders(graph));
  for (const ValueId id : graph.values()) {
    KINGLET_TRY(verify_value(graph, id, links));
    KINGLET_TRY(verify_consumers(graph, id, links));
  }
  return {};
}

}  // namespace kinglet::engine
