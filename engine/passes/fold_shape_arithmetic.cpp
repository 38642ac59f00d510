// SPDX-License-Identifier: Apache-2.0
// Before:     y = Reshape(x, s), s made by Shape, Gather, Slice, Concat, Add, Mul, Div ... of dimensions known only
//             when the model runs (a free batch); or a small integer tensor of such nodes, all of whose numbers are
//             known
// After:      y = Reshape(x, constant) with at most one -1, and 0 where a dimension is copied from x; or a constant
// Conditions: each dimension of y is known but for one (-1); or each number of s is known, or is the dimension of x at
//             the same place (0, unless allowzero), or is the only one left, proven >= 0, while s has no -1 itself. The
//             numbers are followed exactly (symbolic.h: sums and products, divided without rest). Also a constant s
//             that says less than is known ({0,-1}). No graph output becomes constant.
#include <algorithm>

#include "engine/ops/op.h"
#include "engine/passes/symbolic.h"

namespace kinglet::engine::passes {
namespace {

Tensor target_of(const std::vector<std::int64_t>& numbers) {
  return Tensor::of<std::int64_t>({static_cast<Dim>(numbers.size())}, std::span<const std::int64_t>(numbers));
}

// The result's dimensions as the target, -1 for the only open one; nothing when more are open.
std::optional<Tensor> target_of_result(const Terms& result) {
  std::vector<std::int64_t> numbers;
  for (const Term& term : result) numbers.push_back(term.is_number() ? term.offset : -1);
  if (std::ranges::count(numbers, 0) > 0 || std::ranges::count(numbers, -1) > 1) return std::nullopt;
  return target_of(numbers);
}

// The same target with 0 for dimensions copied from x.
std::optional<Tensor> target_with_copies(const SymbolicShapes& shapes, const Terms& target, const Terms& from) {
  bool inferred = std::ranges::count(target, Term{.offset = -1}) > 0;
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < target.size(); ++i) {
    const Term& term = target[i];
    if (term.is_number()) {
      numbers.push_back(term.offset);
    } else if (i < from.size() && from[i] == term) {
      numbers.push_back(0);
    } else if (!inferred && shapes.is_never_negative(term)) {
      numbers.push_back(-1);
      inferred = true;
    } else {
      return std::nullopt;
    }
  }
  return target_of(numbers);
}

std::optional<Tensor> constant_target(SymbolicShapes& shapes, const Graph& graph, const Node& node) {
  const std::optional<Terms> target = shapes.numbers(node.inputs[1]);
  const std::optional<Terms> from = shapes.dims(node.inputs[0]);
  const std::optional<Terms> result = shapes.dims(node.outputs[0]);
  if (!target || !from || !result) return std::nullopt;
  std::optional<Tensor> simple = target_of_result(*result);
  if (graph.constant(node.inputs[1]) == nullptr) {
    const bool may_copy = node.attributes.get_int("allowzero", 0) == 0;
    return simple || !may_copy ? simple : target_with_copies(shapes, *target, *from);
  }
  // A target like {0, -1} of which inference cannot tell what the -1 stands for.
  const auto open = std::ranges::count_if(*result, [](const Term& term) { return !term.is_number(); });
  return open < std::ranges::count(*graph.value(node.outputs[0]).shape, kUnknownDim) ? simple : std::nullopt;
}

bool settle_reshape(Graph& graph, NodeId id, SymbolicShapes& shapes) {
  const Node& node = graph.node(id);
  if (!is_op(node, "Reshape") || graph.is_input(node.inputs[1])) return false;
  std::optional<Tensor> target = constant_target(shapes, graph, node);
  if (!target) return false;
  graph.set_input(id, 1, graph.add_constant(node.name + ".shape", *std::move(target)));
  return true;
}

// The node's result when every number of it is known.
std::optional<Tensor> answer(const Graph& graph, const Node& node, const SymbolicShapes& shapes) {
  if (node.outputs.size() != 1 || node.outputs[0] == kNoValue || graph.is_output(node.outputs[0])) return std::nullopt;
  const std::optional<Terms> terms = shapes.numbers(node.outputs[0]);
  if (!terms || !std::ranges::all_of(*terms, &Term::is_number)) return std::nullopt;
  const Value& value = graph.value(node.outputs[0]);
  if (value.type != DataType::kI64) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const Term& term : *terms) numbers.push_back(term.offset);
  return Tensor::of<std::int64_t>(*value.shape, std::span<const std::int64_t>(numbers));
}

}  // namespace

Result<int> fold_shape_arithmetic(Graph& graph, PassBudget& budget) {
  KnownNumbers known;
  SymbolicShapes shapes(graph);
  return rewrite_each_node(graph, budget, [&](NodeId id) -> Result<bool> {
    KINGLET_TRY(infer_node(graph, id, known));
    shapes.visit(id);
    if (settle_reshape(graph, id, shapes)) {
      KINGLET_TRY(infer_node(graph, id, known));
      shapes.visit(id);
      return true;
    }
    std::optional<Tensor> constant = answer(graph, graph.node(id), shapes);
    if (!constant) return false;
    const ValueId output = graph.node(id).outputs[0];
    graph.detach_output(output);
    graph.remove_node(id);
    graph.set_constant(output, *std::move(constant));
    return true;
  });
}

}  // namespace kinglet::engine::passes
