// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/plan.h"

#include <algorithm>
#include <format>
#include <map>
#include <unordered_map>

#include "engine/ops/levels.h"

namespace kinglet::engine {
namespace {

using xnn::SubgraphBuilder;

Result<bool> lower_node(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Op* op = find_op(node.domain, node.op_type);
  builder.begin_node(id);
  const bool taken = KINGLET_TRY(op->lower(builder, graph, id));
  if (taken) KINGLET_TRY(builder.end_node());
  return taken;
}

// Empty when XNNPACK takes the node.
std::string refusal(SubgraphBuilder& probe, const Graph& graph, NodeId id, const PlanOptions& options) {
  const Node& node = graph.node(id);
  const Op* op = find_op(node.domain, node.op_type);
  if (options.disabled_lowerings.contains(node.op_type)) return "switched off";
  if (options.refused.contains(id)) return "refused by XNNPACK";
  if (op == nullptr || op->lower == nullptr) return "no XNNPACK form of this operator";
  const Result<bool> taken = lower_node(probe, graph, id);
  if (!taken) return taken.error().message;
  return *taken ? "" : "this form is not one XNNPACK takes";
}

// Even levels hold lowered nodes, odd ones the others; a level is reached only from lower or equal ones, so that
// everything lowered of one level may run as one segment without a cycle.
std::vector<std::size_t> assign_levels(const Graph& graph, const std::vector<bool>& lowered) {
  std::unordered_map<std::uint32_t, std::size_t> level_of_value;
  std::vector<std::size_t> levels;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.node(graph.nodes()[i]);
    std::size_t level = lowered[i] ? 0 : 1;
    for (const ValueId input : node.inputs) {
      const auto found = level_of_value.find(static_cast<std::uint32_t>(input));
      if (found == level_of_value.end()) continue;
      const bool same_kind = (found->second % 2 == 0) == lowered[i];
      level = std::max(level, found->second + (same_kind ? 0 : 1));
    }
    for (const ValueId output : node.outputs) {
      if (output != kNoValue) level_of_value[static_cast<std::uint32_t>(output)] = level;
    }
    levels.push_back(level);
  }
  return levels;
}

void find_borders(const Graph& graph, Step& step) {
  std::set<NodeId> inside(step.nodes.begin(), step.nodes.end());
  std::set<ValueId> seen;
  for (const NodeId id : step.nodes) {
    for (const ValueId input : graph.node(id).inputs) {
      if (input == kNoValue || graph.constant(input) != nullptr || inside.contains(graph.value(input).producer))
        continue;
      if (seen.insert(input).second) step.inputs.push_back(input);
    }
    for (const ValueId output : graph.node(id).outputs) {
      if (output == kNoValue) continue;
      const auto& readers = graph.consumers(output);
      const bool leaves = graph.is_output(output) || readers.empty() ||
                          std::ranges::any_of(readers, [&](NodeId reader) { return !inside.contains(reader); });
      if (leaves) step.outputs.push_back(output);
    }
  }
}

}  // namespace

Segments cut_segments(const Graph& graph, const Layouts& layouts, const PlanOptions& options) {
  Segments out;
  std::vector<bool> lowered;
  std::map<NodeId, ChosenKernel> own;
  SubgraphBuilder probe = SubgraphBuilder::probe(graph, layouts, kLevelRules);
  for (const NodeId id : graph.nodes()) {
    std::string reason = refusal(probe, graph, id, options);
    const auto kernel = reason.empty() ? choose_kernel(graph, layouts, id, options.kernels) : std::nullopt;
    if (kernel) own.emplace(id, *kernel);
    lowered.push_back(reason.empty() && !kernel);
    if (!reason.empty()) out.fallbacks.push_back({.node = id, .reason = std::move(reason)});
  }

  const std::vector<std::size_t> levels = assign_levels(graph, lowered);
  std::map<std::size_t, std::vector<NodeId>> by_level;
  for (std::size_t i = 0; i < levels.size(); ++i) by_level[levels[i]].push_back(graph.nodes()[i]);
  for (auto& [level, nodes] : by_level) {
    if (level % 2 == 0) {
      out.steps.push_back(
          {.lowered = true, .kernel = std::nullopt, .nodes = std::move(nodes), .inputs = {}, .outputs = {}});
      continue;
    }
    for (const NodeId id : nodes) {
      const auto kernel = own.find(id);
      out.steps.push_back({.kernel = kernel == own.end() ? std::nullopt : std::optional(kernel->second),
                           .nodes = {id},
                           .inputs = {},
                           .outputs = {}});
    }
  }
  for (Step& step : out.steps) find_borders(graph, step);
  return out;
}

std::expected<SubgraphBuilder::Built, BuildFailure> build_segment(const Graph& graph, const Layouts& layouts,
                                                                  const Step& step) {
  auto builder = SubgraphBuilder::create(graph, layouts, kLevelRules, step.inputs, step.outputs);
  if (!builder) return std::unexpected(BuildFailure{kNoNode, std::move(builder).error()});
  for (const NodeId id : step.nodes) {
    Result<bool> taken = lower_node(*builder, graph, id);
    if (taken && !*taken) taken = fail(ErrorCode::kInternal, "lowering takes a node in the plan and not in the build");
    if (!taken) return std::unexpected(BuildFailure{id, with_context(std::move(taken).error(), graph.node(id).name)});
  }
  if (auto finished = builder->finish(); !finished) {
    return std::unexpected(BuildFailure{builder->node(), std::move(finished).error()});
  }
  if (const NodeId unread = builder->unread(); unread != kNoNode) {
    return std::unexpected(
        BuildFailure{unread, Error{ErrorCode::kUnsupported, "XNNPACK reads no result of it", {}, {}}});
  }
  return builder->take();
}

}  // namespace kinglet::engine
