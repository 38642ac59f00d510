// SPDX-License-Identifier: Apache-2.0
// com.microsoft's operators on 8-bit tensors with one scale and zero point, as ONNX Runtime's quantiser writes them:
// QLinearAdd, QLinearMul, QLinearConcat, QLinearSigmoid, QLinearLeakyRelu, QLinearSoftmax, QLinearAveragePool and
// QLinearGlobalAveragePool. Each is its float operator between the real numbers that the levels stand for.
#include <cmath>

#include "engine/base/format.h"
#include "engine/ops/families/either_kind.h"
#include "engine/ops/families/lower_quantized.h"
#include "engine/ops/families/table.h"
#include "engine/ops/quantized.h"
#include "engine/ops/rows.h"
#include "engine/ops/steps.h"

namespace kinglet::engine::ops {
namespace {

// --- QLinearAdd, QLinearMul: a, scale, zero point, b, scale, zero point, y scale, y zero point

Result<void> infer_qlinear_binary(InferContext& context) {
  KINGLET_TRY(need_quantized(context, {.x = 0, .scale = 1, .zero_point = 2}));
  KINGLET_TRY(need_quantized(context, {.x = 3, .scale = 4, .zero_point = 5}));
  const DataType type = KINGLET_TRY(output_type(context, 0, 6, 7));
  std::optional<Shape> out;
  if (context.input_shape(0) && context.input_shape(3)) {
    out = broadcast(*context.input_shape(0), *context.input_shape(3));
    if (!out) {
      return context.fail(format_text("shapes {} and {} do not broadcast", to_string(*context.input_shape(0)),
                                      to_string(*context.input_shape(3))));
    }
  }
  context.set_output(0, type, out);
  return {};
}

// f(a level, b level) -> y with its zero point, which takes part in the rounding. In float and in ONNX Runtime's order,
// so that numbers half way between two levels go the same way.
template <typename F>
Result<void> evaluate_qlinear_binary(Inputs inputs, std::span<Tensor> outputs, F f) {
  const std::vector<std::int32_t> a = shifted(*inputs[0], nullptr, {});
  const std::vector<std::int32_t> b = shifted(*inputs[3], nullptr, {});
  const Shape& shape = outputs[0].shape();
  visit_bytes(outputs[0].type(), [&]<typename T>() {
    T* to = outputs[0].mutable_data<T>().data();
    walk<2>(shape, {broadcast_strides(inputs[0]->shape(), shape), broadcast_strides(inputs[3]->shape(), shape)},
            [&](const auto& at) {
              const auto left = static_cast<float>(a[static_cast<std::size_t>(at[0])]);
              const auto right = static_cast<float>(b[static_cast<std::size_t>(at[1])]);
              *to++ = saturate<T>(std::nearbyint(f(left, right)));
            });
  });
  return {};
}

Result<void> evaluate_qlinear_add(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  const float a_ratio = scale_of(inputs, 1) / scale_of(inputs, 6);
  const float b_ratio = scale_of(inputs, 4) / scale_of(inputs, 6);
  const auto zero = [&](std::size_t i) { return static_cast<float>(zero_point_of(inputs, i)); };
  const float fixed = zero(7) - (a_ratio * zero(2) + b_ratio * zero(5));
  return evaluate_qlinear_binary(inputs, outputs,
                                 [=](float a, float b) { return std::fma(a, a_ratio, std::fma(b, b_ratio, fixed)); });
}

Result<void> evaluate_qlinear_mul(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  const float ratio = scale_of(inputs, 1) * scale_of(inputs, 4) / scale_of(inputs, 6);
  const auto zero = [&](std::size_t i) { return static_cast<float>(zero_point_of(inputs, i)); };
  return evaluate_qlinear_binary(inputs, outputs,
                                 [=, a_zero = zero(2), b_zero = zero(5), y_zero = zero(7)](float a, float b) {
                                   return (a - a_zero) * (b - b_zero) * ratio + y_zero;
                                 });
}

// --- One tensor through a table of its 256 levels: x, scale, zero point, y scale, y zero point

Result<void> evaluate_qlinear_sigmoid(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  through_table(*inputs[0], quantization_at(inputs, 1), quantization_at(inputs, 3), outputs[0],
                [](double x) { return 1 / (1 + std::exp(-x)); });
  return {};
}

Result<void> evaluate_qlinear_leaky_relu(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const float alpha = node.attributes.get_float("alpha", 0.01F);
  through_table(*inputs[0], quantization_at(inputs, 1), quantization_at(inputs, 3), outputs[0],
                [=](double x) { return x < 0 ? alpha * x : x; });
  return {};
}

Result<void> evaluate_qlinear_tanh(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  through_table(*inputs[0], quantization_at(inputs, 1), quantization_at(inputs, 3), outputs[0],
                [](double x) { return std::tanh(x); });
  return {};
}

Result<void> evaluate_qlinear_hard_swish(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  through_table(*inputs[0], quantization_at(inputs, 1), quantization_at(inputs, 3), outputs[0],
                [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); });
  return {};
}

// --- QLinearSoftmax: `opset` says whether the input is flattened at the axis (below 13) ------------------------------

Result<void> infer_qlinear_softmax(InferContext& context) {
  if (const std::optional<Shape>& x = context.input_shape(0)) {
    KINGLET_TRY(checked_axis(context, context.attributes().get_int("axis", -1), x->size()));
  }
  return infer_qlinear_unary(context);
}

Result<void> evaluate_qlinear_softmax(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const Shape& shape = outputs[0].shape();
  AxisView view = view_axis(shape, axis_index(node.attributes.get_int("axis", -1), shape.size()));
  if (node.attributes.get_int("opset", 13) < 13) view = {view.outer, view.length * view.inner, 1};
  const std::vector<std::int32_t> x = shifted(*inputs[0], nullptr, {});  // a soft-max does not see the zero point
  const double scale = scale_of(inputs, 1);
  const Quantization to = quantization_at(inputs, 3);
  visit_bytes(outputs[0].type(), [&]<typename T>() {
    const auto out = outputs[0].mutable_data<T>();
    for (std::int64_t i = 0; i < view.outer * view.inner; ++i) {
      const std::int64_t start = i / view.inner * view.length * view.inner + i % view.inner;
      const auto place = [&](std::int64_t k) { return static_cast<std::size_t>(start + k * view.inner); };
      std::int32_t top = std::numeric_limits<std::int32_t>::min();
      for (std::int64_t k = 0; k < view.length; ++k) top = std::max(top, x[place(k)]);
      const auto power = [&](std::int64_t k) { return std::exp(scale * (x[place(k)] - top)); };
      double sum = 0;
      for (std::int64_t k = 0; k < view.length; ++k) sum += power(k);
      for (std::int64_t k = 0; k < view.length; ++k) {
        out[place(k)] = quantized<T>(static_cast<float>(power(k) / sum), to.scale, to.zero_point);
      }
    }
  });
  return {};
}

// --- QLinearConcat: y scale, y zero point, then x, scale, zero point for each input

Result<void> infer_qlinear_concat(InferContext& context) {
  if (context.input_count() < 5 || context.input_count() % 3 != 2) {
    return context.fail(format_text("has {} inputs, expected 2 and 3 for each tensor", context.input_count()));
  }
  KINGLET_TRY(need_type(context, 1, kBytes));
  const DataType type = context.input_type(1);
  KINGLET_TRY(need_quantization(context, 0, 1, type));
  std::optional<Shape> out;
  bool known = true;
  for (std::size_t i = 2; i < context.input_count(); i += 3) {
    KINGLET_TRY(need_quantized(context, {.x = i, .scale = i + 1, .zero_point = i + 2}));
    known = known && context.input_shape(i);
    KINGLET_TRY(join_shapes(context, i, 1, out));
  }
  context.set_output(0, type, known ? out : std::nullopt);
  return {};
}

Result<void> evaluate_qlinear_concat(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const Quantization to = quantization_at(inputs, 0);
  const Shape& shape = outputs[0].shape();
  const std::size_t axis = axis_index(node.attributes.get_int("axis", 1), shape.size());
  const AxisView view = view_axis(shape, axis);
  std::byte* out = outputs[0].mutable_bytes().data();
  std::int64_t before = 0;
  for (std::size_t i = 2; i < inputs.size(); i += 3) {
    Tensor part(outputs[0].type(), inputs[i]->shape());
    through_table(*inputs[i], quantization_at(inputs, i + 1), to, part, [](double x) { return x; });
    const std::int64_t run = part.shape()[axis] * view.inner;
    for (std::int64_t outer = 0; outer < view.outer; ++outer) {
      std::copy_n(part.bytes().data() + outer * run, run, out + outer * view.length * view.inner + before);
    }
    before += run;
  }
  return {};
}

// --- Pools: x, scale, zero point, y scale, y zero point

bool channels_last(const Attributes& attributes) { return attributes.get_int("channels_last", 0) != 0; }

Result<void> infer_qlinear_average_pool(InferContext& context) {
  if (channels_last(context.attributes())) {
    return context.refuse("stores its channels last", "save the model without layout optimisation");
  }
  KINGLET_TRY(need_quantized(context, {.x = 0, .scale = 1, .zero_point = 2}));
  context.set_output(0, KINGLET_TRY(output_type(context, 0, 3, 4)), KINGLET_TRY(pool_output(context)));
  return {};
}

// All windows count the same number of pixels.
bool counts_alike(const Node& average) {
  const Attributes& attributes = average.attributes;
  if (attributes.get_int("ceil_mode", 0) != 0 || attributes.get_ints("kernel_shape").size() != 2) return false;
  if (attributes.get_int("count_include_pad", 0) != 0) return true;
  const bool no_pads = std::ranges::all_of(attributes.get_ints("pads"), [](auto pad) { return pad == 0; });
  return no_pads && !attributes.get_string("auto_pad", "NOTSET").starts_with("SAME");
}

Result<void> evaluate_qlinear_average_pool(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const std::vector<std::int32_t> levels = shifted(*inputs[0], input_or_null(inputs, 2), {});
  const float x_scale = scale_of(inputs, 1);
  const float y_scale = scale_of(inputs, 3);
  const std::int32_t y_zero = zero_point_of(inputs, 4);
  Tensor x(DataType::kF32, inputs[0]->shape());
  const auto reals = x.mutable_data<float>();
  for (std::size_t i = 0; i < levels.size(); ++i) reals[i] = static_cast<float>(levels[i]) * x_scale;
  Tensor y(DataType::kF32, outputs[0].shape());
  average_pool(node.attributes, x, y);
  visit_bytes(outputs[0].type(), [&]<typename T>() {
    const auto from = y.data<float>();
    const auto to = outputs[0].mutable_data<T>();
    for (std::size_t i = 0; i < to.size(); ++i) {
      to[i] = saturate<T>(std::nearbyint(from[i] / y_scale + static_cast<float>(y_zero)));
    }
  });
  return {};
}

Result<void> infer_qlinear_global_pool(InferContext& context) {
  KINGLET_TRY(need_quantized(context, {.x = 0, .scale = 1, .zero_point = 2}));
  KINGLET_TRY(need_rank(context, 0, 3));
  std::optional<Shape> out = context.input_shape(0);
  if (out) {
    const std::size_t first = channels_last(context.attributes()) ? 1 : 2;
    for (std::size_t axis = first; axis < first + out->size() - 2; ++axis) (*out)[axis] = 1;
  }
  context.set_output(0, KINGLET_TRY(output_type(context, 0, 3, 4)), out);
  return {};
}

Result<void> evaluate_qlinear_global_pool(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const std::vector<std::int32_t> levels = shifted(*inputs[0], input_or_null(inputs, 2), {});
  const auto count = static_cast<std::size_t>(outputs[0].element_count());
  if (count == 0) return {};
  const std::size_t plane = levels.size() / count;
  const std::size_t channels =
      channels_last(node.attributes) ? static_cast<std::size_t>(inputs[0]->shape().back()) : std::size_t{1};
  std::vector<std::int64_t> sums(count, 0);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    sums[i / (plane * channels) * channels + i % channels] += levels[i];
  }
  const float scale = scale_of(inputs, 1) / (scale_of(inputs, 3) * static_cast<float>(plane));
  const std::int32_t y_zero = zero_point_of(inputs, 4);
  visit_bytes(outputs[0].type(), [&]<typename T>() {
    const auto to = outputs[0].mutable_data<T>();
    for (std::size_t i = 0; i < count; ++i) {
      to[i] = saturate<T>(std::nearbyint(static_cast<float>(sums[i]) * scale) + static_cast<float>(y_zero));
    }
  });
  return {};
}

