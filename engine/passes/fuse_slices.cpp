// SPDX-License-Identifier: Apache-2.0
// Before:     y = Slice(x, starts, ends, axes, steps); z = Slice(y, ...)
// After:      z = Slice(x, ...) that cuts what both cut
// Conditions: y is read by this node alone and is no graph output; starts, ends, axes and steps are fixed constants. An
//             axis that both cut has a known length, positive steps, and something left.
#include <algorithm>

#include "engine/passes/slicing.h"

namespace kinglet::engine::passes {
namespace {

// `outer` of what `inner` leaves of `length`.
std::optional<Cut> composed(const Cut& inner, const Cut& outer, Dim length) {
  const std::optional<Cut> first = resolved(inner, length);
  if (!first) return std::nullopt;
  const std::int64_t left = (first->end - first->start - 1) / first->step + 1;
  const std::optional<Cut> second = resolved(outer, left);
  if (!second) return std::nullopt;
  return Cut{.axis = inner.axis,
             .start = first->start + second->start * first->step,
             .end = first->start + (second->end - 1) * first->step + 1,
             .step = first->step * second->step};
}

void put_numbers(Graph& graph, NodeId id, std::size_t input, std::string_view name, const std::vector<Cut>& cuts,
                 std::int64_t Cut::* field) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(cuts.size());
  for (const Cut& cut : cuts) numbers.push_back(cut.*field);
  put_constant(graph, id, input,
               Tensor::of<std::int64_t>({static_cast<Dim>(numbers.size())}, std::span<const std::int64_t>(numbers)),
               name);
}

bool fuse(Graph& graph, NodeId id) {
  const NodeId first = inner_producer(graph, graph.node(id).inputs[0], {"Slice"});
  if (first == kNoNode) return false;
  const ValueId source = graph.node(first).inputs[0];
  std::optional<std::vector<Cut>> cuts = cuts_of(graph, graph.node(first));
  const std::optional<std::vector<Cut>> more = cuts_of(graph, graph.node(id));
  if (!cuts || !more) return false;
  for (const Cut& cut : *more) {
    const auto same = std::ranges::find(*cuts, cut.axis, &Cut::axis);
    if (same == cuts->end()) {
      cuts->push_back(cut);
      continue;
    }
    const std::optional<Cut> both =
        composed(*same, cut, (*graph.value(source).shape)[static_cast<std::size_t>(cut.axis)]);
    if (!both) return false;
    *same = *both;
  }
  graph.set_input(id, 0, source);
  graph.remove_node(first);
  put_numbers(graph, id, 1, "starts", *cuts, &Cut::start);
  put_numbers(graph, id, 2, "ends", *cuts, &Cut::end);
  put_numbers(graph, id, 3, "axes", *cuts, &Cut::axis);
  put_numbers(graph, id, 4, "steps", *cuts, &Cut::step);
  return true;
}

}  // namespace

const NodePass fuse_slices{{"Slice"}, fuse};

}  // namespace kinglet::engine::passes
