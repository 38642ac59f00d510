// SPDX-License-Identifier: Apache-2.0
#include "engine/passes/slicing.h"

#include <algorithm>
#include <array>

namespace kinglet::engine {

std::optional<std::vector<Cut>> cuts_of(const Graph& graph, const Node& node) {
  const std::optional<Shape>& shape = graph.value(node.inputs[0]).shape;
  const Tensor* starts = fixed_input(graph, node, 1);
  if (!shape || starts == nullptr) return std::nullopt;
  std::vector<Cut> cuts(static_cast<std::size_t>(starts->element_count()));
  for (std::size_t i = 0; i < cuts.size(); ++i) cuts[i].axis = static_cast<std::int64_t>(i);
  constexpr std::array kFields{&Cut::start, &Cut::end, &Cut::axis, &Cut::step};
  for (std::size_t input = 1; input <= kFields.size(); ++input) {
    if (!has_input(node, input)) continue;
    const Tensor* constant = fixed_input(graph, node, input);
    if (constant == nullptr || static_cast<std::size_t>(constant->element_count()) != cuts.size()) return std::nullopt;
    const std::vector<std::int64_t> numbers = constant->to_int64s();
    for (std::size_t i = 0; i < cuts.size(); ++i) cuts[i].*kFields[input - 1] = numbers[i];
  }
  for (Cut& cut : cuts) {
    if (cut.axis < 0) cut.axis += static_cast<std::int64_t>(shape->size());
  }
  return cuts;
}

std::optional<Cut> resolved(Cut cut, Dim length) {
  if (length == kUnknownDim || cut.step < 1 || cut.step > length) return std::nullopt;
  const auto within = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? std::max(at, -length) + length : at, 0, length);
  };
  cut.start = within(cut.start);
  cut.end = within(cut.end);
  return cut.start < cut.end ? std::optional(cut) : std::nullopt;
}

}  // namespace kinglet::engine
