// SPDX-License-Identifier: Apache-2.0
// Products of 8-bit matrices: MatMulInteger and QLinearMatMul of ONNX; QGemm, MatMulIntegerToFloat and
// DynamicQuantizeMatMul of com.microsoft. Sums are exact 32-bit integers (they wrap as ONNX Runtime's do). Scales and
// zero points are one number, or one a row of the left and a column of the right matrix.

#include "engine/base/format.h"
#include "engine/ops/families/lower_quantized.h"
#include "engine/ops/families/matmul.h"
#include "engine/ops/quantized.h"
#include "engine/ops/rows.h"
#include "engine/ops/steps.h"

namespace kinglet::engine::ops {
namespace {

enum class Per : std::uint8_t { kRow, kColumn };

// How a scale or zero point of `parameter` lies under a matrix [.., rows, columns]; nothing when it does not fit.
std::optional<Shape> aligned(const Shape& parameter, const Shape& matrix, Per per) {
  if (element_count(parameter) == 1) return Shape{};
  if (matrix.size() < 2) return std::nullopt;
  Shape shape = parameter;
  if (parameter.size() == 1 && per == Per::kRow) shape.push_back(1);
  const bool one_a_line = per == Per::kRow ? shape.back() == 1 : shape.size() < 2 || shape[shape.size() - 2] == 1;
  if (!one_a_line || broadcast(shape, matrix) != matrix) return std::nullopt;
  return shape;
}

Result<void> need_aligned(const InferContext& context, std::size_t parameter, const std::optional<Shape>& matrix,
                          Per per) {
  if (!context.has_input(parameter) || !context.input_shape(parameter) || !matrix) return {};
  const Shape& shape = *context.input_shape(parameter);
  if (!is_static(shape) || !is_static(*matrix) || aligned(shape, *matrix, per)) return {};
  return context.fail(format_text("input {} of shape {} is neither one number nor one a {} of {}", parameter,
                                  to_string(shape), per == Per::kRow ? "row" : "column", to_string(*matrix)));
}

// x of 8 bits; scale (when it has one) and zero point lie under it.
struct MatrixInput {
  std::size_t x;
  std::optional<std::size_t> scale;
  std::size_t zero_point;
};

Result<void> need_types(const InferContext& context, const MatrixInput& input) {
  KINGLET_TRY(need_type(context, input.x, kBytes));
  if (input.scale) KINGLET_TRY(need_type(context, *input.scale, kFloats));
  return context.has_input(input.zero_point) ? need_type_of(context, input.zero_point, input.x) : Result<void>{};
}

Result<void> need_matrix(const InferContext& context, const MatrixInput& input, Per per) {
  KINGLET_TRY(need_types(context, input));
  const std::optional<Shape>& shape = context.input_shape(input.x);
  if (input.scale) KINGLET_TRY(need_aligned(context, *input.scale, shape, per));
  return need_aligned(context, input.zero_point, shape, per);
}

// A vector's product drops a dimension: numbers a row or a column would stand under the wrong one.
Result<void> need_matrices(const InferContext& context, const MatrixInput& a, const MatrixInput& b) {
  KINGLET_TRY(need_matrix(context, a, Per::kRow));
  KINGLET_TRY(need_matrix(context, b, Per::kColumn));
  const auto is_vector = [&](std::size_t i) { return context.input_shape(i) && context.input_shape(i)->size() < 2; };
  if (!is_vector(a.x) && !is_vector(b.x)) return {};
  for (const std::size_t i :
       {a.scale.value_or(a.zero_point), a.zero_point, b.scale.value_or(b.zero_point), b.zero_point}) {
    if (!context.has_input(i) || !context.input_shape(i) || element_count(*context.input_shape(i)).value_or(1) == 1) {
      continue;
    }
    return context.fail(format_text("input {} of shape {} goes with matrices, but one side is a vector", i,
                                    to_string(*context.input_shape(i))));
  }
  return {};
}

std::vector<std::int32_t> matrix_numbers(const Tensor& x, const Tensor* zero_point, Per per) {
  const Shape shape = zero_point == nullptr ? Shape{} : *aligned(zero_point->shape(), x.shape(), per);
  return shifted(x, zero_point, shape);
}

// f(element of the product, exact sum)
template <typename F>
void multiply(const Tensor& a, const Tensor* a_zero, const Tensor& b, const Tensor* b_zero, F f) {
  const std::vector<std::int32_t> left = matrix_numbers(a, a_zero, Per::kRow);
  const std::vector<std::int32_t> right = matrix_numbers(b, b_zero, Per::kColumn);
  multiply_rows<std::uint32_t>(plan_matmul(a.shape(), b.shape()), left.data(), right.data(),
                               [&](std::int64_t first, std::span<const std::uint32_t> sums) {
                                 for (std::size_t i = 0; i < sums.size(); ++i) {
                                   f(static_cast<std::size_t>(first) + i, static_cast<std::int32_t>(sums[i]));
                                 }
                               });
}

// A scale for each element of the product, or one for all.
class Scales {
 public:
  Scales(const Tensor& scale, const Shape& product, Per per) {
    const std::span<const float> numbers = scale.data<float>();
    if (numbers.size() == 1) {
      scales_ = {numbers[0]};
      return;
    }
    const Shape shape = *aligned(scale.shape(), product, per);
    walk<1>(product, {broadcast_strides(shape, product)},
            [&](const auto& at) { scales_.push_back(numbers[static_cast<std::size_t>(at[0])]); });
  }
  [[nodiscard]] float operator[](std::size_t i) const { return scales_[scales_.size() == 1 ? 0 : i]; }

