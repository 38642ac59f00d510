// SPDX-License-Identifier: Apache-2.0
// Outputs are followed back through what only moves numbers (and through Q/DQ pairs and casts) to the operators that
// say what they are. Where a soft-max or sigmoid is met, how arithmetic behind it changes bound and sum is carried
// along.
#include "engine/recipe/output_form.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "engine/graph/quantization.h"

namespace kinglet::engine {
namespace {

constexpr int kMostSteps = 512;  // of one walk; graphs of this depth behind a soft-max are none

// What is known of a value.
struct Seen {
  std::string op = {};
  std::optional<double> most = {}, sum = {};
  Dim of_sum = 0;
  NodeId topk = kNoNode;
};

Dim size_of_axis(const Graph& graph, ValueId id, std::int64_t axis) {
  const auto& shape = graph.value(id).shape;
  if (!shape) return kUnknownDim;
  const auto place = normalize_axis(axis, shape->size());
  return place ? (*shape)[*place] : kUnknownDim;
}

std::optional<double> one_number(const Graph& graph, ValueId id) {
  const Tensor* constant = graph.constant(id);
  if (constant == nullptr || constant->element_count() != 1) return std::nullopt;
  if (constant->type() != DataType::kF32 && constant->type() != DataType::kF16) return std::nullopt;
  return constant->to_floats().front();
}

class Walk {
 public:
  Walk(const Graph& graph, const RowRules& rules) : graph_(graph), rules_(rules) {}

  Seen at(ValueId id) {
    const Node* node = maker(id);
    if (node == nullptr || --steps_ < 0) return {};
    switch (rules_.numbers_of(*node)) {
      case Numbers::kMoved:
        return named(at(data(*node)), node->op_type);
      case Numbers::kMeans:
        return bounded_or_own(at(data(*node)), *node);
      case Numbers::kPicked:
        return without_sum(bounded_or_own(at(data(*node)), *node));
      case Numbers::kOther:
        return computed(*node, id);
    }
    return {};
  }

  // The TopK, ArgMax or ArgMin whose indices the value holds.
  NodeId index_source(ValueId id) const {
    for (int step = 0; step < kMostSteps; ++step) {
      const Node* node = maker(id);
      if (node == nullptr) return kNoNode;
      const bool picks = node->op_type == "ArgMax" || node->op_type == "ArgMin" ||
                         (node->op_type == "TopK" && node->outputs.size() > 1 && node->outputs[1] == id);
      if (picks) return graph_.value(id).producer;
      if (rules_.numbers_of(*node) != Numbers::kMoved) return kNoNode;
      id = data(*node);
    }
    return kNoNode;
  }

  // Before what only moves numbers.
  ValueId moved_from(ValueId id) const {
    for (int step = 0; step < kMostSteps; ++step) {
      const Node* node = maker(id);
      if (node == nullptr || rules_.numbers_of(*node) != Numbers::kMoved) break;
      id = data(*node);
    }
    return id;
  }

  const Node* maker(ValueId id) const {
    if (id == kNoValue || graph_.value(id).producer == kNoNode) return nullptr;
    return &graph_.node(graph_.value(id).producer);
  }

 private:
  std::string_view op_of(const Node& node) const {
    const QLinearForm* form = rules_.form_of(node);
    const bool as_real = form != nullptr && (form->becomes == "Softmax" || form->becomes == "Sigmoid");
    return as_real ? form->becomes : std::string_view(node.op_type);
  }
  static ValueId data(const Node& node) { return node.inputs.empty() ? kNoValue : node.inputs[0]; }
  static Seen named(Seen seen, const std::string& op) {
    if (seen.op.empty()) seen.op = op;
    return seen;
  }
  static Seen without_sum(Seen seen) {
    seen.sum.reset();
    return seen;
  }
  static Seen bounded_or_own(Seen seen, const Node& node) {
    if (!seen.most) seen.op = node.op_type;
    return seen;
  }

  Seen best_of(const Node& node, NodeId id) {
    Seen seen = named(at(data(node)), node.op_type);
    seen.topk = id;
    return seen;
  }

  Seen soft_max(const Node& node) {
    const bool is_plain = node.op_type == "Softmax" || node.op_type == "Hardmax";
    const Dim length = is_plain ? size_of_axis(graph_, data(node), node.attributes.get_int("axis", -1)) : kUnknownDim;
    return {
        .op = node.op_type, .most = 1, .sum = 1, .of_sum = std::max<Dim>(length, 0), .topk = topk_behind(data(node))};
  }

