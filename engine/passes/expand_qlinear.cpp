// SPDX-License-Identifier: Apache-2.0
// Before:     q = QLinearConv(x, w, ...), QLinearMatMul, QGemm; com.microsoft's QLinearAdd, QLinearMul, QLinearSigmoid,
//             QLinearLeakyRelu, QLinearSoftmax, QLinearConcat, QLinearAveragePool, QLinearGlobalAveragePool
// After:      q = QuantizeLinear(Op(DequantizeLinear(x), ...)), which XNNPACK has
// Conditions: the node is not one that fuse_quantized made; scales and zero points are constant, one a tensor (a
//             weight: one an output channel or column); the bias is constant. Sums are taken in float32 and not in
//             integers: a result half way between two levels may go to the other one. Plan only: the file keeps the
//             exact form.
#include <optional>

#include "engine/ops/levels.h"
#include "engine/ops/normalize.h"
#include "engine/ops/op.h"
#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

constexpr std::size_t kNone = QLinearForm::kNone;
using Form = QLinearForm;

// The constant scale in float32 and the constant zero point (or none) at `scale`: one number each, or a vector.
bool is_fixed(const Graph& graph, const Node& node, std::size_t scale, bool vector) {
  const Tensor* numbers = fixed_input(graph, node, scale);
  if (numbers == nullptr || numbers->type() != DataType::kF32) return false;
  const Tensor* zero = fixed_input(graph, node, scale + 1);
  if (zero == nullptr) return !has_input(node, scale + 1) && numbers->element_count() == 1;
  const bool line = vector && numbers->shape().size() == 1;
  const bool one = numbers->element_count() == 1 && zero->element_count() == 1;
  return one || (line && numbers->shape() == zero->shape());
}

// Below opset 13 a soft-max took all axes from its own on as one: the same where its own is the last.
bool softmax_fits(const Graph& graph, const Node& node) {
  const std::optional<Shape>& x = graph.value(node.inputs[0]).shape;
  const std::int64_t axis = node.attributes.get_int("axis", -1);
  return node.attributes.get_int("opset", 13) >= 13 || axis == -1 ||
         (x && axis + 1 == static_cast<std::int64_t>(x->size()));
}

bool fits(const Graph& graph, const Node& node, const Form& form) {
  if (node.attributes.get_int("channels_last", 0) != 0 || !is_fixed(graph, node, form.y_scale, false)) return false;
  if (form.becomes == "Softmax" && !softmax_fits(graph, node)) return false;
  const std::size_t last = form.becomes == "Concat" ? node.inputs.size() - 3 : form.a;
  for (std::size_t at = form.a; at <= last; at += 3) {
    if (!is_fixed(graph, node, at + 1, false)) return false;
  }
  if (form.b != kNone && !is_fixed(graph, node, form.b + 1, form.kind == QLinearKind::kLayer)) return false;
  return form.bias == kNone || !has_input(node, form.bias) || fixed_input(graph, node, form.bias) != nullptr;
}

Result<ValueId> add(Graph& graph, NodeId before, std::string_view op_type, std::vector<ValueId> inputs,
                    Attributes attributes) {
  const ValueId made =
      ops::insert_before(graph, before, op_type, std::move(inputs), std::move(attributes), DataType::kF32);
  KINGLET_TRY(infer_node(graph, graph.value(made).producer));
  return made;
}

// The real numbers of the 8-bit tensor at input `at`; its scales lie along `axis` when they are several.
Result<ValueId> real_numbers(Graph& graph, NodeId id, std::size_t at, std::int64_t axis) {
  const Node& node = graph.node(id);
  std::vector<ValueId> inputs{node.inputs[at], node.inputs[at + 1]};
  if (has_input(node, at + 2)) inputs.push_back(node.inputs[at + 2]);
  Attributes attributes;
  if (graph.constant(inputs[1])->element_count() > 1) attributes.set("axis", axis);
  return add(graph, id, "DequantizeLinear", std::move(inputs), std::move(attributes));
}

// The bias, whose levels are products of a level of x and one of the weight.
ValueId real_bias(Graph& graph, NodeId id, const Form& form) {
  const Node& node = graph.node(id);
  const Tensor& levels = *graph.constant(node.inputs[form.bias]);
  const float x_scale = graph.constant(node.inputs[form.a + 1])->data<float>()[0];
  const Tensor& scales = *graph.constant(node.inputs[form.b + 1]);
  const float alpha = form.becomes == "Gemm" ? node.attributes.get_float("alpha", 1) : 1.0F;
  Tensor bias(DataType::kF32, levels.shape());
  const auto from = levels.data<std::int32_t>();
  const auto to = bias.mutable_data<float>();
  const auto columns = static_cast<std::size_t>(scales.element_count());
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i] = static_cast<float>(static_cast<double>(from[i]) * x_scale * scales.data<float>()[i % columns] * alpha);
  }
  return ops::add_node_constant(graph, id, "bias", std::move(bias));
}

Result<void> expand(Graph& graph, NodeId id, const Form& form) {
  Attributes attributes = graph.node(id).attributes;
  const bool by_first = form.becomes == "Conv" || attributes.get_int("transB", 0) != 0;
  std::vector<ValueId> inputs{KINGLET_TRY(real_numbers(graph, id, form.a, 0))};
  for (std::size_t at = form.a + 3; form.becomes == "Concat" && at < graph.node(id).inputs.size(); at += 3) {
    inputs.push_back(KINGLET_TRY(real_numbers(graph, id, at, 0)));
  }
  if (form.b != kNone) inputs.push_back(KINGLET_TRY(real_numbers(graph, id, form.b, by_first ? 0 : -1)));
  if (form.bias != kNone && has_input(graph.node(id), form.bias)) inputs.push_back(real_bias(graph, id, form));
  attributes.remove("channels_last");
  attributes.remove("opset");
  if (form.becomes == "Concat") attributes.set("axis", attributes.get_int("axis", 1));
  const ValueId y = KINGLET_TRY(add(graph, id, form.becomes, std::move(inputs), std::move(attributes)));
  std::vector<ValueId> parameters{y, graph.node(id).inputs[form.y_scale]};
  if (has_input(graph.node(id), form.y_scale + 1)) parameters.push_back(graph.node(id).inputs[form.y_scale + 1]);
  ops::become(graph, id, "QuantizeLinear", parameters, {});
  return {};
}

// A bias that is spread over rows, or whose scales are as many as its columns are not, stays as it is.
bool bias_fits(const Graph& graph, const Node& node, const Form& form) {
  if (form.bias == kNone || !has_input(node, form.bias)) return true;
  const Tensor& bias = *fixed_input(graph, node, form.bias);
  const std::int64_t scales = fixed_input(graph, node, form.b + 1)->element_count();
  return bias.type() == DataType::kI32 && (scales == 1 || (!bias.shape().empty() && bias.shape().back() == scales));
}

}  // namespace

Result<int> expand_qlinear(Graph& graph, PassBudget& budget) {
  return rewrite_each_node(graph, budget, [&](NodeId id) -> Result<bool> {
    const Node& node = graph.node(id);
    const Form* form = qlinear_form(node);
    if (form == nullptr || runs_in_integers(node) || node.inputs.size() <= form->y_scale) return false;
    if (!fits(graph, node, *form) || !bias_fits(graph, node, *form)) return false;
    KINGLET_TRY(expand(graph, id, *form));
    return true;
  });
}

}  // namespace kinglet::engine::passes