 private:
  std::vector<float> scales_;
};

Shape transposed(const Shape& shape, bool swap) { return swap ? Shape{shape[1], shape[0]} : shape; }

Tensor transposed(const Tensor& matrix, bool swap) { return swap ? ops::transposed(matrix) : matrix; }

bool swaps(const Attributes& attributes, std::string_view name) { return attributes.get_int(name, 0) != 0; }

// The shape of a product of two matrices, each as it lies or turned; nothing when not known.
Result<std::optional<Shape>> gemm_output(const InferContext& context, std::size_t a, bool trans_a, const MatrixInput& b,
                                         bool trans_b) {
  KINGLET_TRY(need_rank(context, a, 2, 2));
  KINGLET_TRY(need_rank(context, b.x, 2, 2));
  if (!context.input_shape(a) || !context.input_shape(b.x)) return std::nullopt;
  const Shape left = transposed(*context.input_shape(a), trans_a);
  const Shape right = transposed(*context.input_shape(b.x), trans_b);
  if (left[1] != right[0] && left[1] != kUnknownDim && right[0] != kUnknownDim) {
    return context.fail(format_text("cannot multiply {} by {}", to_string(left), to_string(right)));
  }
  if (b.scale) KINGLET_TRY(need_aligned(context, *b.scale, right, Per::kColumn));
  KINGLET_TRY(need_aligned(context, b.zero_point, right, Per::kColumn));
  return Shape{left[0], right[1]};
}

// --- MatMulInteger: a, b, a zero point, b zero point ----------------------------------------------------------------

Result<void> infer_matmul_integer(InferContext& context) {
  KINGLET_TRY(need_matrices(context, {.x = 0, .scale = {}, .zero_point = 2}, {.x = 1, .scale = {}, .zero_point = 3}));
  context.set_output(0, DataType::kI32, KINGLET_TRY(matmul_output(context, 0, 1)));
  return {};
}

Result<void> evaluate_matmul_integer(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  const auto to = outputs[0].mutable_data<std::int32_t>();
  multiply(*inputs[0], input_or_null(inputs, 2), *inputs[1], input_or_null(inputs, 3),
           [&](std::size_t i, std::int32_t sum) { to[i] = sum; });
  return {};
}

// --- QLinearMatMul: a, scale, zero point, b, scale, zero point, y scale, y zero point --------------------------------

Result<void> infer_qlinear_matmul(InferContext& context) {
  KINGLET_TRY(need_matrices(context, {.x = 0, .scale = 1, .zero_point = 2}, {.x = 3, .scale = 4, .zero_point = 5}));
  KINGLET_TRY(need_type(context, 7, kBytes));
  const std::optional<Shape> out = KINGLET_TRY(matmul_output(context, 0, 3));
  KINGLET_TRY(need_quantization(context, 6, 7, context.input_type(7)));
  context.set_output(0, context.input_type(7), out);
  return {};
}

Result<void> evaluate_qlinear_matmul(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  const Scales a_scale(*inputs[1], outputs[0].shape(), Per::kRow);
  const Scales b_scale(*inputs[4], outputs[0].shape(), Per::kColumn);
  const float y_scale = scale_of(inputs, 6);
  const std::int32_t y_zero = zero_point_of(inputs, 7);
  visit_bytes(outputs[0].type(), [&]<typename T>() {
    const auto to = outputs[0].mutable_data<T>();
    multiply(*inputs[0], inputs[2], *inputs[3], inputs[5], [&](std::size_t i, std::int32_t sum) {
      to[i] = requantized<T>(sum, a_scale[i] * b_scale[i] / y_scale, y_zero);
    });
  });
  return {};
}

// --- com.microsoft: MatMulIntegerToFloat (a, b, scales, zero points, bias) and DynamicQuantizeMatMul

Result<void> need_bias(const InferContext& context, std::size_t i, const std::optional<Shape>& product) {
  if (!context.has_input(i)) return {};
  KINGLET_TRY(need_type(context, i, kFloats));
  const std::optional<Shape>& bias = context.input_shape(i);
  if (!bias || !product || !is_static(*bias) || !is_static(*product) || broadcast(*bias, *product) == product)
    return {};
  return context.fail(format_text("bias {} does not broadcast to {}", to_string(*bias), to_string(*product)));
}

// y = sum * scale + bias
class FloatResult {
 public:
  FloatResult(Tensor& y, const Tensor* bias) : to_(y.mutable_data<float>()) {
    if (bias == nullptr) return;
    walk<1>(y.shape(), {broadcast_strides(bias->shape(), y.shape())},
            [&](const auto& at) { bias_.push_back(bias->data<float>()[static_cast<std::size_t>(at[0])]); });
  }
  void set(std::size_t i, std::int32_t sum, float scale) const {
    to_[i] = static_cast<float>(sum) * scale + (bias_.empty() ? 0.0F : bias_[i]);
  }

