// SPDX-License-Identifier: Apache-2.0
// Before:     y = Op(x); z = Op(x)
// After:      every reader of z reads y
// Conditions: same operator, domain, inputs and attributes (numbers compared bit by bit), same outputs present; the
//             operator is known and deterministic (never a random one, whatever its seed); graph outputs keep their
//             names.
#include <algorithm>
#include <bit>
#include <unordered_map>

#include "engine/ops/op.h"
#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

bool same_bits(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  const auto same_float = [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
  };
  if (const auto* tensor = std::get_if<Tensor>(&a)) return tensor->bit_equal(std::get<Tensor>(b));
  if (const auto* number = std::get_if<float>(&a)) return same_float(*number, std::get<float>(b));
  if (const auto* numbers = std::get_if<std::vector<float>>(&a)) {
    return std::ranges::equal(*numbers, std::get<std::vector<float>>(b), same_float);
  }
  if (const auto* number = std::get_if<std::int64_t>(&a)) return *number == std::get<std::int64_t>(b);
  if (const auto* text = std::get_if<std::string>(&a)) return *text == std::get<std::string>(b);
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&a))
    return *list == std::get<std::vector<std::int64_t>>(b);
  return std::get<std::vector<std::string>>(a) == std::get<std::vector<std::string>>(b);
}

bool same_work(const Node& a, const Node& b) {
  return a.op_type == b.op_type && a.domain == b.domain && a.inputs == b.inputs &&
         std::ranges::equal(
             a.outputs, b.outputs, {}, [](ValueId id) { return id == kNoValue; },
             [](ValueId id) { return id == kNoValue; }) &&
         std::ranges::equal(a.attributes, b.attributes, [](const auto& left, const auto& right) {
           return left.first == right.first && same_bits(left.second, right.second);
         });
}

// Operator and inputs, as bytes.
std::string key_of(const Node& node) {
  std::string key = node.domain + ":" + node.op_type + ":";
  key.append(reinterpret_cast<const char*>(node.inputs.data()), node.inputs.size() * sizeof(ValueId));
  return key;
}

bool merge(Graph& graph, NodeId first, NodeId second) {
  const std::vector<ValueId> kept = graph.node(first).outputs;
  const std::vector<ValueId> gone = graph.node(second).outputs;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i] != kNoValue && !can_replace(graph, gone[i], kept[i])) return false;
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i] != kNoValue) replace_value(graph, gone[i], kept[i]);
  }
  graph.remove_node(second);
  return true;
}

}  // namespace

Result<int> dedupe_nodes(Graph& graph, PassBudget& budget) {
  std::unordered_map<std::string, std::vector<NodeId>> seen;
  return rewrite_each_node(graph, budget, [&](NodeId id) -> Result<bool> {
    const Node& node = graph.node(id);
    const Op* op = find_op(node.domain, node.op_type);
    if (op == nullptr || !op->deterministic) return false;
    std::vector<NodeId>& alike = seen[key_of(node)];
    const auto same = std::ranges::find_if(alike, [&](NodeId other) { return same_work(graph.node(other), node); });
    if (same != alike.end()) return merge(graph, *same, id);
    alike.push_back(id);
    return false;
  });
}

}  // namespace kinglet::engine::passes
