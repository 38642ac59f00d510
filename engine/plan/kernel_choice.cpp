// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/kernel_choice.h"

#include <algorithm>
#include <array>
#include <format>

#include "engine/graph/fused_clip.h"
#include "engine/ops/op.h"

namespace kinglet::engine {
namespace {

// Of a node, or of one and the addition behind it.
std::optional<kernels::Work> work_of(const Graph& graph, std::span<const NodeId> nodes) {
  const Node& node = graph.node(nodes.front());
  const Op* op = find_op(node.domain, node.op_type);
  const auto of_node = op->work == nullptr ? op->work_alone : op->work;
  std::optional<kernels::Work> work = of_node == nullptr ? std::nullopt : of_node(graph, nodes.front());
  if (!work) return std::nullopt;
  if (nodes.size() > 1) {
    auto* convolution = std::get_if<kernels::ConvolutionF32>(&work->kind);
    if (convolution == nullptr) return std::nullopt;
    const FusedClip clip = fused_clip(graph.node(nodes.back()));
    convolution->adds = true;
    convolution->range = {.min = clip.min, .max = clip.max};
  }
  // A kernel is given no constants: what is computed from one alone, and was too dear to fold, is not for it.
  if (kernel_inputs(graph, nodes).size() != work->inputs()) return std::nullopt;
  return work;
}

// The same by a chosen kernel.
std::optional<kernels::Work> work_of(const Graph& graph, std::span<const NodeId> nodes, const ChosenKernel& chosen) {
  std::optional<kernels::Work> work = work_of(graph, nodes);
  if (work && chosen.output_step > 0)
    std::get<kernels::ConvolutionF32>(work->kind).shape.output_step = chosen.output_step;
  if (work && chosen.half) work = work->in_halves();
  return work && chosen.from_floats ? work->from_floats() : work;
}

bool is_nhwc(const Graph& graph, const Layouts& layouts, ValueId value) {
  return border_layout(graph, layouts, value) == Layout::kNhwc;
}

}  // namespace

std::optional<ChosenKernel> choose_kernel(const kernels::Work& work, const KernelWishes& wishes) {
  std::optional<ChosenKernel> best, best_forced;
  for (const kernels::KernelRow* row : kernels::all_kernels()) {
    const bool forced = wishes.forced.contains(std::string(row->name));
    const std::optional<kernels::Offer> offer = forced || wishes.own ? row->offer(work) : std::nullopt;
    if (!offer || (!forced && offer->cost >= wishes.cost_of_xnnpack)) continue;
    std::optional<ChosenKernel>& least = forced ? best_forced : best;
    if (!least || offer->cost < least->offer.cost) least = {.row = row, .offer = *offer};
  }
  return best_forced ? best_forced : best;
}

std::optional<ChosenKernel> choose_kernel(const Graph& graph, const Layouts& layouts, NodeId id,
                                          const KernelWishes& wishes) {
  const Node& node = graph.node(id);
  const Op* op = find_op(node.domain, node.op_type);
  const Layout wanted = op->layout == LayoutRule::kLogical ? Layout::kLogical : Layout::kNhwc;
  const auto lies = [&](ValueId value) {
    return value == kNoValue || graph.value(value).constant || graph.value(value).shape->size() != 4 ||
           border_layout(graph, layouts, value) == wanted;
  };
  if (!std::ranges::all_of(node.inputs, lies) || !std::ranges::all_of(node.outputs, lies)) return std::nullopt;
  std::optional<kernels::Work> work = work_of(graph, std::array{id});
  if (!work) return std::nullopt;
  work->saves_memory = wishes.saves_memory;
  const std::optional<ChosenKernel> single = choose_kernel(*work, wishes);
  const std::optional<kernels::Work> halves = wishes.half ? work->in_halves() : std::nullopt;
  std::optional<ChosenKernel> half = halves ? choose_kernel(*halves, wishes) : std::nullopt;
  if (!half) return single;
  half->half = true;
  const auto is_forced = [&](const ChosenKernel& kernel) {
    return wishes.forced.contains(std::string(kernel.row->name));
  };
  if (single && is_forced(*single) != is_forced(*half)) return is_forced(*single) ? single : half;
  return single && single->offer.cost < half->offer.cost ? single : half;
}

std::optional<ChosenKernel> choose_kernel_from_floats(const Graph& graph, NodeId id, const KernelWishes& wishes) {
  std::optional<kernels::Work> work = work_of(graph, std::array{id}, ChosenKernel{.half = true, .from_floats = true});
  std::optional<ChosenKernel> chosen = work ? choose_kernel(*work, wishes) : std::nullopt;
  if (chosen) chosen->half = chosen->from_floats = true;
  return chosen;
}

NodeId addition_behind(const Graph& graph, const Layouts& layouts, NodeId id) {
  const ValueId result = graph.node(id).outputs.front();
  if (!graph.has_single_use(result) || !fused_clip(graph.node(id)).open()) return kNoNode;
  const NodeId addition = graph.consumers(result).front();
  const Node& node = graph.node(addition);
  const auto alike = [&](ValueId value) {
    return !graph.value(value).constant && graph.value(value).shape == graph.value(result).shape &&
           is_nhwc(graph, layouts, value);
  };
  const bool fits =
      traits_of(node).adds && std::ranges::all_of(node.inputs, alike) && std::ranges::all_of(node.outputs, alike);
  return fits ? addition : kNoNode;
}

std::optional<ChosenKernel> with_addition(const Graph& graph, NodeId id, NodeId addition, const ChosenKernel& chosen,
                                          const KernelWishes& wishes) {
  const std::array nodes{id, addition};
  std::optional<kernels::Work> work = work_of(graph, nodes, chosen);
  if (work) work->saves_memory = wishes.saves_memory;
  const auto offer = work ? chosen.row->offer(*work) : std::nullopt;
  return offer ? std::optional(ChosenKernel{.row = chosen.row, .offer = *offer, .half = chosen.half}) : std::nullopt;
}

std::vector<ValueId> joined_channels(const Graph& graph, const Layouts& layouts, NodeId id) {
  constexpr std::int64_t kRank = 4;
  constexpr std::int64_t kChannels = 1;
  const Node& node = graph.node(id);
  if (!traits_of(node).joins) return {};
  const std::int64_t axis = node.attributes.get_int("axis", 0);
  const auto lies = [&](ValueId value) {
    return graph.value(value).shape->size() == kRank && is_nhwc(graph, layouts, value);
  };
  const auto is_own = [&](ValueId value) { return lies(value) && graph.has_single_use(value); };
  const bool fits = (axis == kChannels || axis == kChannels - kRank) && lies(node.outputs.front()) &&
                    std::ranges::all_of(node.inputs, is_own);
  return fits ? node.inputs : std::vector<ValueId>{};
}

std::optional<ChosenKernel> among_others(const Graph& graph, NodeId id, const ChosenKernel& chosen,
                                         std::size_t output_step) {
  if (!chosen.offer.writes_among || chosen.behind != nullptr) return std::nullopt;
  ChosenKernel among = chosen;
  among.output_step = output_step;
  const std::optional<kernels::Work> work = work_of(graph, std::array{id}, among);
  return work && chosen.row->offer(*work) ? std::optional(among) : std::nullopt;
}

std::vector<ValueId> kernel_inputs(const Graph& graph, std::span<const NodeId> nodes) {
  std::vector<ValueId> inputs;
  for (const NodeId id : nodes) {
    for (const ValueId input : graph.node(id).inputs) {
      const bool comes_from_outside = input != kNoValue && graph.constant(input) == nullptr &&
                                      std::ranges::find(nodes, graph.value(input).producer) == nodes.end();
      if (comes_from_outside) inputs.push_back(input);
    }
  }
  return inputs;
}

std::string ChosenKernel::name() const {
  return behind == nullptr ? std::string(row->name) : std::format("{}+{}", row->name, behind->name);
}

std::optional<ChosenKernel> in_bands(const Graph& graph, NodeId pixels, const ChosenKernel& of_pixels, NodeId windows,
                                     const ChosenKernel& of_windows) {
  const ValueId between = graph.node(pixels).outputs.front();
  if (of_pixels.half != of_windows.half || !graph.has_single_use(between) ||
      graph.consumers(between).front() != windows)
    return std::nullopt;
  const std::optional<kernels::Work> first = work_of(graph, std::array{pixels}, of_pixels);
  const std::optional<kernels::Work> second = work_of(graph, std::array{windows}, of_windows);
  if (!first || !second) return std::nullopt;
  const auto offer = kernels::offer_in_bands({of_pixels.row, *first}, {of_windows.row, *second});
  if (!offer) return std::nullopt;
  return ChosenKernel{.row = of_pixels.row, .offer = *offer, .half = of_pixels.half, .behind = of_windows.row};
}

std::unique_ptr<kernels::Kernel> make_kernel(const Graph& graph, std::span<const NodeId> nodes,
                                             const ChosenKernel& chosen, PackedWeights& weights) {
  if (chosen.behind != nullptr) {
    return kernels::make_in_bands({chosen.row, work_of(graph, nodes.first(1), chosen).value()},
                                  {chosen.behind, work_of(graph, nodes.last(1), chosen).value()}, weights);
  }
  return chosen.row->make(work_of(graph, nodes, chosen).value(), weights);
}

}  // namespace kinglet::engine