// Zero points may be absent in the middle, so infer asks for the inputs that must be there.
constexpr OpParts quantized_form(Infer infer, Evaluate evaluate, Lower lower, QLinearForm form) {
  return {.infer = infer, .evaluate = evaluate, .steps = pool_steps, .lower = lower, .qlinear = form};
}

}  // namespace

const OpParts kQLinearAdd = quantized_form(infer_qlinear_binary, evaluate_qlinear_add, lower_qlinear_add,
                                           {.kind = QLinearKind::kSum, .becomes = "Add", .b = 3, .y_scale = 6});
const OpParts kQLinearMul = quantized_form(infer_qlinear_binary, evaluate_qlinear_mul, lower_qlinear_mul,
                                           {.kind = QLinearKind::kProduct, .becomes = "Mul", .b = 3, .y_scale = 6});
const OpParts kQLinearSigmoid = quantized_form(infer_qlinear_unary, evaluate_qlinear_sigmoid, lower_qlinear_sigmoid,
                                               {.kind = QLinearKind::kTable, .becomes = "Sigmoid"});
const OpParts kQLinearLeakyRelu =
    quantized_form(infer_qlinear_unary, evaluate_qlinear_leaky_relu, lower_qlinear_leaky_relu,
                   {.kind = QLinearKind::kLines, .becomes = "LeakyRelu"});
