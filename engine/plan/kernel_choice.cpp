// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/kernel_choice.h"

#include <algorithm>

#include "engine/ops/op.h"

namespace kinglet::engine {
namespace {

std::optional<kernels::Work> work_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Op* op = find_op(node.domain, node.op_type);
  return op->work == nullptr ? std::nullopt : op->work(graph, id);
}

}  // namespace

std::optional<ChosenKernel> choose_kernel(const kernels::Work& work, const KernelWishes& wishes) {
  constexpr double kCostOfXnnpack = 1;
  std::optional<ChosenKernel> best, best_forced;
  for (const kernels::KernelRow* row : kernels::all_kernels()) {
    const bool forced = wishes.forced.contains(std::string(row->name));
    const std::optional<kernels::Offer> offer = forced || wishes.own ? row->offer(work) : std::nullopt;
    if (!offer || (!forced && offer->cost >= kCostOfXnnpack)) continue;
    std::optional<ChosenKernel>& least = forced ? best_forced : best;
    if (!least || offer->cost < least->offer.cost) least = {.row = row, .offer = *offer};
  }
  return best_forced ? best_forced : best;
}

std::optional<ChosenKernel> choose_kernel(const Graph& graph, const Layouts& layouts, NodeId id,
                                          const KernelWishes& wishes) {
  const auto lies = [&](ValueId value) {
    return value == kNoValue || graph.value(value).constant || graph.value(value).shape->size() != 4 ||
           border_layout(graph, layouts, value) == Layout::kNhwc;
  };
  const Node& node = graph.node(id);
  if (!std::ranges::all_of(node.inputs, lies) || !std::ranges::all_of(node.outputs, lies)) return std::nullopt;
  const std::optional<kernels::Work> work = work_of(graph, id);
  return work ? choose_kernel(*work, wishes) : std::nullopt;
}

std::unique_ptr<kernels::Kernel> make_kernel(const Graph& graph, NodeId id, const ChosenKernel& chosen) {
  return chosen.row->make(work_of(graph, id).value());
}

}  // namespace kinglet::engine
