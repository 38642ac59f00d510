// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/plan.h"

#include <algorithm>
#include <format>
#include <iterator>
#include <limits>
#include <map>
#include <ranges>
#include <unordered_map>

#include "engine/ops/levels.h"

namespace kinglet::engine {
namespace {

using xnn::SubgraphBuilder;

Result<bool> lower_node(SubgraphBuilder& builder, const Graph& graph, NodeId id, xnn::Floats floats) {
  const Node& node = graph.node(id);
  const Op* op = find_op(node.domain, node.op_type);
  builder.begin_node(id, floats);
  const bool taken = KINGLET_TRY(op->lower(builder, graph, id));
  if (taken) KINGLET_TRY(builder.end_node());
  return taken;
}

// Empty when XNNPACK takes the node; else why not.
std::string refusal(SubgraphBuilder& probe, const Graph& graph, NodeId id, const PlanOptions& options) {
  const Node& node = graph.node(id);
  const Op* op = find_op(node.domain, node.op_type);
  if (options.disabled_lowerings.contains(node.op_type)) return "switched off";
  if (options.refused.contains(id)) return "refused by XNNPACK";
  if (op == nullptr || op->lower == nullptr) return "no XNNPACK form of this operator";
  const Result<bool> taken = lower_node(probe, graph, id, xnn::Floats::kSingle);
  if (!taken) return taken.error().message;
  return *taken ? "" : "this form is not one XNNPACK takes";
}

// Kernels that a node may have: where XNNPACK takes it the quicker ones, where only kernels do (Op::work_alone) any.
std::optional<ChosenKernel> kernel_for(const Graph& graph, const Layouts& layouts, NodeId id,
                                       const PlanOptions& options, bool lowers, bool half) {
  const Node& node = graph.node(id);
  const Op* op = find_op(node.domain, node.op_type);
  if (op == nullptr || (lowers ? op->work : op->work_alone) == nullptr) return std::nullopt;
  if (options.disabled_lowerings.contains(node.op_type)) return std::nullopt;
  KernelWishes wishes = options.kernels;
  wishes.half = half;
  if (half) wishes.cost_of_xnnpack = kernels::kCostOfHalves;
  if (!lowers) wishes.cost_of_xnnpack = std::numeric_limits<double>::infinity();
  return choose_kernel(graph, layouts, id, wishes);
}

// A node that XNNPACK takes is computed in float16 where it has that form, and where it pays: a product, or what stands
// behind one and need not be converted for. `halves`: those before it.
bool is_half(SubgraphBuilder& probe, const Graph& graph, NodeId id, const PlanOptions& options,
             const std::set<NodeId>& halves) {
  const Node& node = graph.node(id);
  if (!options.half || options.refused_halves.contains(id) || !traits_of(node).fits_half) return false;
  const auto follows = [&](ValueId input) { return input != kNoValue && halves.contains(graph.value(input).producer); };
  const bool pays = multiply_adds(graph, id) > 0 || std::ranges::any_of(node.inputs, follows);
  if (!pays && !options.half_everywhere) return false;
  const auto is_single = [&](ValueId value) { return value == kNoValue || graph.value(value).type == DataType::kF32; };
  return std::ranges::all_of(node.outputs, is_single) &&
         lower_node(probe, graph, id, xnn::Floats::kHalf).value_or(false);
}

// What runs as one: a node, or a node of a kernel with the addition at its end or with the depthwise layer that reads
// it, and stands where the second does.
struct Unit {
  std::vector<NodeId> nodes;
  bool lowered = false;
  bool half = false;
  std::optional<ChosenKernel> kernel;
  bool joined = false;
};

// Kernels take the additions that end their block, each once. What is dearer than XNNPACK's with its addition alone is
// XNNPACK's as a whole.
std::vector<Unit> join_additions(const Graph& graph, const Layouts& layouts, std::vector<Unit> units,
                                 const KernelWishes& wishes) {
  std::map<NodeId, std::size_t> lowered;  // those that may go into a kernel
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (units[i].lowered) lowered.emplace(units[i].nodes.front(), i);
  }
  for (Unit& unit : units) {
    if (!unit.kernel) continue;
    const NodeId id = unit.nodes.front();
    const auto addition = lowered.find(addition_behind(graph, layouts, id));
    if (addition == lowered.end()) continue;
    const auto kernel = with_addition(graph, id, addition->first, *unit.kernel, wishes);
    if (!kernel || (kernel->half && !units[addition->second].half)) continue;
    if (kernel->offer.cost < wishes.cost_of_xnnpack || wishes.forced.contains(std::string(kernel->row->name))) {
      units[addition->second] = {.nodes = {id, addition->first}, .half = kernel->half, .kernel = kernel};
      unit.nodes.clear();
    } else {
      unit = {.nodes = {id}, .lowered = true, .half = unit.half};
    }
    lowered.erase(addition);
  }
  std::erase_if(units, [](const Unit& unit) { return unit.nodes.empty(); });
  return units;
}

// So many numbers between two layers that bands of them are worth a kernel which XNNPACK's is a little quicker than.
bool is_wide(const Value& between) {
  constexpr std::int64_t kMany = std::int64_t{1} << 20;
  return between.shape && element_count(*between.shape).value_or(0) >= kMany;
}

// Kernels of a wide layer and of the depthwise one behind it run in bands.
std::vector<Unit> join_bands(const Graph& graph, const Layouts& layouts, std::vector<Unit> units,
                             const PlanOptions& options) {
  constexpr double kMostCost = 1.25;
  std::map<NodeId, std::size_t> alone;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (units[i].nodes.size() == 1) alone.emplace(units[i].nodes.front(), i);
  }
  for (Unit& unit : units) {
    if (!unit.kernel || unit.nodes.size() != 1) continue;
    const NodeId id = unit.nodes.front();
    const ValueId result = graph.node(id).outputs.front();
    const auto reader = graph.has_single_use(result) ? alone.find(graph.consumers(result).front()) : alone.end();
    if (reader == alone.end()) continue;
    Unit& second = units[reader->second];
    std::optional<ChosenKernel> kernel = second.kernel;
    if (!kernel && second.lowered && !second.half && is_wide(graph.value(result))) {
      KernelWishes wishes = options.kernels;
      wishes.cost_of_xnnpack = kMostCost;
      kernel = choose_kernel(graph, layouts, reader->first, wishes);
    }
    const auto both = kernel ? in_bands(graph, id, *unit.kernel, reader->first, *kernel) : std::nullopt;
    if (!both) continue;
    second = {.nodes = {id, reader->first}, .half = both->half, .kernel = both};
    alone.erase(reader);
    unit.nodes.clear();
  }
  std::erase_if(units, [](const Unit& unit) { return unit.nodes.empty(); });
  return units;
}