const OpParts kQLinearSoftmax = quantized_form(infer_qlinear_softmax, evaluate_qlinear_softmax, nullptr,
                                               {.kind = QLinearKind::kRealOnly, .becomes = "Softmax"});
const OpParts kQLinearConcat = quantized_form(infer_qlinear_concat, evaluate_qlinear_concat, lower_qlinear_concat,
                                              {.kind = QLinearKind::kJoin, .becomes = "Concat", .a = 2, .y_scale = 0});
const OpParts kQLinearAveragePool =
    quantized_form(infer_qlinear_average_pool, evaluate_qlinear_average_pool, lower_qlinear_average_pool,
                   {.kind = QLinearKind::kWindow, .becomes = "AveragePool", .fits = counts_alike});
const OpParts kQLinearGlobalAveragePool =
    quantized_form(infer_qlinear_global_pool, evaluate_qlinear_global_pool, lower_qlinear_global_pool,
                   {.kind = QLinearKind::kMean, .becomes = "GlobalAveragePool"});
// ONNX has no such 8-bit operators: fuse_quantized makes them.
const OpParts kQLinearHardSwish =
    quantized_form(infer_qlinear_unary, evaluate_qlinear_hard_swish, lower_qlinear_hard_swish,
                   {.kind = QLinearKind::kTable, .becomes = "HardSwish"});
const OpParts kQLinearTanh = quantized_form(infer_qlinear_unary, evaluate_qlinear_tanh, lower_qlinear_tanh,
                                            {.kind = QLinearKind::kTable, .becomes = "Tanh"});

}  // namespace kinglet::engine::ops
