// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ranges>

#include "engine/ops/levels.h"
#include "engine/passes/rewrite.h"
#include "engine/quantize/qdq.h"
#include "engine/quantize/weights/layers.h"

namespace kinglet::engine {
namespace {

// Makes levels of its own from those of its inputs.
bool computes(const Node& node) {
  const QLinearForm* form = qlinear_form_for(node);
  if (form == nullptr) return false;
  switch (form->kind) {
    case QLinearKind::kSum:
    case QLinearKind::kProduct:
    case QLinearKind::kTable:
    case QLinearKind::kLines:
    case QLinearKind::kMean:
    case QLinearKind::kWindow:
      return true;
    case QLinearKind::kNone:
    case QLinearKind::kLayer:
    case QLinearKind::kJoin:
    case QLinearKind::kRealOnly:
      break;
  }
  return false;
}

// Takes its levels from input 0, or from all (joins_levels).
bool moves(const Node& node) { return keeps_levels(node) && node.outputs.size() == 1; }

std::span<const ValueId> data_inputs(const Node& node) {
  const bool all = computes(node) || joins_levels(node);
  return std::span(node.inputs).first(all ? node.inputs.size() : 1);
}

class Choice {
 public:
  Choice(const Graph& graph, const std::set<std::string>& kept_float) : graph_(graph) {
    for (const NodeId id : graph.nodes()) {
      if (!kept_float.contains(graph.node(id).name) && layer_of(graph, id) && float_input(id)) layers_.insert(id);
    }
    find_leading();
    find_plain();
  }

  QuantizationScheme scheme() {
    QuantizationScheme out;
    for (const NodeId id : graph_.nodes()) {
      if (layers_.contains(id)) {
        out.layers.push_back(id);
        add(graph_.node(id).inputs[0]);
        if (has_levels_behind(id)) add(result_of(graph_, id));
      } else if (plain_.contains(id)) {
        for (const ValueId input : data_inputs(graph_.node(id))) add(input);
        add(result_of(graph_, id));
        if (moves(graph_.node(id))) tie(id);
      }
    }
    std::map<ValueId, std::size_t> numbers;
    for (const auto& [value, ignored] : leader_) {
      const ValueId leader = find(value);
      out.values[value] = numbers.try_emplace(leader, numbers.size()).first->second;
    }
    out.groups = numbers.size();
    return out;
  }

 private:
  bool float_input(NodeId id) const {
    const Value& x = graph_.value(graph_.node(id).inputs[0]);
    return x.type == DataType::kF32 && !x.constant;
  }

  // Values that a layer reads, perhaps behind plain nodes.
  void find_leading() {
    for (const NodeId id : std::views::reverse(graph_.nodes())) {
      const Node& node = graph_.node(id);
      const bool leads = std::ranges::any_of(node.outputs, [&](ValueId value) { return leading_.contains(value); });
      const bool passes = computes(node) || moves(node) || is_clamp(node);
      if (layers_.contains(id)) {
        leading_.insert(node.inputs[0]);
      } else if (leads && passes) {
        for (const ValueId input : data_inputs(node)) leading_.insert(input);
      }
    }
  }

  // Nodes between: all they read comes from integers, and a layer follows.
  void find_plain() {
    std::set<ValueId> levels;
    for (const NodeId id : graph_.nodes()) {
      const Node& node = graph_.node(id);
      if (layers_.contains(id)) {
        levels.insert(node.inputs[0]);
        if (has_levels_behind(id)) levels.insert(result_of(graph_, id));
        continue;
      }
      if (!computes(node) && !moves(node)) continue;
      const bool fed = std::ranges::all_of(data_inputs(node), [&](ValueId input) { return levels.contains(input); });
      const ValueId result = result_of(graph_, id);
      if (!fed || !leading_.contains(result)) continue;
      plain_.insert(id);
      levels.insert(result);
    }
  }

  bool has_levels_behind(NodeId id) const {
    const bool convolution = is_op(graph_.node(id), "Conv");  // has no form with a float result
    return convolution || leading_.contains(result_of(graph_, id));
  }

  void add(ValueId value) { leader_.try_emplace(value, value); }
  ValueId find(ValueId value) {
    while (leader_.at(value) != value) value = leader_.at(value);
    return value;
  }
  void tie(NodeId id) {
    for (const ValueId input : data_inputs(graph_.node(id))) leader_[find(input)] = find(result_of(graph_, id));
  }

  const Graph& graph_;
  std::set<NodeId> layers_, plain_;
  std::set<ValueId> leading_;
  std::map<ValueId, ValueId> leader_;
};

}  // namespace

QuantizationScheme choose_scheme(const Graph& graph, const std::set<std::string>& kept_float) {
  return Choice(graph, kept_float).scheme();
}

}  // namespace kinglet::engine
