// SPDX-License-Identifier: Apache-2.0
// Operators that opsets of then do not have: each becomes the arithmetic of its definition.
#include <numbers>

#include "engine/onnx/older/older_forms_writer.h"

namespace kinglet::engine {

using ops::int64_tensor;

Result<ValueId> OlderFormsWriter::make(std::string_view op_type, std::vector<ValueId> inputs, Attributes attributes) {
  const Value& like = graph_.value(input(0));
  const ValueId made = ops::insert_before(graph_, id_, op_type, std::move(inputs), std::move(attributes), like.type);
  graph_.set_type_and_shape(made, like.type, like.shape);
  const NodeId maker = graph_.value(made).producer;
  KINGLET_TRY(OlderFormsWriter(graph_, maker, opset_).run());
  return made;
}
ValueId OlderFormsWriter::scalar(std::string_view role, float value) {
  const bool half = graph_.value(input(0)).type == DataType::kF16;
  return ops::add_node_constant(graph_, id_, role,
                                half ? Tensor::of<Half>({}, {to_half(value)}) : Tensor::of<float>({}, {value}));
}
Result<void> OlderFormsWriter::become(std::string_view op_type, const std::vector<ValueId>& inputs) {
  const std::vector<std::pair<std::string, Attribute>> old(attributes().begin(), attributes().end());
  for (const auto& row : old) attributes().remove(row.first);
  graph_.set_op_type(id_, "", std::string(op_type));
  graph_.resize_inputs(id_, inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) graph_.set_input(id_, i, inputs[i]);
  return {};
}

// x * max(0, min(1, x / 6 + 0.5))
Result<void> OlderFormsWriter::hard_swish() {
  if (opset_ >= 14) return {};
  Attributes form;
  form.set("alpha", 1.0F / 6);
  form.set("beta", 0.5F);
  const ValueId x = input(0);
  return become("Mul", {x, KINGLET_TRY(make("HardSigmoid", {x}, std::move(form)))});
}

// x * tanh(log(1 + exp(x)))
Result<void> OlderFormsWriter::mish() {
  if (opset_ >= 18) return {};
  const ValueId x = input(0);
  const ValueId softplus = KINGLET_TRY(make("Softplus", {x}));
  return become("Mul", {x, KINGLET_TRY(make("Tanh", {softplus}))});
}

// x/2 * (1 + erf(x / sqrt(2))), or with tanh(sqrt(2/pi) * (x + 0.044715 x^3)) in the place of erf.
Result<void> OlderFormsWriter::gelu() {
  if (opset_ >= 20) return {};
  const ValueId x = input(0);
  ValueId inner = kNoValue;
  if (node().attributes.get_string("approximate", "none") == "tanh") {
    const ValueId square = KINGLET_TRY(make("Mul", {x, x}));
    const ValueId scaled = KINGLET_TRY(make("Mul", {square, scalar("cubic", 0.044715F)}));
    const ValueId factor = KINGLET_TRY(make("Add", {scaled, scalar("one_more", 1)}));
    const ValueId cubic = KINGLET_TRY(make("Mul", {x, factor}));
    const auto root = static_cast<float>(std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
    const ValueId angle = KINGLET_TRY(make("Mul", {cubic, scalar("root", root)}));
    inner = KINGLET_TRY(make("Tanh", {angle}));
  } else {
    const ValueId scaled = KINGLET_TRY(make("Div", {x, scalar("root", static_cast<float>(std::numbers::sqrt2))}));
    inner = KINGLET_TRY(make("Erf", {scaled}));
  }
  const ValueId sum = KINGLET_TRY(make("Add", {inner, scalar("one", 1)}));
  const ValueId product = KINGLET_TRY(make("Mul", {x, sum}));
  return become("Mul", {product, scalar("half", 0.5F)});
}

// (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * scale + bias
Result<void> OlderFormsWriter::layer_normalization() {
  if (opset_ >= 17) return {};
  if (node().outputs.size() > 1) return refuse("gives out mean or deviation, too");
  const ValueId x = input(0);
  const auto& shape = graph_.value(x).shape;
  if (!shape) return refuse("the number of dimensions of its input is not known");
  const auto count = static_cast<std::int64_t>(shape->size());
  std::int64_t axis = node().attributes.get_int("axis", -1);
  std::vector<std::int64_t> axes;
  for (axis += axis < 0 ? count : 0; axis < count; ++axis) axes.push_back(axis);
  const ValueId axes_input = ops::add_node_constant(graph_, id_, "axes", int64_tensor(axes));
  const float epsilon = node().attributes.get_float("epsilon", 1e-5F);
  const ValueId mean = KINGLET_TRY(make("ReduceMean", {x, axes_input}));
  const ValueId centred = KINGLET_TRY(make("Sub", {x, mean}));
  const ValueId squares = KINGLET_TRY(make("Mul", {centred, centred}));
  const ValueId variance = KINGLET_TRY(make("ReduceMean", {squares, axes_input}));
  const ValueId shifted = KINGLET_TRY(make("Add", {variance, scalar("epsilon", epsilon)}));
  const ValueId deviation = KINGLET_TRY(make("Sqrt", {shifted}));
  const ValueId scale = input(1);
  const ValueId bias = input(2);
  const ValueId normal = KINGLET_TRY(make("Div", {centred, deviation}));
  if (bias == kNoValue) return become("Mul", {normal, scale});
  return become("Add", {KINGLET_TRY(make("Mul", {normal, scale})), bias});
}

}  // namespace kinglet::engine