  Seen computed(const Node& node, ValueId id) {
    const std::string_view op = op_of(node);
    if (op == "TopK") return id == node.outputs[0] ? best_of(node, graph_.value(id).producer) : Seen{.op = "TopK"};
    if (op == "Softmax" || op == "Hardmax") return soft_max(node);
    if (op == "Sigmoid" || op == "HardSigmoid") return {.op = std::string(op), .most = 1, .sum = {}};
    if (op == "Relu") return bounded_or_own(at(data(node)), node);
    if (op == "Clip") return clipped(node);
    if (op == "Mul") return product(node);
    if (op == "Div") return quotient(node);
    if (op == "Add" || op == "Sum" || op == "Mean") return added(node);
    if (op == "Sub") return rest_of(node);
    if (op == "Concat") return joined(node);
    if (op == "Reciprocal" && is_one_and_exp(node.inputs[0])) return {.op = "Reciprocal", .most = 1, .sum = {}};
    if (op == "Exp") return power(node);
    return {.op = node.op_type};
  }

  // Numbers of a TopK may go through a soft-max of their own.
  NodeId topk_behind(ValueId id) { return at(id).topk; }

  Seen clipped(const Node& node) {
    const double least = node.inputs.size() > 1 ? one_number(graph_, node.inputs[1]).value_or(-1) : -1;
    const double most = node.inputs.size() > 2 ? one_number(graph_, node.inputs[2]).value_or(2) : 2;
    Seen seen = bounded_or_own(at(data(node)), node);
    if (seen.most) return seen;
    if (least >= 0 && most <= 1) seen.most = most;
    return seen;
  }

  static void scale(Seen& seen, double factor) {
    if (seen.most) *seen.most *= factor;
    if (seen.sum) *seen.sum *= factor;
  }

  Seen product(const Node& node) {
    for (const std::size_t i : {0U, 1U}) {
      const auto factor = one_number(graph_, node.inputs[1 - i]);
      if (!factor || !(*factor > 0)) continue;
      Seen seen = bounded_or_own(at(node.inputs[i]), node);
      scale(seen, *factor);
      return seen;
    }
    const Seen a = at(node.inputs[0]);
    const Seen b = at(node.inputs[1]);
    if (!a.most || !b.most) return {.op = node.op_type};
    return {.op = node.op_type, .most = *a.most * *b.most, .sum = {}};
  }

  Seen quotient(const Node& node) {
    if (const auto divisor = one_number(graph_, node.inputs[1]); divisor && *divisor > 0) {
      Seen seen = bounded_or_own(at(node.inputs[0]), node);
      scale(seen, 1 / *divisor);
      return seen;
    }
    if (const auto one = one_number(graph_, node.inputs[0]); one && *one == 1 && is_one_and_exp(node.inputs[1])) {
      return {.op = node.op_type, .most = 1, .sum = {}};
    }
    // exp(x) / sum(exp(x)): a soft-max written out.
    const Node* sum = maker(moved_from(node.inputs[1]));
    const bool is_sum = sum != nullptr && (sum->op_type == "ReduceSum" || sum->op_type == "ReduceL1") &&
                        moved_from(data(*sum)) == moved_from(node.inputs[0]);
    if (!is_sum || !is_positive(node.inputs[0])) return {.op = node.op_type};
    return {.op = node.op_type, .most = 1, .sum = 1, .of_sum = 0};
  }

  bool is_positive(ValueId id) {
    const Node* node = maker(moved_from(id));
    return (node != nullptr && rules_.is_never_negative(*node)) || at(id).most.has_value();
  }

  // 1 + exp(x), below one it stands in a sigmoid.
  bool is_one_and_exp(ValueId id) const {
    const Node* node = maker(id);
    if (node == nullptr || node->op_type != "Add") return false;
    for (const std::size_t i : {0U, 1U}) {
      const Node* other = maker(node->inputs[1 - i]);
      const auto one = one_number(graph_, node->inputs[i]);
      if (one && *one >= 1 && other != nullptr && other->op_type == "Exp") return true;
    }
    return false;
  }

  Seen added(const Node& node) {
    Seen all{.op = node.op_type, .most = 0, .sum = 0};
    for (const ValueId input : node.inputs) {
      constexpr double kNearlyNothing = 1e-3;  // against a logarithm of zero
      if (const auto number = one_number(graph_, input); number && *number >= 0 && *number <= kNearlyNothing) continue;
      const Seen seen = at(input);
      if (!seen.most) return {.op = node.op_type};
      all.op = seen.op;
      *all.most += *seen.most;
      if (!seen.sum) {
        all.sum.reset();
      } else if (all.sum) {
        *all.sum += *seen.sum;
        all.of_sum = seen.of_sum;
      }
    }
    if (node.op_type == "Mean") scale(all, 1.0 / static_cast<double>(node.inputs.size()));
    return all;
  }

  // 1 - score.
  Seen rest_of(const Node& node) {
    const auto from = one_number(graph_, node.inputs[0]);
    const Seen seen = at(node.inputs[1]);
    if (!from || !seen.most || *seen.most > *from) return {.op = node.op_type};
    return {.op = seen.op, .most = from, .sum = {}};
  }

