// SPDX-License-Identifier: Apache-2.0
// Before:     y = f(Transpose(x) {perm=p}), or f(Transpose(x) {perm=p}, Transpose(z) {perm=p})
// After:      y = Transpose(f(x)) {perm=p}, or Transpose(f(x, z)) {perm=p}
// Conditions: f works element by element; the transposed values are read by f alone and are no graph outputs. Of one
//             transposed input only where another Transpose follows y, perhaps behind more such operators, which
//             fuse_transposes then joins with this one; the other input of two is a fixed constant that has more than
//             one element along one axis at most.
#include <algorithm>

#include "engine/passes/product.h"

namespace kinglet::engine::passes {
namespace {

constexpr std::initializer_list<std::string_view> kUnary{"Relu", "LeakyRelu",  "ThresholdedRelu",
                                                         "Elu",  "Selu",       "Celu",
                                                         "Clip", "Sigmoid",    "HardSigmoid",
                                                         "Tanh", "HardSwish",  "Gelu",
                                                         "Mish", "Softplus",   "Erf",
                                                         "Exp",  "Log",        "Softsign",
                                                         "Sqrt", "Neg",        "Abs",
                                                         "Cast", "Reciprocal", "Floor",
                                                         "Ceil", "Round"};
constexpr std::initializer_list<std::string_view> kBinary{"Add", "Sub", "Mul", "Div"};

bool is_unary(const Node& node) { return is_any_of(node, kUnary); }

bool is_elementwise(const Node& node) { return !has_fused_clip(node) && (is_unary(node) || is_any_of(node, kBinary)); }

// Inputs that have the output's axes; the others are single numbers (bounds of Clip).
std::size_t axes_inputs(const Node& node) { return is_unary(node) ? 1 : 2; }

bool meets_transpose(const Graph& graph, ValueId id) {
  while (graph.has_single_use(id)) {
    const Node& reader = graph.node(graph.consumers(id)[0]);
    if (is_op(reader, "Transpose")) return true;
    if (!is_elementwise(reader)) return false;
    for (std::size_t i = 0; i < axes_inputs(reader); ++i) {
      if (reader.inputs[i] != id && fixed_input(graph, reader, i) == nullptr) return false;
    }
    id = reader.outputs[0];
  }
  return false;
}

// The constant as the Transpose's input sees it; nothing when more than its shape would change.
std::optional<Tensor> turned_back(const Tensor& constant, const std::vector<std::int64_t>& perm) {
  const Shape& shape = constant.shape();
  if (shape.size() > perm.size() || std::ranges::count_if(shape, [](Dim dim) { return dim != 1; }) > 1) {
    return std::nullopt;
  }
  Shape turned(perm.size(), 1);
  const std::size_t missing = perm.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) turned[static_cast<std::size_t>(perm[missing + i])] = shape[i];
  return constant.reshaped(std::move(turned));
}

struct Match {
  std::vector<NodeId> turns;
  std::vector<std::int64_t> perm;
  std::optional<Tensor> constant;  // in place of the input that is not transposed
};

std::optional<Match> match(const Graph& graph, const Node& node) {
  Match found;
  const Tensor* constant = nullptr;
  for (std::size_t i = 0; i < axes_inputs(node); ++i) {
    const NodeId turn = inner_producer(graph, node.inputs[i], {"Transpose"});
    if (turn == kNoNode) {
      constant = fixed_input(graph, node, i);
      if (constant == nullptr) return std::nullopt;
      continue;
    }
    std::vector<std::int64_t> perm = perm_of(graph, graph.node(turn));
    if (perm.empty() || (!found.turns.empty() && perm != found.perm)) return std::nullopt;
    found.turns.push_back(turn);
    found.perm = std::move(perm);
  }
  if (found.turns.empty()) return std::nullopt;
  if (constant != nullptr) {
    found.constant = turned_back(*constant, found.perm);
    if (!found.constant) return std::nullopt;
  }
  const bool pays = found.turns.size() == 2 || meets_transpose(graph, node.outputs[0]);
  return pays ? std::optional(std::move(found)) : std::nullopt;
}

bool move(Graph& graph, NodeId id) {
  Node moved = graph.node(id);
  if (!is_elementwise(moved)) return false;
  std::optional<Match> found = match(graph, moved);
  if (!found) return false;

  const ValueId old = moved.outputs[0];
  const Value kept = graph.value(old);
  for (std::size_t i = 0; i < axes_inputs(moved); ++i) {
    const NodeId turn = graph.value(moved.inputs[i]).producer;
    moved.inputs[i] = turn != kNoNode
                          ? graph.node(turn).inputs[0]
                          : graph.add_constant(graph.value(moved.inputs[i]).name, std::move(*found->constant));
  }
  moved.outputs[0] = graph.add_value(kept.name, kept.type, std::nullopt);
  Node turn{.op_type = "Transpose",
            .domain = {},
            .name = graph.node(found->turns[0]).name,
            .inputs = moved.outputs,
            .outputs = {graph.add_value(kept.name, kept.type, kept.shape)},
            .attributes = {}};
  turn.attributes.set("perm", std::move(found->perm));
  const ValueId turned = turn.outputs[0];
  graph.insert_node(id, std::move(moved));
  graph.insert_node(id, std::move(turn));
  replace_value(graph, old, turned);
  graph.remove_node(id);
  for (const NodeId gone : found->turns) graph.remove_node(gone);
  return true;
}

}  // namespace

Result<int> move_transpose(Graph& graph, PassBudget& budget) {
  const int count = rewrite_nodes(graph, budget, kUnary, move);
  return count + rewrite_nodes(graph, budget, kBinary, move);
}
}  // namespace kinglet::engine::passes