 private:
  std::span<float> to_;
  std::vector<float> bias_;
};

Result<void> infer_matmul_integer_to_float(InferContext& context) {
  const MatrixInput a{.x = 0, .scale = 2, .zero_point = 4};
  const MatrixInput b{.x = 1, .scale = 3, .zero_point = 5};
  const bool turned = swaps(context.attributes(), kTransposedWeight);
  if (turned) {
    KINGLET_TRY(need_matrix(context, a, Per::kRow));
    KINGLET_TRY(need_types(context, b));
  } else {
    KINGLET_TRY(need_matrices(context, a, b));
  }
  const std::optional<Shape> out =
      KINGLET_TRY(turned ? gemm_output(context, 0, false, b, true) : matmul_output(context, 0, 1));
  KINGLET_TRY(need_bias(context, 6, out));
  context.set_output(0, context.input_type(2), out);
  return {};
}

Result<void> evaluate_matmul_integer_to_float(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const Tensor b = transposed(*inputs[1], swaps(node.attributes, kTransposedWeight));
  const Scales a_scale(*inputs[2], outputs[0].shape(), Per::kRow);
  const Scales b_scale(*inputs[3], outputs[0].shape(), Per::kColumn);
  const FloatResult result(outputs[0], input_or_null(inputs, 6));
  multiply(*inputs[0], input_or_null(inputs, 4), b, input_or_null(inputs, 5),
           [&](std::size_t i, std::int32_t sum) { result.set(i, sum, a_scale[i] * b_scale[i]); });
  return {};
}

// a (float), b, b scale, b zero point, bias
Result<void> infer_dynamic_quantize_matmul(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kFloats));
  KINGLET_TRY(need_matrix(context, {.x = 1, .scale = 2, .zero_point = 3}, Per::kColumn));
  if (context.input_shape(1) && context.input_shape(1)->size() < 2) return context.refuse("the weight is a vector");
  if (context.input_shape(0) && context.input_shape(0)->size() < 2) return context.refuse("the input is a vector");
  const std::optional<Shape> out = KINGLET_TRY(matmul_output(context, 0, 1));
  KINGLET_TRY(need_bias(context, 4, out));
  context.set_output(0, context.input_type(0), out);
  return {};
}

Result<void> evaluate_dynamic_quantize_matmul(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  const auto x = inputs[0]->data<float>();
  const DynamicQuantization found = dynamic_quantization(x);
  Tensor a(DataType::kU8, inputs[0]->shape());
  const auto levels = a.mutable_data<std::uint8_t>();
  for (std::size_t i = 0; i < x.size(); ++i) levels[i] = quantized<std::uint8_t>(x[i], found.scale, found.zero_point);
  const Tensor a_zero = Tensor::of<std::uint8_t>({}, {found.zero_point});
  const Scales b_scale(*inputs[2], outputs[0].shape(), Per::kColumn);
  const FloatResult result(outputs[0], input_or_null(inputs, 4));
  multiply(a, &a_zero, *inputs[1], input_or_null(inputs, 3),
           [&](std::size_t i, std::int32_t sum) { result.set(i, sum, found.scale * b_scale[i]); });
  return {};
}

// --- com.microsoft QGemm: a, scale, zero point, b, scale, zero point, c (int32), y scale, y zero point