// A kernel of float16 reads and writes what lies so, and XNNPACK converts for it. Where the caller gives what it reads,
// which is float32, another one may convert by itself; where else one of its values comes from or goes to somebody who
// cannot, its nodes are XNNPACK's.
std::vector<Unit> leave_borders(const Graph& graph, std::vector<Unit> units, const PlanOptions& options) {
  std::set<NodeId> takes_halves;
  for (const Unit& unit : units) {
    if (unit.lowered || unit.half) takes_halves.insert(unit.nodes.begin(), unit.nodes.end());
  }
  const auto fits = [&](ValueId value) {
    return !graph.is_output(value) && takes_halves.contains(graph.value(value).producer) &&
           std::ranges::all_of(graph.consumers(value), [&](NodeId reader) { return takes_halves.contains(reader); });
  };
  const auto is_callers = [&](ValueId value) {
    return graph.value(value).producer == kNoNode && graph.value(value).type == DataType::kF32;
  };
  KernelWishes wishes = options.kernels;
  wishes.cost_of_xnnpack = kernels::kCostOfHalves;
  std::vector<Unit> out;
  for (Unit& unit : units) {
    bool stays = true;
    if (unit.kernel && unit.half) {
      const std::vector<ValueId> inputs = kernel_inputs(graph, unit.nodes);
      const bool converts = unit.nodes.size() == 1 && std::ranges::all_of(inputs, is_callers);
      if (converts) unit.kernel = choose_kernel_from_floats(graph, unit.nodes.front(), wishes);
      stays = unit.kernel && (converts || std::ranges::all_of(inputs, fits)) &&
              std::ranges::all_of(graph.node(unit.nodes.back()).outputs, fits);
    }
    if (stays) {
      out.push_back(std::move(unit));
      continue;
    }
    for (const NodeId id : unit.nodes) out.push_back({.nodes = {id}, .lowered = true, .half = true, .kernel = {}});
  }
  return out;
}