  Seen joined(const Node& node) {
    Seen all{.op = node.op_type, .most = 0, .sum = {}};
    for (const ValueId input : node.inputs) {
      const Seen seen = at(input);
      if (!seen.most) return {.op = node.op_type};
      all.op = seen.op;
      all.most = std::max(*all.most, *seen.most);
    }
    return all;
  }

  // exp(log soft-max) is a soft-max.
  Seen power(const Node& node) {
    const Node* inner = maker(moved_from(data(node)));
    if (inner == nullptr || inner->op_type != "LogSoftmax") return {.op = node.op_type};
    const Dim length = size_of_axis(graph_, data(*inner), inner->attributes.get_int("axis", -1));
    return {.op = node.op_type, .most = 1, .sum = 1, .of_sum = std::max<Dim>(length, 0)};
  }

  const Graph& graph_;
  const RowRules& rules_;
  int steps_ = kMostSteps;
};

// Which outputs each output is computed into: every value's set, from the last node back.
void find_order(const Graph& graph, std::vector<OutputForm>& forms) {
  constexpr std::size_t kMostOutputs = 64;
  if (forms.size() < 2 || forms.size() > kMostOutputs) return;
  std::unordered_map<std::uint32_t, std::vector<bool>> reach;
  const auto& outputs = graph.outputs();
  const auto at = [&](ValueId id) -> std::vector<bool>& {
    return reach.try_emplace(std::to_underlying(id), outputs.size()).first->second;
  };
  const auto& order = graph.nodes();
  for (auto node = order.rbegin(); node != order.rend(); ++node) {
    std::vector<bool> made(outputs.size());
    for (const ValueId id : graph.node(*node).outputs) {
      if (id == kNoValue) continue;
      for (std::size_t i = 0; i < outputs.size(); ++i) made[i] = made[i] || outputs[i] == id || at(id)[i];
    }
    if (!std::ranges::contains(made, true)) continue;
    for (const ValueId id : graph.node(*node).inputs) {
      if (id == kNoValue) continue;
      for (std::size_t i = 0; i < outputs.size(); ++i) at(id)[i] = at(id)[i] || made[i];
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (std::size_t j = 0; j < outputs.size(); ++j) {
      if (at(outputs[i])[j]) forms[i].behind.push_back(j);
    }
  }
}

Dim batch_of(const Graph& graph) {
  if (graph.inputs().empty()) return 1;
  const auto& shape = graph.value(graph.inputs().front().value).shape;
  return shape && !shape->empty() && shape->front() > 0 ? shape->front() : 1;
}

void set_row(const Graph& graph, const Node& picks, OutputForm& form) {
  form.row = picks.inputs[0];
  const bool is_topk = picks.op_type == "TopK";
  form.row_length = size_of_axis(graph, form.row, picks.attributes.get_int("axis", is_topk ? -1 : 0));
  form.smallest = picks.op_type == "ArgMin" || (is_topk && picks.attributes.get_int("largest", 1) == 0);
}

OutputForm form_of(const Graph& graph, const RowRules& rules, ValueId id, Dim batch) {
  const Value& value = graph.value(id);
  OutputForm form{.name = value.name, .type = value.type, .shape = value.shape, .batch = batch};
  Walk walk(graph, rules);
  if (const NodeId picks = walk.index_source(id); picks != kNoNode) {
    form.kind = OutputForm::Kind::kIndices;
    form.last_operator = graph.node(picks).op_type;
    set_row(graph, graph.node(picks), form);
    return form;
  }
  Seen seen = walk.at(id);
  form.last_operator = std::move(seen.op);
  form.most = seen.most;
  form.sum = seen.sum;
  form.of_sum = seen.of_sum;
  form.plain_integers =
      (value.type == DataType::kU8 || value.type == DataType::kI8) && !quantization_of(graph, id, rules).has_value();
  if (seen.topk != kNoNode) {
    form.kind = OutputForm::Kind::kBest;
    set_row(graph, graph.node(seen.topk), form);
  } else if (const Node* last = walk.maker(walk.moved_from(id)); last != nullptr && last->op_type == "ReduceMax") {
    form.row = last->inputs[0];
  }
  return form;
}

}  // namespace

std::optional<std::size_t> OutputForm::length() const {
  if (!shape) return std::nullopt;
  std::span<const Dim> dims(*shape);
  // A free first size is that of the batch.
  if (dims.size() > 1 && (dims.front() == batch || dims.front() == kUnknownDim)) dims = dims.subspan(1);
  const auto larger = std::ranges::count_if(dims, [](Dim dim) { return dim != 1; });
  const auto count = element_count(dims);
  if (larger > 1 || !count || *count < 1) return std::nullopt;
  return static_cast<std::size_t>(*count);
}

std::vector<OutputForm> output_forms(const Graph& graph, const RowRules& rules) {
  std::vector<OutputForm> forms;
  const Dim batch = batch_of(graph);
  for (const ValueId id : graph.outputs()) forms.push_back(form_of(graph, rules, id, batch));
  find_order(graph, forms);
  return forms;
}

}  // namespace kinglet::engine