Result<void> infer_qgemm(InferContext& context) {
  KINGLET_TRY(need_quantized(context, {.x = 0, .scale = 1, .zero_point = 2}));
  const MatrixInput weight{.x = 3, .scale = 4, .zero_point = 5};
  KINGLET_TRY(need_types(context, weight));
  const Attributes& attributes = context.attributes();
  const std::optional<Shape> out =
      KINGLET_TRY(gemm_output(context, 0, swaps(attributes, "transA"), weight, swaps(attributes, "transB")));
  if (context.has_input(6)) {
    KINGLET_TRY(need_type(context, 6, {DataType::kI32}));
    const std::optional<Shape>& c = context.input_shape(6);
    if (c && out && is_static(*c) && is_static(*out) && broadcast(*c, *out) != out) {
      return context.fail(format_text("c {} does not broadcast to {}", to_string(*c), to_string(*out)));
    }
  }
  DataType type = context.input_type(1);
  if (context.has_input(7)) {
    KINGLET_TRY(need_type(context, 8, kBytes));
    type = context.input_type(8);
    KINGLET_TRY(need_quantization(context, 7, 8, type));
  }
  context.set_output(0, type, out);
  return {};
}

Result<void> evaluate_qgemm(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const Shape& shape = outputs[0].shape();
  const Tensor a = transposed(*inputs[0], swaps(node.attributes, "transA"));
  const Tensor b = transposed(*inputs[3], swaps(node.attributes, "transB"));
  const float factor = node.attributes.get_float("alpha", 1) * scale_of(inputs, 1);
  const Scales b_scale(*inputs[4], shape, Per::kColumn);
  std::vector<std::uint32_t> sums(static_cast<std::size_t>(outputs[0].element_count()), 0);
  if (const Tensor* c = input_or_null(inputs, 6)) {
    std::size_t i = 0;
    walk<1>(shape, {broadcast_strides(c->shape(), shape)}, [&](const auto& at) {
      sums[i++] = static_cast<std::uint32_t>(c->data<std::int32_t>()[static_cast<std::size_t>(at[0])]);
    });
  }
  multiply(a, input_or_null(inputs, 2), b, input_or_null(inputs, 5),
           [&](std::size_t i, std::int32_t sum) { sums[i] += static_cast<std::uint32_t>(sum); });
  const auto total = [&](std::size_t i) { return static_cast<std::int32_t>(sums[i]); };
  if (outputs[0].type() == DataType::kF32) {
    const auto to = outputs[0].mutable_data<float>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(total(i)) * (factor * b_scale[i]);
    return {};
  }
  const float y_scale = scale_of(inputs, 7);
  visit_bytes(outputs[0].type(), [&]<typename T>() {
    const auto to = outputs[0].mutable_data<T>();
    for (std::size_t i = 0; i < to.size(); ++i) {
      to[i] = requantized<T>(total(i), factor * b_scale[i] / y_scale, zero_point_of(inputs, 8));
    }
  });
  return {};
}

}  // namespace

const OpParts kMatMulInteger{
    .infer = infer_matmul_integer, .evaluate = evaluate_matmul_integer, .steps = product_steps};
const OpParts kQLinearMatMul{.infer = infer_qlinear_matmul,
                             .evaluate = evaluate_qlinear_matmul,
                             .steps = product_steps,
                             .lower = lower_qlinear_matmul,
                             .qlinear = {.kind = QLinearKind::kLayer, .becomes = "MatMul", .b = 3, .y_scale = 6},
                             .multiply_adds = product_multiply_adds<3>};
const OpParts kMatMulIntegerToFloat{.infer = infer_matmul_integer_to_float,
                                    .evaluate = evaluate_matmul_integer_to_float,
                                    .steps = product_steps,
                                    .lower = lower_matmul_integer_to_float,
                                    .multiply_adds = product_multiply_adds<1>};
const OpParts kDynamicQuantizeMatMul{.infer = infer_dynamic_quantize_matmul,
                                     .evaluate = evaluate_dynamic_quantize_matmul,
                                     .steps = product_steps,
                                     .lower = lower_dynamic_quantize_matmul};
const OpParts kQGemm{.infer = infer_qgemm,
                     .evaluate = evaluate_qgemm,
                     .steps = product_steps,
                     .lower = lower_qgemm,
                     .qlinear = {.kind = QLinearKind::kLayer, .becomes = "Gemm", .b = 3, .bias = 6, .y_scale = 7},
                     .multiply_adds = product_multiply_adds<3>};

}  // namespace kinglet::engine::ops