// Kernels that give all that a concatenation of channels reads write it where it has it: each its own channels of every
// pixel.
void join_channels(const Graph& graph, const Layouts& layouts, std::vector<Unit>& units) {
  std::map<NodeId, Unit*> unit_of;
  for (Unit& unit : units) {
    for (const NodeId id : unit.nodes) unit_of[id] = &unit;
  }
  // XNNPACK converts between float32 and float16; kernels read what lies there.
  const auto reads = [&](const Unit& joined, NodeId reader) {
    const Unit& unit = *unit_of.at(reader);
    return joined.half ? unit.lowered || unit.half : !unit.kernel || !unit.half;
  };
  for (Unit& unit : units) {
    const NodeId id = unit.nodes.front();
    const std::vector<ValueId> parts = unit.lowered ? joined_channels(graph, layouts, id) : std::vector<ValueId>{};
    const ValueId whole = graph.node(id).outputs.front();
    if (parts.empty() || (unit.half && graph.is_output(whole))) continue;
    if (!std::ranges::all_of(graph.consumers(whole), [&](NodeId reader) { return reads(unit, reader); })) continue;
    const auto step = static_cast<std::size_t>(graph.value(whole).shape->at(1));
    std::vector<std::pair<Unit*, ChosenKernel>> kernels;
    for (const ValueId part : parts) {
      const auto maker = unit_of.find(graph.value(part).producer);
      if (maker == unit_of.end() || !maker->second->kernel || maker->second->half != unit.half) break;
      const auto among = among_others(graph, maker->first, *maker->second->kernel, step);
      if (!among) break;
      kernels.emplace_back(maker->second, *among);
    }
    if (kernels.size() < parts.size()) continue;
    for (auto& [maker, kernel] : kernels) maker->kernel = kernel;
    unit.lowered = false;
    unit.joined = true;
  }
}

// Even levels hold lowered nodes, odd ones the others; a level is reached only from lower or equal ones, so that
// everything lowered of one level may run as one segment without a cycle.
std::vector<std::size_t> assign_levels(const Graph& graph, std::span<const Unit> units) {
  std::unordered_map<std::uint32_t, std::size_t> level_of_value;
  std::vector<std::size_t> levels;
  for (const Unit& unit : units) {
    std::size_t level = unit.lowered ? 0 : 1;
    for (const NodeId id : unit.nodes) {
      for (const ValueId input : graph.node(id).inputs) {
        const auto found = level_of_value.find(static_cast<std::uint32_t>(input));
        if (found == level_of_value.end()) continue;
        const bool same_kind = (found->second % 2 == 0) == unit.lowered;
        level = std::max(level, found->second + (same_kind ? 0 : 1));
      }
    }
    levels.push_back(level);
    for (const NodeId id : unit.nodes) {
      for (const ValueId output : graph.node(id).outputs) {
        if (output != kNoValue) level_of_value[static_cast<std::uint32_t>(output)] = level;
      }
    }
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

// Values between steps are float16 where a kernel needs them so, and where all that make and read them compute in it.
void find_half_values(const Graph& graph, std::vector<Step>& steps) {
  std::set<NodeId> halves, make_halves, read_halves;  // the last two: of kernels
  for (const Step& step : steps) {
    halves.insert(step.halves.begin(), step.halves.end());
    if (!step.kernel && !step.joined) continue;
    make_halves.insert(step.halves.begin(), step.halves.end());
    if (step.joined || !step.kernel->from_floats) read_halves.insert(step.halves.begin(), step.halves.end());
  }
  const auto is_half = [&](ValueId value) {
    const NodeId producer = graph.value(value).producer;
    const auto& readers = graph.consumers(value);
    const auto within = [](const std::set<NodeId>& nodes) { return [&](NodeId id) { return nodes.contains(id); }; };
    if (make_halves.contains(producer) || std::ranges::any_of(readers, within(read_halves))) return true;
    return halves.contains(producer) && !graph.is_output(value) && std::ranges::all_of(readers, within(halves));
  };
  for (Step& step : steps) {
    for (const auto& values : {step.inputs, step.outputs})
      std::ranges::copy_if(values, std::inserter(step.half_values, step.half_values.end()), is_half);
  }
}

}  // namespace

std::optional<std::size_t> Segments::last_of_workers() const {
  const auto last = std::ranges::find_if(steps | std::views::reverse,
                                         [](const Step& step) { return step.lowered || step.kernel.has_value(); });
  if (last == steps.rend()) return std::nullopt;
  return static_cast<std::size_t>(&*last - steps.data());
}

Segments cut_segments(const Graph& graph, const Layouts& layouts, const PlanOptions& options) {
  Segments out;
  std::vector<Unit> units;
  std::size_t packed_bytes = 0;
  std::set<NodeId> halves;
  SubgraphBuilder probe = SubgraphBuilder::probe(graph, layouts, kLevelRules);
  for (const NodeId id : graph.nodes()) {
    std::string reason = refusal(probe, graph, id, options);
    const bool half = reason.empty() && is_half(probe, graph, id, options, halves);
    auto kernel = kernel_for(graph, layouts, id, options, reason.empty(), half);
    if (kernel && kernel->offer.packed_bytes + kernel->offer.scratch_bytes > options.kernels.most_bytes - packed_bytes)
      kernel.reset();
    if (kernel) packed_bytes += kernel->offer.packed_bytes;
    const bool computes_so = half && (!kernel || kernel->half);
    if (computes_so) halves.insert(id);
    units.push_back({.nodes = {id}, .lowered = reason.empty() && !kernel, .half = computes_so, .kernel = kernel});
    if (!reason.empty() && !units.back().kernel) out.fallbacks.push_back({.node = id, .reason = std::move(reason)});
  }
  units = join_additions(graph, layouts, std::move(units), options.kernels);
  units = leave_borders(graph, join_bands(graph, layouts, std::move(units), options), options);
  join_channels(graph, layouts, units);

  const std::vector<std::size_t> levels = assign_levels(graph, units);
  std::map<std::size_t, std::vector<Unit>> by_level;
  for (std::size_t i = 0; i < levels.size(); ++i) by_level[levels[i]].push_back(std::move(units[i]));
  for (auto& [level, of_level] : by_level) {
    if (level % 2 == 0) {
      Step& segment = out.steps.emplace_back(
          Step{.lowered = true, .kernel = std::nullopt, .nodes = {}, .inputs = {}, .outputs = {}});
      for (const Unit& unit : of_level) {
        segment.nodes.push_back(unit.nodes.front());
        if (unit.half) segment.halves.insert(unit.nodes.front());
      }
      continue;
    }
    for (Unit& unit : of_level) {
      const std::set<NodeId> of_step = unit.half ? std::set(unit.nodes.begin(), unit.nodes.end()) : std::set<NodeId>{};
      out.steps.push_back({.kernel = unit.kernel,
                           .joined = unit.joined,
                           .nodes = std::move(unit.nodes),
                           .halves = of_step,
                           .inputs = {},
                           .outputs = {}});
    }
  }
  for (Step& step : out.steps) find_borders(graph, step);
  find_half_values(graph, out.steps);
  return out;
}

std::expected<SubgraphBuilder::Built, BuildFailure> build_segment(const Graph& graph, const Layouts& layouts,
                                                                  const Step& step, std::size_t threads) {
  auto builder = SubgraphBuilder::create(graph, layouts, kLevelRules, step.inputs, step.outputs, step.half_values);
  if (!builder) return std::unexpected(BuildFailure{kNoNode, std::move(builder).error()});
  builder->set_threads(threads);
  for (const NodeId id : step.nodes) {
    const auto floats = step.halves.contains(id) ? xnn::Floats::kHalf : xnn::Floats::kSingle;
    Result<bool> taken = lower_node(*builder, graph, id, floats);
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
